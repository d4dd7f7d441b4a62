/**
 * Applies a second signature registration. After this transaction, a second key must also sign each transaction of the
 * sender.
 */

import { emptyAccount, type StateWriter } from '../state.ts';
import type { Payload, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { member } from './json.ts';
import { assetErrors, type ShapeCompiler } from './schema.ts';
import type { AssetReading } from './transaction-type.ts';

type SecondSignature = Extract<Payload, { kind: 'secondSignature' }>;

/** Schema of the JSON object that contains the second key. */
export const SECOND_SIGNATURE_SCHEMA = {
  type: 'object',
  required: ['publicKey'],
  properties: { publicKey: { type: 'string', format: 'publicKey' } },
} as const;

export function createSecondSignatureReader(compiler: ShapeCompiler): (asset: unknown, id: string) => AssetReading {
  const shape = compiler.compile(SECOND_SIGNATURE_SCHEMA);
  return (asset, id) => {
    const publicKey = member(asset, 'publicKey');
    const errors = assetErrors(shape, isPlainAsset(asset) ? { publicKey } : asset, id);
    return { errors, payload: secondSignatureOf(publicKey) };
  };
}

/**
 * Returns true if the callers must pass a new object to the schema check instead of the asset. The result is true for
 * each object that is not an array. The result is also true if the asset is missing, or is a value that counts as false
 * in JavaScript (for example `null` or 0). If the asset is missing or such a value, all members of the new object are
 * undefined. The result is false for every other asset. The callers pass such an asset unchanged to the schema check,
 * and the schema check refuses the asset because of its type.
 */
export function isPlainAsset(asset: unknown): boolean {
  return !asset || (typeof asset === 'object' && !Array.isArray(asset));
}

export function secondSignatureOf(publicKey: unknown): SecondSignature | undefined {
  if (typeof publicKey !== 'string') return undefined;
  const key = publicKey.toLowerCase();
  return isCanonicalHex(key, 32) ? { kind: 'secondSignature', publicKey: key } : undefined;
}

export function applySecondSignature(
  state: StateWriter,
  transaction: Transaction,
  payload: SecondSignature,
): TransactionError[] {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors: TransactionError[] = [];
  if (sender.secondPublicKey !== undefined) {
    const message = 'Register second signature only allowed once per account.';
    errors.push(transactionError(transaction.id, message, '.secondPublicKey'));
  }
  state.setAccount({ ...sender, secondPublicKey: payload.publicKey });
  return errors;
}
