/** Shapes, bytes and fees of transaction types 8 to 12. Timestamps and amounts are big-endian, unlike those of generation 2. */

import { hexOf, writeU64BE } from '../../primitives/bytes.ts';
import { FEES } from '../params.ts';
import { GEN3_DIALECT } from '../tx/apply-context.ts';
import { createDelegateReader } from '../tx/delegate.ts';
import { createMultisignatureReader } from '../tx/multisignature.ts';
import { createShapeCompiler } from '../tx/schema.ts';
import { createSecondSignatureReader } from '../tx/second-signature.ts';
import { bytesInvalid, payloadOf, signedKeysIn } from '../tx/transaction-type.ts';
import type { BasicFields, TransactionType } from '../tx/transaction-type.ts';
import { createTransferReader } from '../tx/transfer.ts';
import { createVoteReader } from '../tx/vote.ts';
import type { JsonObject, Payload, PayloadKind } from '../types.ts';

/** NUL, and two spellings of it that the reference's pattern catches as text. */
const containsNul = (text: string): boolean =>
  text.includes('\0') || text.includes('\\u0000') || text.includes('\\x00');

/** Shapes of generation 3. */
export const GEN3_SHAPES = createShapeCompiler(containsNul);

/** Type, timestamp and sender's public key. */
const HEAD_BYTES = 37;

/** What one type adds to the bytes and JSON that all types of the generation share. */
interface AssetLayout<K extends PayloadKind> {
  readonly type: number;
  readonly kind: K;
  readonly readAsset: TransactionType['readAsset'];
  /** Whether the asset is rebuilt from known members, which hides a malformed one from the base check. */
  readonly rebuilt: boolean;
  fee(payload: Extract<Payload, { kind: K }>): bigint;
  toJson(payload: Extract<Payload, { kind: K }>): JsonObject;
  encode(payload: Extract<Payload, { kind: K }>): Buffer;
  decode(bytes: Buffer): Extract<Payload, { kind: K }>;
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
    encodeBasic: (fields) => encodeBasic(fields, layout.encode(payloadOf(fields.payload, kind))),
    decodeBasic: (bytes) => ({ ...decodeHead(bytes), payload: layout.decode(bytes.subarray(HEAD_BYTES)) }),
  };
}

function encodeBasic({ type, timestamp, senderPublicKey }: BasicFields, asset: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + asset.length);
  bytes.writeUInt8(type, 0);
  bytes.writeInt32BE(timestamp, 1);
  bytes.write(senderPublicKey, 5, 32, 'hex');
  asset.copy(bytes, HEAD_BYTES);
  return bytes;
}

function decodeHead(bytes: Buffer): Omit<BasicFields, 'payload'> {
  if (bytes.length < HEAD_BYTES) throw bytesInvalid('too short', bytes);
  return {
    type: bytes.readUInt8(0),
    timestamp: bytes.readInt32BE(1),
    senderPublicKey: bytes.toString('hex', 5, HEAD_BYTES),
  };
}

const transfer = typeOf({
  type: 8,
  kind: 'transfer',
  rebuilt: true,
  readAsset: createTransferReader(GEN3_SHAPES),
  fee: () => FEES.transfer,
  toJson: ({ amount, recipientId, data }) => ({
    ...(data === undefined ? {} : { data }),
    amount: amount.toString(),
    recipientId,
  }),
  encode: ({ amount, recipientId, data }) => {
    const text = Buffer.from(data ?? '', 'utf8');
    const bytes = Buffer.allocUnsafe(16 + text.length);
    writeU64BE(bytes, amount, 0);
    writeU64BE(bytes, BigInt(recipientId.slice(0, -1)), 8);
    text.copy(bytes, 16);
    return bytes;
  },
  decode: (bytes) => {
    if (bytes.length < 16) throw bytesInvalid('transfer without recipient', bytes);
    const recipientId = `${bytes.readBigUInt64BE(8)}L`;
    const payload = { kind: 'transfer', amount: bytes.readBigUInt64BE(0), recipientId } as const;
    return bytes.length === 16 ? payload : { ...payload, data: bytes.toString('utf8', 16) };
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
  decode: (bytes) => {
    if (bytes.length !== 32) throw bytesInvalid('second signature without a key', bytes);
    return { kind: 'secondSignature', publicKey: hexOf(bytes) };
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
  decode: (bytes) => ({ kind: 'delegate', username: bytes.toString('utf8') }),
});

const vote = typeOf({
  type: 11,
  kind: 'vote',
  rebuilt: true,
  readAsset: createVoteReader(GEN3_SHAPES),
  fee: () => FEES.vote,
  toJson: ({ votes }) => ({ votes }),
  encode: ({ votes }) => Buffer.from(votes.join(''), 'latin1'),
  decode: (bytes) => ({ kind: 'vote', votes: signedKeysIn(bytes), amount: 0n }),
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
  decode: (bytes) => {
    const [min, lifetime] = bytes;
    if (min === undefined || lifetime === undefined) throw bytesInvalid('multisignature without limits', bytes);
    return { kind: 'multisignature', min, lifetime, keysgroup: signedKeysIn(bytes.subarray(2)) };
  },
});

/** Every type that this generation has bytes for, by its number. */
export const GEN3_TYPES: ReadonlyMap<number, TransactionType> = new Map(
  [transfer, secondSignature, delegate, vote, multisignature].map((entry) => [entry.type, entry]),
);
