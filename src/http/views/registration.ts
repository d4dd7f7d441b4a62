/**
 * Makes the JSON object for a second-signature registration (a transaction that registers the second public key of an
 * account). The object has the form that `routes/second-signature.ts` sends. In this form, amounts are numbers, not
 * texts.
 */

import type { Transaction } from '../../protocol/types.ts';
import type { HttpDialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

/**
 * Makes the JSON object for a transaction that registers the second public key of an account. The asset has the member
 * `signature`, which the oldest clients expect. In generation 3, the asset also has the member `publicKey`, as in the
 * other views of this generation (`views/asset.ts`). Such a transaction has no recipient and no requester. The members
 * `recipientId` and `requesterPublicKey` are empty texts in the extended dialect, and null in the strict dialect,
 * because nodes of old Lisk releases sent null.
 */
export function registrationView(
  transaction: Transaction,
  receivedAtMs: number,
  dialect: HttpDialect,
): Readonly<Record<string, unknown>> {
  const { payload } = transaction;
  const none = dialect.strict ? null : '';
  const publicKey = payload.kind === 'secondSignature' ? payload.publicKey : '';
  return {
    type: transaction.type,
    amount: 0,
    senderPublicKey: transaction.senderPublicKey,
    requesterPublicKey: none,
    timestamp: transaction.timestamp,
    asset: { signature: { publicKey }, ...(dialect.generation === 3 ? { publicKey } : {}) },
    recipientId: none,
    signature: transaction.signature,
    id: transaction.id,
    fee: Number(transaction.fee),
    senderId: transaction.senderId,
    relays: 1,
    receivedAt: new Date(receivedAtMs).toISOString(),
  };
}

export function registrationShape(dialect: HttpDialect): Schema {
  return shape.objectOf({
    type: shape.COUNT,
    amount: shape.COUNT,
    senderPublicKey: shape.PUBLIC_KEY,
    requesterPublicKey: dialect.strict ? { type: 'null' } : shape.PUBLIC_KEY,
    timestamp: shape.INTEGER,
    asset: shape.objectOf({ signature: shape.objectOf({ publicKey: shape.PUBLIC_KEY }), publicKey: shape.PUBLIC_KEY }, [
      'publicKey',
    ]),
    recipientId: dialect.strict ? { type: 'null' } : shape.ADDRESS,
    signature: shape.SIGNATURE,
    id: shape.ID,
    fee: shape.COUNT,
    senderId: shape.ADDRESS,
    relays: shape.COUNT,
    receivedAt: shape.INSTANT,
  });
}
