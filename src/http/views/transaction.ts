/** Transactions as clients read them: of the chain and of the pool. */

import type { NodeApi, PoolEntry } from '../../ports/node-api.ts';
import type { TransactionEntry } from '../../ports/queries.ts';
import type { Transaction } from '../../protocol/types.ts';
import type { Dialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import { amountOf, confirmedAsset, recipientOf } from './asset.ts';
import * as shape from './shapes.ts';

type View = Readonly<Record<string, unknown>>;

/**
 * A transaction of the chain.
 *
 * @param tipHeight height of the last block: its transactions have one confirmation
 * @param ready true for what concerns a multisignature group, else undefined
 */
export function confirmedView(
  entry: TransactionEntry,
  tipHeight: number,
  ready: boolean | undefined,
  dialect: Dialect,
): View {
  const { transaction, height, blockId } = entry;
  const own = dialect.generation === 2;
  const recipientPublicKey = entry.recipientPublicKey ?? '';
  const { amount, recipientId } = movedBy(transaction);
  return {
    id: transaction.id,
    height,
    blockId,
    type: transaction.type,
    timestamp: transaction.timestamp,
    senderPublicKey: transaction.senderPublicKey,
    ...(own ? { recipientPublicKey } : {}),
    senderId: transaction.senderId,
    ...(own ? { recipientId: recipientId ?? '', amount } : {}),
    fee: transaction.fee.toString(),
    signature: transaction.signature,
    ...signSignatureOf(transaction),
    signatures: transaction.signatures,
    asset: confirmedAsset(transaction, dialect),
    confirmations: tipHeight - height + 1,
    ...(own ? {} : addedMoved(amount, recipientId, recipientPublicKey)),
    ...(entry.senderSecondPublicKey === undefined ? {} : { senderSecondPublicKey: entry.senderSecondPublicKey }),
    ...(ready === undefined ? {} : { ready }),
  };
}

/** A transaction of the pool; its asset is the submitted one. */
export function pooledView(entry: PoolEntry, api: NodeApi, dialect: Dialect): View {
  const { transaction, ready } = entry;
  const { amount, recipientId } = movedBy(transaction);
  const asset = api.transactionJson(transaction)['asset'] ?? {};
  const fee = transaction.fee.toString();
  const receivedAt = new Date(entry.receivedAtMs).toISOString();
  const { id, type, timestamp, senderPublicKey, senderId, signature, signatures } = transaction;
  const sender = { timestamp, senderPublicKey, senderId };
  const added = ready === undefined ? {} : { ready };
  const second = signSignatureOf(transaction);
  if (dialect.generation === 2) {
    const recipient = { recipientPublicKey: transaction.recipientPublicKey ?? '', recipientId: recipientId ?? '' };
    const own = { id, type, amount, fee, ...sender, signature, signatures, ...recipient, asset };
    return { ...own, ...second, receivedAt, ...added };
  }
  const own = { id, type, ...sender, fee, signature, ...second, signatures, asset, receivedAt };
  return { ...own, ...addedMoved(amount, recipientId, ''), ...added };
}

/** A transaction that the pool has just taken in. */
export function receivedView(transaction: Transaction, api: NodeApi, dialect: Dialect): View {
  const { receivedAt: _moment, ...view } = pooledView({ transaction, receivedAtMs: 0 }, api, dialect);
  return view;
}

const COMMON: Readonly<Record<string, Schema>> = {
  id: shape.ID,
  type: shape.COUNT,
  timestamp: shape.INTEGER,
  senderPublicKey: shape.PUBLIC_KEY,
  senderId: shape.ADDRESS,
  recipientPublicKey: shape.PUBLIC_KEY,
  recipientId: shape.ADDRESS,
  amount: shape.AMOUNT,
  fee: shape.AMOUNT,
  signature: shape.SIGNATURE,
  signSignature: shape.SIGNATURE,
  signatures: shape.listOf(shape.SIGNATURE),
  asset: shape.ANY_OBJECT,
  ready: shape.FLAG,
};

export function confirmedShape(dialect: Dialect): Schema {
  const own = {
    height: { type: 'integer', minimum: 1 },
    blockId: shape.ID,
    confirmations: shape.COUNT,
    senderSecondPublicKey: shape.PUBLIC_KEY,
  } as const;
  return shape.objectOf({ ...COMMON, ...own }, [...optionalOf(dialect), 'senderSecondPublicKey']);
}

export function pooledShape(dialect: Dialect): Schema {
  return shape.objectOf({ ...COMMON, receivedAt: shape.INSTANT }, optionalOf(dialect));
}

export function receivedShape(dialect: Dialect): Schema {
  return shape.objectOf(COMMON, optionalOf(dialect));
}

function optionalOf(dialect: Dialect): readonly string[] {
  const always = ['signSignature', 'ready'];
  return dialect.generation === 2 ? always : [...always, 'recipientId', 'recipientPublicKey'];
}

function movedBy(transaction: Transaction) {
  return { amount: amountOf(transaction).toString(), recipientId: recipientOf(transaction) };
}

/** What generation 3 keeps in assets only, told at the top as well. */
function addedMoved(amount: string, recipientId: string | undefined, recipientPublicKey: string): View {
  return {
    amount,
    ...(recipientId === undefined ? {} : { recipientId }),
    ...(recipientPublicKey === '' ? {} : { recipientPublicKey }),
  };
}

function signSignatureOf(transaction: Transaction): View {
  return transaction.signSignature === undefined ? {} : { signSignature: transaction.signSignature };
}
