/**
 * Defines the schemas, bytes and fees of transaction types 8 to 12, the types of generation 3. In these types,
 * timestamps and amounts are big-endian. In the types of generation 2, timestamps and amounts are little-endian.
 */

import { addressAt } from '../../crypto/address-texts.ts';
import { readU64BE, writeU64BE } from '../../primitives/bytes.ts';
import { FEES } from '../params.ts';
import { GEN3_DIALECT } from '../tx/apply-context.ts';
import { createDelegateReader } from '../tx/delegate.ts';
import { createMultisignatureReader } from '../tx/multisignature.ts';
import { createShapeCompiler } from '../tx/schema.ts';
import { recipientNumberOf, recipientTextBeside } from '../tx/recipient.ts';
import { createSecondSignatureReader } from '../tx/second-signature.ts';
import { bytesInvalid, payloadOf, SENDER_AT, signedKeysIn } from '../tx/transaction-type.ts';
import type { BasicFields, TransactionType } from '../tx/transaction-type.ts';
import { createTransferReader, emptyData } from '../tx/transfer.ts';
import { createVoteReader } from '../tx/vote.ts';
import { writtenAsset } from '../tx/unsigned-json.ts';
import type { JsonObject, Payload, PayloadKind } from '../types.ts';

/**
 * True if a text contains the NUL character, or one of the two spellings that lisk-sdk refuses like the NUL character.
 */
const containsNul = (text: string): boolean =>
  text.includes('\0') || text.includes('\\u0000') || text.includes('\\x00');

/**
 * Compiles JSON schemas for generation 3. Some text formats in these schemas (for example `username`) forbid the NUL
 * character. The function `containsNul` finds this character.
 */
export const GEN3_SHAPES = createShapeCompiler(containsNul);

const TIMESTAMP_AT = 1;
/** Number of bytes that type, timestamp and sender's public key take together. */
const HEAD_BYTES = SENDER_AT + 32;

/** The properties in which the transaction types of this generation differ. */
interface AssetLayout<K extends PayloadKind> {
  readonly type: number;
  readonly kind: K;
  readonly readAsset: TransactionType['readAsset'];
  /**
   * True if the node rebuilds the asset from the asset's known members. The node thereby drops unknown members. If
   * `rebuilt` is true, `assetForBaseCheck` returns an empty object, even for a malformed asset. The check of the base
   * schema therefore never sees this asset.
   */
  readonly rebuilt: boolean;
  /**
   * Returns the known members of the asset that no signature covers. The payload does not contain these members. If the
   * asset has such members, the node stores the asset as an additional JSON text. The text consists of these members,
   * followed by the members that `toJson` computes from the payload.
   */
  unsigned?(asset: unknown): JsonObject | undefined;
  fee(payload: Extract<Payload, { kind: K }>): bigint;
  toJson(payload: Extract<Payload, { kind: K }>): JsonObject;
  encode(payload: Extract<Payload, { kind: K }>): Buffer;
  /** The part of the payload that the bytes do not contain; undefined if the bytes contain the whole payload. */
  detail?(payload: Extract<Payload, { kind: K }>): Buffer | undefined;
  /** @param bytes the bytes of the transaction, with the asset from `HEAD_BYTES` to `end` */
  decode(bytes: Buffer, end: number, detail: Buffer | undefined): Extract<Payload, { kind: K }>;
}

function typeOf<K extends PayloadKind>(layout: AssetLayout<K>): TransactionType {
  const { type, kind, readAsset } = layout;
  return {
    type,
    kind,
    networkBound: true,
    readAsset,
    assetForBaseCheck: (asset) => (layout.rebuilt || !asset ? {} : asset),
    fee: (payload) => layout.fee(payloadOf(payload, kind)),
    assetToJson: (payload) => layout.toJson(payloadOf(payload, kind)),
    writtenAsset: (asset, payload) => {
      if (!layout.rebuilt) return writtenAsset(asset, layout.toJson(payloadOf(payload, kind)));
      const unsigned = layout.unsigned?.(asset);
      return unsigned && JSON.stringify({ ...unsigned, ...layout.toJson(payloadOf(payload, kind)) });
    },
    encodeBasic: (fields, before, after) =>
      encodeBasic(fields, layout.encode(payloadOf(fields.payload, kind)), before, after),
    detail: (payload) => layout.detail?.(payloadOf(payload, kind)),
    decodeBasic: (bytes, length, detail) => {
      if (length < HEAD_BYTES) throw bytesInvalid('too short', bytes.subarray(0, length));
      return {
        type: bytes.readUInt8(0),
        timestamp: bytes.readInt32BE(TIMESTAMP_AT),
        senderPublicKey: bytes.toString('hex', SENDER_AT, HEAD_BYTES),
        payload: layout.decode(bytes, length, detail),
      };
    },
  };
}

function encodeBasic(
  { type, timestamp, senderPublicKey }: BasicFields,
  asset: Buffer,
  before: number,
  after: number,
): Buffer {
  const bytes = Buffer.allocUnsafe(before + HEAD_BYTES + asset.length + after);
  bytes.writeUInt8(type, before);
  bytes.writeInt32BE(timestamp, before + TIMESTAMP_AT);
  bytes.write(senderPublicKey, before + SENDER_AT, 32, 'hex');
  bytes.set(asset, before + HEAD_BYTES);
  return bytes;
}

const transfer = typeOf({
  type: 8,
  kind: 'transfer',
  rebuilt: true,
  readAsset: createTransferReader(GEN3_SHAPES),
  unsigned: emptyData,
  fee: () => FEES.transfer,
  toJson: ({ amount, recipientId, data }) => ({
    ...(data === undefined ? {} : { data }),
    amount: amount.toString(),
    recipientId,
  }),
  encode: ({ amount, recipientId, data }) => {
    const bytes = Buffer.allocUnsafe(16 + (data === undefined ? 0 : Buffer.byteLength(data, 'utf8')));
    writeU64BE(bytes, amount, 0);
    writeU64BE(bytes, recipientNumberOf(recipientId), 8);
    if (data !== undefined) bytes.write(data, 16, 'utf8');
    return bytes;
  },
  detail: ({ recipientId }) => recipientTextBeside(recipientId),
  decode: (bytes, end, detail) => {
    const dataAt = HEAD_BYTES + 16;
    if (end < dataAt) throw bytesInvalid('transfer without recipient', bytes.subarray(HEAD_BYTES, end));
    const amount = readU64BE(bytes, HEAD_BYTES);
    const recipientId = detail === undefined ? addressAt(bytes, HEAD_BYTES + 8) : detail.toString('utf8');
    if (end === dataAt) return { kind: 'transfer', amount, recipientId };
    return { kind: 'transfer', amount, recipientId, data: bytes.toString('utf8', dataAt, end) };
  },
});

const secondSignature = typeOf({
  type: 9,
  kind: 'secondSignature',
  rebuilt: false,
  readAsset: createSecondSignatureReader(GEN3_SHAPES),
  fee: () => FEES.secondSignature,
  toJson: ({ publicKey }) => ({ publicKey }),
  encode: ({ publicKey }) => Buffer.from(publicKey, 'hex'),
  decode: (bytes, end) => {
    const asset = bytes.subarray(HEAD_BYTES, end);
    if (asset.length !== 32) throw bytesInvalid('second signature without a key', asset);
    return { kind: 'secondSignature', publicKey: asset.toString('hex') };
  },
});

const delegate = typeOf({
  type: 10,
  kind: 'delegate',
  rebuilt: false,
  readAsset: createDelegateReader(GEN3_SHAPES),
  fee: () => FEES.delegate,
  toJson: ({ username }) => ({ username }),
  encode: ({ username }) => Buffer.from(username, 'utf8'),
  decode: (bytes, end) => ({ kind: 'delegate', username: bytes.toString('utf8', HEAD_BYTES, end) }),
});

const vote = typeOf({
  type: 11,
  kind: 'vote',
  rebuilt: true,
  readAsset: createVoteReader(GEN3_SHAPES),
  fee: () => FEES.vote,
  toJson: ({ votes }) => ({ votes }),
  encode: ({ votes }) => Buffer.from(votes.join(''), 'latin1'),
  decode: (bytes, end) => ({ kind: 'vote', votes: signedKeysIn(bytes.subarray(HEAD_BYTES, end)), amount: 0n }),
});

const multisignature = typeOf({
  type: 12,
  kind: 'multisignature',
  rebuilt: false,
  readAsset: createMultisignatureReader(GEN3_SHAPES, GEN3_DIALECT.multisignatureMinPath),
  fee: ({ keysgroup }) => FEES.multisignaturePerKey * BigInt(keysgroup.length + 1),
  toJson: ({ min, lifetime, keysgroup }) => ({ min, lifetime, keysgroup }),
  encode: ({ min, lifetime, keysgroup }) =>
    Buffer.concat([Buffer.from([min, lifetime]), Buffer.from(keysgroup.join(''), 'latin1')]),
  decode: (bytes, end) => {
    const asset = bytes.subarray(HEAD_BYTES, end);
    const [min, lifetime] = asset;
    if (min === undefined || lifetime === undefined) throw bytesInvalid('multisignature without limits', asset);
    return { kind: 'multisignature', min, lifetime, keysgroup: signedKeysIn(asset.subarray(2)) };
  },
});

/** All types of this generation, by number. */
export const GEN3_TYPES: ReadonlyMap<number, TransactionType> = new Map(
  [transfer, secondSignature, delegate, vote, multisignature].map((entry) => [entry.type, entry]),
);
