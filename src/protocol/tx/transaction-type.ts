/** The properties of one transaction type for a codec: its shape, its bytes and its fee. */

import type { Address, JsonObject, Payload, PayloadKind, PublicKey } from '../types.ts';
import type { TransactionContext } from '../rules.ts';
import type { TransactionError } from '../verdict.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';

/** An asset as read: every error found, and the payload where its members have the right types at all. */
export interface AssetReading {
  readonly errors: readonly TransactionError[];
  /** Also given beside errors about limits, which do not hold for a genesis block. */
  readonly payload: Payload | undefined;
}

/** The signed part of a transaction, signatures left out. */
export interface BasicFields {
  readonly type: number;
  readonly timestamp: number;
  readonly senderPublicKey: PublicKey;
  readonly payload: Payload;
}

/** Where basic bytes hold the sender's public key: behind type and timestamp, whatever the layout. */
export const SENDER_AT = 5;

/** Bytes and fee of a transaction type. A type number has one layout, whichever generation meets it. */
export interface TransactionLayout {
  readonly type: number;
  readonly kind: PayloadKind;
  /** Whether signatures cover the network identifier in front of the basic bytes. */
  readonly networkBound: boolean;
  /** Static fee in beddows. */
  fee(payload: Payload): bigint;
  /**
   * Basic bytes: what is signed, without network identifier and signatures.
   *
   * @param before bytes of room in front, for the caller to fill
   * @param after bytes of room behind
   */
  encodeBasic(fields: BasicFields, before: number, after: number): Buffer;
  /** What the basic bytes do not tell of a payload and the stored form keeps; undefined for nothing. */
  detail?(payload: Payload): Buffer | undefined;
  /**
   * @param bytes the basic bytes and what comes behind them
   * @param length of the basic bytes
   * @param detail what `detail` gave when the transaction was stored
   * @throws ProtocolError `TRANSACTION_BYTES_INVALID`
   */
  decodeBasic(bytes: Buffer, length: number, detail?: Buffer): BasicFields;
}

/** A layout with the JSON that generation 3 writes its asset as. */
export interface TransactionType extends TransactionLayout {
  /** The asset as the shape check of the whole transaction sees it. */
  assetForBaseCheck(asset: unknown): unknown;
  /** @param senderId address of the sender, empty when its key is malformed */
  readAsset(asset: unknown, id: string, senderId: Address): AssetReading;
  assetToJson(payload: Payload): JsonObject;
  /** The asset as it was written, where the network keeps more of it than the payload says. */
  writtenAsset(asset: unknown, payload: Payload): string | undefined;
  /** Whether the type may occur in this context; types without it may always. */
  matches?(context: TransactionContext): boolean;
}

/** The payload of a transaction whose kind the caller knows by its type. */
export function payloadOf<K extends PayloadKind>(payload: Payload, kind: K): Extract<Payload, { kind: K }> {
  // Asked for several times of each transaction: no text is made where nothing is wrong.
  if (payload.kind !== kind) assert(false, `payload of a ${kind} transaction is a ${payload.kind}`);
  return payload as Extract<Payload, { kind: K }>;
}

/** Bytes that no transaction of the type has. */
export function bytesInvalid(reason: string, bytes: Uint8Array): ProtocolError {
  return new ProtocolError('TRANSACTION_BYTES_INVALID', { reason, length: bytes.length });
}

const SIGNED_KEY_CHARACTERS = 65;

/** Signs and keys (`+` or `-` and 64 characters each) out of the bytes that they were written to one after the other. */
export function signedKeysIn(bytes: Buffer): string[] {
  if (bytes.length % SIGNED_KEY_CHARACTERS !== 0) throw bytesInvalid('keys of a wrong length', bytes);
  const text = bytes.toString('latin1');
  const keys: string[] = [];
  for (let at = 0; at < text.length; at += SIGNED_KEY_CHARACTERS) keys.push(text.slice(at, at + SIGNED_KEY_CHARACTERS));
  return keys;
}
