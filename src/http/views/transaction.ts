/**
 * Makes the JSON objects that show transactions of the chain and of the pool to clients of the HTTP API, and their
 * schemas.
 */

import type { NodeApi, PoolEntry } from '../../ports/node-api.ts';
import type { TransactionEntry } from '../../ports/queries.ts';
import type { Transaction } from '../../protocol/types.ts';
import { extendedMembers, extendedShape, type HttpDialect } from '../dialect.ts';
import { omitUndefined } from '../omit-undefined.ts';
import type { Schema } from '../schema.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { confirmedAsset } from './asset.ts';
import * as shape from './shapes.ts';

type View = Readonly<Record<string, unknown>>;

/** Additional data about a confirmed transaction. The block of the transaction does not contain these data. */
export interface Remarks {
  /**
   * Value of the member `ready` in the JSON of the transaction. True means that the transaction has enough signatures
   * of the members of a multisignature group. For a confirmed transaction, the value is true if the transaction
   * registers such a group or has signatures of members. For all other confirmed transactions, the value is undefined.
   */
  readonly ready: boolean | undefined;
  /**
   * Time when the transaction arrived in the pool, in Unix milliseconds. Undefined when the transaction was never in
   * the pool of this node, or when the node no longer knows the time.
   */
  readonly receivedAtMs: number | undefined;
}

export function remarksOn(transaction: Transaction, api: Pick<NodeApi, 'readyOf' | 'receivedAtOf'>): Remarks {
  return { ready: api.readyOf(transaction), receivedAtMs: api.receivedAtOf(transaction.id) };
}

/**
 * Makes the JSON object for a confirmed transaction.
 *
 * @param tipHeight height of the tip; a transaction of the tip has one confirmation
 */
export function confirmedView(
  entry: TransactionEntry,
  tipHeight: number,
  remarks: Remarks,
  dialect: HttpDialect,
): View {
  const { transaction, height, blockId } = entry;
  const isSecond = dialect.generation === 2;
  const recipientPublicKey = entry.recipientPublicKey ?? '';
  const { amount, recipientId } = movedBy(transaction);
  // This function adds the members one by one, because spreading objects is several times slower, and lists of
  // transactions are the longest answers.
  const view: Record<string, unknown> = {
    id: transaction.id,
    height,
    blockId,
    type: transaction.type,
    timestamp: transaction.timestamp,
    senderPublicKey: transaction.senderPublicKey,
  };
  if (isSecond) view['recipientPublicKey'] = recipientPublicKey;
  view['senderId'] = transaction.senderId;
  if (isSecond) {
    view['recipientId'] = recipientId;
    view['amount'] = amount;
  }
  view['fee'] = transaction.fee.toString();
  view['signature'] = transaction.signature;
  if (transaction.signSignature !== undefined) view['signSignature'] = transaction.signSignature;
  view['signatures'] = transaction.signatures;
  view['asset'] = confirmedAsset(transaction, dialect);
  view['confirmations'] = tipHeight - height + 1;
  if (dialect.strict) return view;
  if (!isSecond) {
    view['amount'] = amount;
    view['recipientId'] = recipientId;
    view['recipientPublicKey'] = recipientPublicKey;
  }
  const { ready, receivedAtMs } = remarks;
  if (entry.senderSecondPublicKey !== undefined) view['senderSecondPublicKey'] = entry.senderSecondPublicKey;
  if (ready !== undefined) view['ready'] = ready;
  if (receivedAtMs !== undefined) view['receivedAt'] = instantOf(receivedAtMs);
  return view;
}

/**
 * Makes the JSON object for a transaction of the pool. The object contains the asset as the sender of the transaction
 * wrote it.
 */
export function pooledView(entry: PoolEntry, api: NodeApi, dialect: HttpDialect): View {
  const { transaction, ready } = entry;
  const { amount, recipientId } = movedBy(transaction);
  const asset = api.transactionJson(transaction)['asset'] ?? {};
  const fee = transaction.fee.toString();
  const receivedAt = instantOf(entry.receivedAtMs);
  const { id, type, timestamp, senderPublicKey, senderId, signature, signatures } = transaction;
  const sender = { timestamp, senderPublicKey, senderId };
  const second = signSignatureOf(transaction);
  if (dialect.generation === 2) {
    const recipient = { recipientPublicKey: transaction.recipientPublicKey ?? '', recipientId };
    const own = { id, type, amount, fee, ...sender, signature, signatures, ...recipient, asset };
    return extendedMembers(dialect, own, { ...second, receivedAt, ...omitUndefined({ ready }) });
  }
  const own = { id, type, ...sender, fee, signature, ...second, signatures, asset, receivedAt };
  const recipientPublicKey = keyOf(recipientId, api);
  return extendedMembers(dialect, own, { amount, recipientId, recipientPublicKey, ...omitUndefined({ ready }) });
}

/** Returns the public key of the account with this address; empty if the chain has no public key of the account. */
function keyOf(address: string, api: NodeApi): string {
  return (address === '' ? undefined : api.chain.accountBy({ address })?.publicKey) ?? '';
}

/** Makes the JSON object for a transaction that the pool has just accepted. The object has no member `receivedAt`. */
export function receivedView(transaction: Transaction, api: NodeApi, dialect: HttpDialect): View {
  const { receivedAt: _moment, ...view } = pooledView({ transaction, receivedAtMs: 0 }, api, dialect);
  return view;
}

const COMMON: Readonly<Record<string, Schema>> = {
  id: shape.ID,
  type: shape.COUNT,
  timestamp: shape.INTEGER,
  senderPublicKey: shape.PUBLIC_KEY,
  senderId: shape.ADDRESS,
  fee: shape.AMOUNT,
  signature: shape.SIGNATURE,
  signatures: shape.listOf(shape.SIGNATURE),
  asset: shape.ANY_OBJECT,
};

/**
 * Three members that are outside the asset in generation 2. In generation 3, the asset contains the amount and the
 * address of the recipient, and nodes of lisk-sdk do not send the public key of the recipient. In generation 3, the
 * strict dialect (only the members that lisk-sdk nodes send) therefore has none of the three members outside the asset.
 * The extended dialect of generation 3 has all three members outside the asset, and the amount and the address also
 * inside it.
 */
const MOVED: Readonly<Record<string, Schema>> = {
  recipientPublicKey: shape.PUBLIC_KEY,
  recipientId: shape.ADDRESS,
  amount: shape.AMOUNT,
};
const SECOND_SIGNATURE: Readonly<Record<string, Schema>> = { signSignature: shape.SIGNATURE };
const READY: Readonly<Record<string, Schema>> = { ready: shape.FLAG };
const RECEIVED_AT: Readonly<Record<string, Schema>> = { receivedAt: shape.INSTANT };

export function confirmedShape(dialect: HttpDialect): Schema {
  const place: Readonly<Record<string, Schema>> = {
    height: { type: 'integer', minimum: 1 },
    blockId: shape.ID,
    confirmations: shape.COUNT,
  };
  const known = { senderSecondPublicKey: shape.PUBLIC_KEY, ...READY, ...RECEIVED_AT };
  const own = { ...COMMON, ...SECOND_SIGNATURE, ...place };
  const optional = [...Object.keys(SECOND_SIGNATURE), ...Object.keys(known)];
  return dialect.generation === 2
    ? extendedShape(dialect, { ...own, ...MOVED }, known, optional)
    : extendedShape(dialect, own, { ...MOVED, ...known }, optional);
}

export function pooledShape(dialect: HttpDialect): Schema {
  const optional = [...Object.keys(SECOND_SIGNATURE), ...Object.keys(READY)];
  return dialect.generation === 2
    ? extendedShape(dialect, { ...COMMON, ...MOVED }, { ...SECOND_SIGNATURE, ...RECEIVED_AT, ...READY }, optional)
    : extendedShape(dialect, { ...COMMON, ...SECOND_SIGNATURE, ...RECEIVED_AT }, { ...MOVED, ...READY }, optional);
}

export function receivedShape(): Schema {
  const optional = [...Object.keys(SECOND_SIGNATURE), ...Object.keys(READY)];
  return shape.objectOf({ ...COMMON, ...MOVED, ...SECOND_SIGNATURE, ...READY }, optional);
}

/**
 * Returns the amount and the recipient of a transaction. If the transaction moves no amount in addition to its fee, the
 * amount is `0`. If the transaction names no recipient, `recipientId` is an empty string.
 */
function movedBy(transaction: Transaction): { readonly amount: string; readonly recipientId: string } {
  return { amount: amountOf(transaction).toString(), recipientId: recipientOf(transaction) ?? '' };
}

function instantOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function signSignatureOf(transaction: Transaction): View {
  return transaction.signSignature === undefined ? {} : { signSignature: transaction.signSignature };
}
