/** Applies a delegate registration: the sender gets a username, and accounts can then vote for the sender. */

import { emptyAccount, type StateWriter } from '../state.ts';
import type { Payload, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import type { TransactionDialect } from './apply-context.ts';
import { member } from './json.ts';
import { assetErrors, type ShapeCompiler } from './schema.ts';
import { isPlainAsset } from './second-signature.ts';
import type { AssetReading } from './transaction-type.ts';

type Registration = Extract<Payload, { kind: 'delegate' }>;

/** Schema of the JSON object that contains the username of the new delegate. */
export const DELEGATE_SCHEMA = {
  type: 'object',
  required: ['username'],
  properties: { username: { type: 'string', minLength: 1, maxLength: 20, format: 'username' } },
} as const;

export function createDelegateReader(compiler: ShapeCompiler): (asset: unknown, id: string) => AssetReading {
  const shape = compiler.compile(DELEGATE_SCHEMA);
  return (asset, id) => {
    const username = member(asset, 'username');
    const errors = assetErrors(shape, isPlainAsset(asset) ? { username } : asset, id);
    return { errors, payload: typeof username === 'string' ? { kind: 'delegate', username } : undefined };
  };
}

export function applyDelegate(
  state: StateWriter,
  transaction: Transaction,
  { username }: Registration,
  dialect: TransactionDialect,
): TransactionError[] {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors: TransactionError[] = [];
  if (state.delegateKeyByUsername(username) !== undefined) {
    errors.push(transactionError(transaction.id, 'Username is not unique.', dialect.usernamePath));
  }
  if (sender.username !== undefined) {
    errors.push(transactionError(transaction.id, 'Account is already a delegate', dialect.usernamePath));
  }
  // If the registration has errors, the function changes nothing in the state. There are two reasons. First, no known
  // network lists a faulty registration among its exceptions (`exceptions.json`). Second, the state cannot store two
  // delegates with the same username.
  if (errors.length > 0) return errors;
  state.setAccount({ ...sender, username });
  state.setDelegate({
    // The public key of the account takes precedence, because `senderPublicKey` of the transaction can be a different
    // key if the network has an exception for the transaction.
    publicKey: (sender.publicKey ?? transaction.senderPublicKey).toLowerCase(),
    address: sender.address,
    username,
    voteWeight: 0n,
    pendingVoteWeight: 0n,
    rank: 0,
  });
  return errors;
}
