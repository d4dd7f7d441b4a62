/**
 * Defines the bytes and fees of transaction types 0 to 7, for chains of both generations. In the bytes, recipient and
 * amount come before the asset. Timestamps and amounts are little-endian, recipients are big-endian.
 */

import { addressAt } from '../../crypto/address-texts.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { decimalOf, integerOf } from '../../primitives/decimal.ts';
import { FEES } from '../params.ts';
import { canonicalDigits } from '../tx/json.ts';
import { bytesInvalid, payloadOf, SENDER_AT, signedKeysIn } from '../tx/transaction-type.ts';
import type { BasicFields, TransactionLayout } from '../tx/transaction-type.ts';
import { amountOf } from '../tx/amounts.ts';
import { NAN_ADDRESS, recipientNumberOf } from '../tx/recipient.ts';
import { storableText } from '../tx/transfer.ts';
import type { Address, DappDescription, Payload, PayloadKind } from '../types.ts';

const TIMESTAMP_AT = 1;
const RECIPIENT_AT = 37;
const AMOUNT_AT = 45;
/** Number of bytes that type, timestamp, sender's public key, recipient and amount take together. */
const HEAD_BYTES = 53;

type Of<K extends PayloadKind> = Extract<Payload, { kind: K }>;

/** Recipient and amount, which come before the asset in the bytes. */
interface Head {
  /** The recipient that the eight bytes at `RECIPIENT_AT` encode. */
  readonly recipientId: Address;
  readonly amount: bigint;
}

interface AssetLayout<K extends PayloadKind> {
  readonly type: number;
  readonly kind: K;
  fee(payload: Of<K>): bigint;
  encode(payload: Of<K>): Buffer;
  decode(asset: Buffer, head: Head, detail: Buffer | undefined): Of<K>;
  detail?(payload: Of<K>): Buffer | undefined;
}

function layoutOf<K extends PayloadKind>(asset: AssetLayout<K>): TransactionLayout {
  const { type, kind } = asset;
  return {
    type,
    kind,
    networkBound: false,
    fee: (payload) => asset.fee(payloadOf(payload, kind)),
    encodeBasic: (fields, before, after) =>
      encodeBasic(fields, asset.encode(payloadOf(fields.payload, kind)), before, after),
    detail: (payload) => asset.detail?.(payloadOf(payload, kind)),
    decodeBasic: (bytes, length, detail) => {
      if (length < HEAD_BYTES) throw bytesInvalid('too short', bytes.subarray(0, length));
      const head = {
        recipientId: addressAt(bytes, RECIPIENT_AT),
        amount: bytes.readBigUInt64LE(AMOUNT_AT),
      };
      return {
        type: bytes.readUInt8(0),
        timestamp: bytes.readInt32LE(TIMESTAMP_AT),
        senderPublicKey: bytes.toString('hex', SENDER_AT, RECIPIENT_AT),
        payload: asset.decode(bytes.subarray(HEAD_BYTES, length), head, detail),
      };
    },
  };
}

function encodeBasic(
  { type, timestamp, senderPublicKey, payload }: BasicFields,
  asset: Buffer,
  before: number,
  after: number,
): Buffer {
  const bytes = Buffer.alloc(before + HEAD_BYTES + asset.length + after);
  bytes.writeUInt8(type, before);
  bytes.writeInt32LE(timestamp, before + TIMESTAMP_AT);
  bytes.write(senderPublicKey, before + SENDER_AT, 32, 'hex');
  const recipientId = 'recipientId' in payload ? payload.recipientId : undefined;
  bytes.writeBigUInt64BE(recipientNumber(recipientId), before + RECIPIENT_AT);
  bytes.writeBigUInt64LE(amountOf({ payload }), before + AMOUNT_AT);
  bytes.set(asset, before + HEAD_BYTES);
  return bytes;
}

/**
 * The number that encodes a recipient in the bytes. Normally, this number is the recipient's text without its last
 * character, read as an integer. The number is 10 for `NaNL` (`tx/recipient.ts`). The number is 0 if the transaction
 * has no recipient, or if the text without its last character is not an integer. Some transactions in the exceptions of
 * live networks have a recipient whose integer has more than 64 bits. The function pads such an integer with leading
 * zeros to a multiple of eight bytes, and uses the first eight bytes as the number.
 */
function recipientNumber(recipientId: Address | undefined): bigint {
  if (recipientId === NAN_ADDRESS) return recipientNumberOf(recipientId);
  let number = recipientId === undefined ? 0n : (integerIn(recipientId.slice(0, -1)) ?? 0n);
  while (number >> 64n > 0n) number >>= 64n;
  return number;
}

/**
 * Returns the text of a recipient as the detail of a transaction (`TransactionLayout.detail`); undefined if the text
 * can be computed from the bytes of the transaction. For a transaction without a recipient, the detail is empty.
 */
function recipientDetail({ recipientId }: { readonly recipientId?: Address }): Buffer | undefined {
  const known = recipientId !== undefined && recipientId === `${recipientNumber(recipientId)}L`;
  return known ? undefined : Buffer.from(recipientId ?? '', 'utf8');
}

/**
 * Reads the recipient from the detail of a transaction. Without a detail, the recipient comes from the bytes of the
 * transaction (`head`).
 */
function recipientFrom(head: Head, detail: Buffer | undefined): Address {
  return detail === undefined ? head.recipientId : detail.toString('utf8');
}

const transfer = layoutOf({
  type: 0,
  kind: 'transfer',
  fee: () => FEES.transfer,
  encode: ({ data }) => Buffer.from(data ?? '', 'utf8'),
  detail: recipientDetail,
  decode: (asset, head, detail) => {
    const payload = { kind: 'transfer', amount: head.amount, recipientId: recipientFrom(head, detail) } as const;
    return asset.length === 0 ? payload : { ...payload, data: asset.toString('utf8') };
  },
});

const secondSignature = layoutOf({
  type: 1,
  kind: 'secondSignature',
  fee: () => FEES.secondSignature,
  encode: ({ publicKey }) => Buffer.from(publicKey, 'hex'),
  decode: (asset) => {
    if (asset.length !== 32) throw bytesInvalid('second signature without a key', asset);
    return { kind: 'secondSignature', publicKey: hexOf(asset) };
  },
});

const delegate = layoutOf({
  type: 2,
  kind: 'delegate',
  fee: () => FEES.delegate,
  encode: ({ username }) => Buffer.from(username, 'utf8'),
  decode: (asset) => ({ kind: 'delegate', username: asset.toString('utf8') }),
});

const vote = layoutOf({
  type: 3,
  kind: 'vote',
  fee: () => FEES.vote,
  encode: ({ votes }) => Buffer.from(votes.join(''), 'latin1'),
  detail: recipientDetail,
  decode: (asset, head, detail) => {
    const payload = { kind: 'vote', votes: signedKeysIn(asset), amount: head.amount } as const;
    const recipientId = recipientFrom(head, detail);
    return recipientId === '' ? payload : { ...payload, recipientId };
  },
});

const multisignature = layoutOf({
  type: 4,
  kind: 'multisignature',
  fee: ({ keysgroup }) => FEES.multisignaturePerKey * BigInt(keysgroup.length + 1),
  encode: ({ min, lifetime, keysgroup }) =>
    Buffer.concat([Buffer.from([min, lifetime]), Buffer.from(keysgroup.join(''), 'latin1')]),
  decode: (asset) => {
    const [min, lifetime] = asset;
    if (min === undefined || lifetime === undefined) throw bytesInvalid('multisignature without limits', asset);
    return { kind: 'multisignature', min, lifetime, keysgroup: signedKeysIn(asset.subarray(2)) };
  },
});

/** The texts of an application, in the order in which the bytes contain them. */
const DAPP_TEXTS = ['name', 'description', 'tags', 'link', 'icon'] as const;

const dapp = layoutOf({
  type: 5,
  kind: 'dapp',
  fee: () => FEES.dapp,
  encode: (payload) => {
    const numbers = Buffer.alloc(8);
    numbers.writeInt32LE(payload.dapp.type, 0);
    numbers.writeInt32LE(payload.dapp.category, 4);
    return Buffer.concat([...DAPP_TEXTS.map((name) => Buffer.from(payload.dapp[name] ?? '', 'utf8')), numbers]);
  },
  // The detail contains the lengths of the texts, because the bytes do not show where each text ends.
  detail: (payload) => {
    const lengths = Buffer.alloc(DAPP_TEXTS.length * 2);
    DAPP_TEXTS.forEach((name, index) => {
      lengths.writeUInt16BE(Buffer.byteLength(payload.dapp[name] ?? '', 'utf8'), index * 2);
    });
    return lengths;
  },
  decode: (asset, _head, detail) => {
    if (detail?.length !== DAPP_TEXTS.length * 2 || asset.length < 8) throw bytesInvalid('application', asset);
    let at = 0;
    const [name = '', ...texts] = DAPP_TEXTS.map((_, index) => {
      const from = at;
      at += detail.readUInt16BE(index * 2);
      return asset.toString('utf8', from, at);
    });
    const optional = Object.fromEntries(
      texts.flatMap((text, index) => (text === '' ? [] : [[DAPP_TEXTS[index + 1], text]])),
    ) as Partial<DappDescription>;
    return {
      kind: 'dapp',
      dapp: { ...optional, name, type: asset.readInt32LE(at), category: asset.readInt32LE(at + 4) },
    };
  },
});

const inTransfer = layoutOf({
  type: 6,
  kind: 'inTransfer',
  fee: () => FEES.inTransfer,
  encode: ({ dappId }) => Buffer.from(dappId, 'latin1'),
  decode: (asset, head) => ({ kind: 'inTransfer', amount: head.amount, dappId: asset.toString('latin1') }),
});

const outTransfer = layoutOf({
  type: 7,
  kind: 'outTransfer',
  fee: () => FEES.outTransfer,
  encode: ({ dappId, transactionId }) => Buffer.from(dappId + transactionId, 'latin1'),
  // The detail of a transaction is the data that the bytes of the transaction do not contain
  // (`TransactionLayout.detail`). Here the detail contains the length of the application's id. If the recipient's text
  // cannot be computed from the bytes, the detail also contains this text.
  detail: ({ dappId, recipientId }) =>
    Buffer.concat([Buffer.from([dappId.length]), recipientDetail({ recipientId }) ?? Buffer.alloc(0)]),
  decode: (asset, head, detail) => {
    const [length, ...recipient] = detail ?? [];
    if (length === undefined) throw bytesInvalid('transfer out of an application', asset);
    return {
      kind: 'outTransfer',
      amount: head.amount,
      recipientId: recipientFrom(head, recipient.length === 0 ? undefined : Buffer.from(recipient)),
      dappId: asset.toString('latin1', 0, length),
      transactionId: asset.toString('latin1', length),
    };
  },
});

/** All layouts, by type number. */
export const LEGACY_LAYOUTS: ReadonlyMap<number, TransactionLayout> = new Map(
  [transfer, secondSignature, delegate, vote, multisignature, dapp, inTransfer, outTransfer].map((each) => [
    each.type,
    each,
  ]),
);

const U64_MAX = 0xffff_ffff_ffff_ffffn;
/**
 * Maximum number of characters in a recipient. An address has at most 21 characters (20 digits and `L`), but some
 * transactions in the exceptions of live networks have a recipient with more digits.
 */
const RECIPIENT_LENGTH_MAX = 100;

/**
 * Converts a text to an amount in beddows. Returns undefined in three cases: the text is empty, the text has a
 * character that is not a digit, or the amount needs more than eight bytes.
 */
export function beddowsOf(amount: string): bigint | undefined {
  const digits = canonicalDigits(amount);
  if (digits === undefined || digits.length > 20) return undefined;
  const beddows = BigInt(digits);
  return beddows <= U64_MAX ? beddows : undefined;
}

/** Maximum number of characters in the recipient column of lisk-sdk's database. */
const RECIPIENT_COLUMN_MAX = 22;

/**
 * Reads amount and recipient like `movementOf`, but for a transfer out of an application. The recipient of such a
 * transfer need not be an address. However, the part before the last character of the recipient must be a whole number
 * of at least 0. The last character can be another character than `L` (`1l`). The number can have a sign or an exponent
 * (`+7L`, `1e3L`).
 *
 * @returns undefined for a wrong amount (see `beddowsOf`), for a recipient without this whole number, and for a
 *   recipient that lisk-sdk cannot store
 */
export function looseMovementOf(
  amount: string,
  recipientId: unknown,
): { amount: bigint; recipientId: Address } | undefined {
  const beddows = beddowsOf(amount);
  if (beddows === undefined || typeof recipientId !== 'string' || recipientId.length > RECIPIENT_COLUMN_MAX) {
    return undefined;
  }
  const number = integerIn(recipientId.slice(0, -1));
  if (number === undefined || number < 0n || recipientId.includes('\0')) return undefined;
  return { amount: beddows, recipientId: storableText(recipientId) };
}

function integerIn(text: string): bigint | undefined {
  if (/^[0-9]+$/.test(text)) return BigInt(text);
  const number = decimalOf(text);
  return number && integerOf(number);
}

/**
 * Reads amount and recipient; undefined if the amount (see `beddowsOf`) or the recipient is wrong. A recipient must be
 * the text `NaNL`, or a text of digits followed by an `L`. With the `L`, the recipient must have at most
 * `RECIPIENT_LENGTH_MAX` characters. The transaction rules can still refuse the returned values.
 */
export function movementOf(amount: string, recipientId: unknown): { amount: bigint; recipientId: Address } | undefined {
  const beddows = beddowsOf(amount);
  if (beddows === undefined || typeof recipientId !== 'string') return undefined;
  if (recipientId !== NAN_ADDRESS && !/^[0-9]+L$/.test(recipientId)) return undefined;
  return recipientId.length > RECIPIENT_LENGTH_MAX ? undefined : { amount: beddows, recipientId };
}
