/**
 * Applies a multisignature registration: the sender becomes a group (a multisignature account). Each later transaction
 * of the group needs the signatures of at least `min` members, in addition to the signature of the sender.
 */

import { addressOf } from '../../crypto/keys.ts';
import { emptyAccount, type StateWriter } from '../state.ts';
import type { Payload, PublicKey, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { boundedList, member } from './json.ts';
import { assetErrors, type ShapeCompiler } from './schema.ts';
import { isPlainAsset } from './second-signature.ts';
import type { AssetReading } from './transaction-type.ts';

type Registration = Extract<Payload, { kind: 'multisignature' }>;

/** Schema of the JSON object that describes the new group. */
export const MULTISIGNATURE_SCHEMA = {
  type: 'object',
  required: ['min', 'lifetime', 'keysgroup'],
  properties: {
    min: { type: 'integer', minimum: 1, maximum: 15 },
    lifetime: { type: 'integer', minimum: 1, maximum: 72 },
    keysgroup: {
      type: 'array',
      uniqueItems: true,
      minItems: 1,
      maxItems: 15,
      items: { type: 'string', format: 'additionPublicKey' },
    },
  },
} as const;

/** @param minPath the `dataPath` of the error for a `min` that is larger than the number of members */
export function createMultisignatureReader(
  compiler: ShapeCompiler,
  minPath: string,
): (asset: unknown, id: string) => AssetReading {
  const shape = compiler.compile(MULTISIGNATURE_SCHEMA);
  return (asset, id) => {
    const min = member(asset, 'min');
    const lifetime = member(asset, 'lifetime');
    const keysgroup = boundedList(member(asset, 'keysgroup'));
    const errors = assetErrors(shape, isPlainAsset(asset) ? { min, lifetime, keysgroup } : asset, id);
    const payload = registrationOf(min, lifetime, keysgroup);
    if (errors.length === 0 && payload !== undefined && payload.min > payload.keysgroup.length) {
      const message = 'Invalid multisignature min. Must be less than or equal to keysgroup size';
      errors.push(transactionError(id, message, minPath, payload.min));
    }
    return { errors, payload };
  };
}

export function registrationOf(min: unknown, lifetime: unknown, keysgroup: unknown): Registration | undefined {
  if (!isByte(min) || !isByte(lifetime) || !isKeysgroup(keysgroup)) return undefined;
  return { kind: 'multisignature', min, lifetime, keysgroup };
}

function isByte(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
}

function isKeysgroup(keys: unknown): keys is readonly string[] {
  return Array.isArray(keys) && keys.every((key) => typeof key === 'string' && /^\+[0-9a-fA-F]{64}$/.test(key));
}

/** The public keys of the members, in the order of the registration. */
export function membersOf(keysgroup: readonly string[]): PublicKey[] {
  return keysgroup.map((key) => key.slice(1).toLowerCase());
}

export function applyMultisignature(
  state: StateWriter,
  transaction: Transaction,
  { min, lifetime, keysgroup }: Registration,
): TransactionError[] {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors: TransactionError[] = [];
  if (sender.group !== undefined && sender.group.members.length > 0) {
    const message = 'Register multisignature only allowed once per account.';
    errors.push(transactionError(transaction.id, message, '.signatures'));
  }
  // As in lisk-sdk, this comparison of keys is case-sensitive. The network therefore accepts some registrations in
  // which the sender names its own key as a member: at least one letter of the named key must have another case than in
  // the key of the account.
  if (keysgroup.includes(`+${sender.publicKey ?? transaction.senderPublicKey}`)) {
    const message = 'Invalid multisignature keysgroup. Can not contain sender';
    errors.push(transactionError(transaction.id, message, '.signatures'));
  }
  state.setAccount({ ...sender, group: { min, lifetime, members: membersOf(keysgroup) } });
  // If the account of a member has no public key, the account gets the member's key in the letter case of the
  // registration. After the block, `lowerKeys` converts the key to lower case. Until the end of the block, each
  // transaction of the member must have the key in the letter case of the registration.
  for (const publicKey of keysgroup.map((key) => key.slice(1))) {
    const address = addressOf(publicKey.toLowerCase());
    const account = state.account(address) ?? emptyAccount(address);
    if (account.publicKey === undefined) state.setAccount({ ...account, publicKey });
  }
  return errors;
}
