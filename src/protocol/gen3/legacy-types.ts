/**
 * Defines transaction types 0 to 7 for the history of a generation 3 chain. These types have the bytes of generation 2,
 * and assets in the form of generation 3. If the transaction has an amount, the asset also contains the amount. If the
 * transaction has a recipient, the asset also contains the recipient. Most members are directly in the asset. The
 * description of an application is in a nested object (`asset.dapp`). The ids in transfers to and from applications are
 * also in nested objects (`asset.inTransfer`, `asset.outTransfer`).
 */

import { assert } from '../../primitives/errors.ts';
import { createDappReader, dappErrors } from '../gen2/dapp.ts';
import { beddowsOf, LEGACY_LAYOUTS, movementOf } from '../gen2/layouts.ts';
import type { ChainParams } from '../params.ts';
import { GEN3_DIALECT } from '../tx/apply-context.ts';
import { createDelegateReader } from '../tx/delegate.ts';
import { boundedList, canonicalDigits, member } from '../tx/json.ts';
import { createMultisignatureReader } from '../tx/multisignature.ts';
import { assetErrors } from '../tx/schema.ts';
import { createSecondSignatureReader, isPlainAsset } from '../tx/second-signature.ts';
import { payloadOf, type AssetReading, type TransactionType } from '../tx/transaction-type.ts';
import { createTransferReader, emptyData, storableText } from '../tx/transfer.ts';
import { isVoteList, VOTE_SCHEMA } from '../tx/vote.ts';
import { writtenAsset } from '../tx/unsigned-json.ts';
import type { Json, JsonObject, Payload, PayloadKind } from '../types.ts';
import { transactionError } from '../verdict.ts';
import { GEN3_SHAPES } from './transaction-types.ts';

function typeOf<K extends PayloadKind>(
  type: number,
  kind: K,
  /**
   * True if the node rebuilds the asset from the asset's known members. The node thereby drops unknown members. If
   * `rebuilt` is true, `assetForBaseCheck` returns an empty object, even for a malformed asset. The check of the base
   * schema therefore never sees this asset.
   */
  rebuilt: boolean,
  readAsset: TransactionType['readAsset'],
  assetToJson: (payload: Extract<Payload, { kind: K }>) => JsonObject,
  /**
   * The node calls this function only if `rebuilt` is true. The argument `known` is the asset as the node computes it
   * from the payload. The function returns the asset in the form in which nodes send it to their peers (for example
   * with an empty `data`), or undefined. The node stores the result only if it differs from `known`.
   */
  keptOf?: (asset: unknown, known: JsonObject) => JsonObject | undefined,
): TransactionType {
  const layout = LEGACY_LAYOUTS.get(type);
  assert(layout !== undefined, `type ${type} has a layout`);
  return {
    ...layout,
    readAsset,
    assetForBaseCheck: (asset) => (rebuilt || !asset ? {} : asset),
    assetToJson: (payload) => assetToJson(payloadOf(payload, kind)),
    writtenAsset: (asset, payload) => {
      const known = assetToJson(payloadOf(payload, kind));
      return writtenAsset(rebuilt ? keptOf?.(asset, known) : asset, known);
    },
  };
}

const AMOUNT = { type: 'string', format: 'amount' } as const;
const ID = { type: 'string', format: 'id' } as const;

const readTransfer = createTransferReader(GEN3_SHAPES, '.amount');

const transfer = typeOf(
  0,
  'transfer',
  true,
  (asset, id) => {
    const { errors, payload } = readTransfer(asset, id);
    if (payload !== undefined) return { errors, payload };
    // Some transactions in the exceptions of live networks have recipients that are not addresses. The node can write
    // such a recipient to the bytes of the transaction, so the function returns the errors together with a payload.
    const moved = movementOf(amountIn(asset), member(asset, 'recipientId'));
    const data = member(asset, 'data');
    if (moved === undefined || (data !== undefined && typeof data !== 'string')) return { errors, payload: undefined };
    return { errors, payload: { kind: 'transfer', ...moved, ...(data ? { data: storableText(data) } : {}) } };
  },
  ({ amount, recipientId, data }) => ({
    ...(data === undefined ? {} : { data }),
    amount: amount.toString(),
    recipientId,
  }),
  (asset, known) => emptyData(asset) && { ...emptyData(asset), ...known },
);

const secondSignature = typeOf(
  1,
  'secondSignature',
  false,
  createSecondSignatureReader(GEN3_SHAPES),
  ({ publicKey }) => ({ publicKey }),
);

const delegate = typeOf(2, 'delegate', false, createDelegateReader(GEN3_SHAPES), ({ username }) => ({ username }));

const VOTE_SHAPE = GEN3_SHAPES.compile({
  ...VOTE_SCHEMA,
  properties: { recipientId: { type: 'string', format: 'address' }, amount: AMOUNT, ...VOTE_SCHEMA.properties },
});

const vote = typeOf(
  3,
  'vote',
  true,
  (asset, id, senderId) => {
    const votes = boundedList(member(asset, 'votes'));
    const recipientId = member(asset, 'recipientId') || senderId;
    const amount = amountIn(asset);
    const errors = assetErrors(VOTE_SHAPE, asset ? { votes, amount, recipientId } : {}, id);
    const moved = movementOf(amount, recipientId);
    return { errors, payload: moved && isVoteList(votes) ? { kind: 'vote', votes, ...moved } : undefined };
  },
  ({ votes, amount, recipientId }) => ({
    votes,
    amount: amount.toString(),
    ...(recipientId === undefined ? {} : { recipientId }),
  }),
);

const multisignature = typeOf(
  4,
  'multisignature',
  false,
  createMultisignatureReader(GEN3_SHAPES, GEN3_DIALECT.multisignatureMinPath),
  ({ min, lifetime, keysgroup }) => ({ min, lifetime, keysgroup }),
);

const readDapp = createDappReader(GEN3_SHAPES);

const dapp = typeOf(
  5,
  'dapp',
  false,
  (asset, id) => {
    const { errors, payload } = readDapp(asset, id);
    return payload === undefined ? { errors, payload } : { errors: dappErrors(payload.dapp, id), payload };
  },
  ({ dapp: description }) => ({ dapp: { ...description } }),
);

const IN_TRANSFER_SHAPE = GEN3_SHAPES.compile({
  type: 'object',
  required: ['inTransfer', 'amount'],
  properties: {
    amount: AMOUNT,
    inTransfer: { type: 'object', required: ['dappId'], properties: { dappId: ID } },
  },
});

const inTransfer = typeOf(
  6,
  'inTransfer',
  true,
  (asset, id): AssetReading => {
    const amount = amountIn(asset);
    const errors = assetErrors(IN_TRANSFER_SHAPE, { amount, inTransfer: plainMember(asset, 'inTransfer') }, id);
    if (amount === '0') errors.push(transactionError(id, 'Amount must be greater than 0', '.amount', amount, '0'));
    const dappId = member(member(asset, 'inTransfer'), 'dappId');
    const beddows = beddowsOf(amount);
    if (beddows === undefined || typeof dappId !== 'string') return { errors, payload: undefined };
    return { errors, payload: { kind: 'inTransfer', amount: beddows, dappId } };
  },
  ({ amount, dappId }) => ({ amount: amount.toString(), inTransfer: { dappId } }),
  (asset) => ({ amount: amountIn(asset), inTransfer: member(asset, 'inTransfer') as Json }),
);

const OUT_TRANSFER_SHAPE = GEN3_SHAPES.compile({
  type: 'object',
  required: ['outTransfer', 'amount', 'recipientId'],
  properties: {
    amount: AMOUNT,
    recipientId: { type: 'string', format: 'address' },
    outTransfer: {
      type: 'object',
      required: ['dappId', 'transactionId'],
      properties: { dappId: ID, transactionId: ID },
    },
  },
});

const outTransfer = typeOf(
  7,
  'outTransfer',
  true,
  (asset, id): AssetReading => {
    const amount = amountIn(asset);
    const recipientId = member(asset, 'recipientId');
    const seen = { amount, recipientId, outTransfer: plainMember(asset, 'outTransfer') };
    const errors = assetErrors(OUT_TRANSFER_SHAPE, seen, id);
    if (amount === '0') {
      const message = 'Amount must be greater than zero for outTransfer transaction';
      errors.push(transactionError(id, message, '.amount', amount));
    }
    const dappId = member(member(asset, 'outTransfer'), 'dappId');
    const transactionId = member(member(asset, 'outTransfer'), 'transactionId');
    const moved = movementOf(amount, recipientId);
    if (moved === undefined || typeof dappId !== 'string' || typeof transactionId !== 'string') {
      return { errors, payload: undefined };
    }
    return { errors, payload: { kind: 'outTransfer', ...moved, dappId, transactionId } };
  },
  ({ amount, recipientId, dappId, transactionId }) => ({
    amount: amount.toString(),
    recipientId,
    outTransfer: { dappId, transactionId },
  }),
  (asset) => ({
    amount: amountIn(asset),
    recipientId: member(asset, 'recipientId') as Json,
    outTransfer: member(asset, 'outTransfer') as Json,
  }),
);

/** Transaction types 0 to 7, by number. */
export const LEGACY_TYPES: ReadonlyMap<number, TransactionType> = new Map(
  [transfer, secondSignature, delegate, vote, multisignature, dapp, inTransfer, outTransfer].map((entry) => [
    entry.type,
    entry,
  ]),
);

/**
 * Returns those of the transaction types 0 to 7 that blocks of a network are allowed to contain after the genesis
 * block. For each of these types, the exceptions of the network define a height. Only blocks below this height are
 * allowed to contain the type. Several types have the same height.
 */
export function legacyTypesOf({ exceptions }: Pick<ChainParams, 'exceptions'>): readonly TransactionType[] {
  const { disableDappTransaction, disableDappTransfer, disableV1Transactions } = exceptions.precedent;
  const endOf = ({ kind }: TransactionType): number => {
    if (kind === 'dapp') return disableDappTransaction;
    return kind === 'inTransfer' || kind === 'outTransfer' ? disableDappTransfer : disableV1Transactions;
  };
  return [...LEGACY_TYPES.values()].flatMap((type) => {
    const end = endOf(type);
    const matches: TransactionType['matches'] = ({ blockHeight }) => blockHeight !== undefined && blockHeight < end;
    return end > 0 ? [{ ...type, matches }] : [];
  });
}

function amountIn(asset: unknown): string {
  return canonicalDigits(member(asset, 'amount')) ?? '0';
}

/**
 * Returns a member of the asset in the form in which a schema can check it. If the member is an object, the function
 * returns a copy with only the object's own properties. Any other value stays unchanged.
 */
function plainMember(asset: unknown, name: string): unknown {
  const value = member(asset, name);
  return isPlainAsset(value) && value ? Object.fromEntries(Object.entries(value)) : value;
}
