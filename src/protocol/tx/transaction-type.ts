/**
 * Defines transaction types for a codec. A type defines the bytes and the fee of a transaction, and the JSON form of
 * the asset.
 */

import type { Address, JsonObject, Payload, PayloadKind, PublicKey } from '../types.ts';
import type { TransactionContext } from '../rules.ts';
import type { TransactionError } from '../verdict.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';

/**
 * The result of reading an asset: all errors, and the payload. The payload is undefined if the reader cannot build it
 * from the members of the asset.
 */
export interface AssetReading {
  readonly errors: readonly TransactionError[];
  /**
   * The reader builds the payload even if a list of the asset is too long, because the list of a vote transaction in a
   * genesis block can have any length.
   */
  readonly payload: Payload | undefined;
}

/** The part of a transaction that its primary signature covers. */
export interface BasicFields {
  readonly type: number;
  readonly timestamp: number;
  readonly senderPublicKey: PublicKey;
  readonly payload: Payload;
}

/**
 * Position of the sender's public key in the basic bytes. In all layouts, the public key follows the type and the
 * timestamp.
 */
export const SENDER_AT = 5;

/**
 * Defines the bytes and the fee of one transaction type. A generation is a version of the protocol. On some networks of
 * generation 3, old blocks contain transactions of types 0 to 7, the types of generation 2. These types have the same
 * layout in both generations.
 */
export interface TransactionLayout {
  readonly type: number;
  readonly kind: PayloadKind;
  /**
   * True if the signatures cover the network identifier in addition to the basic bytes (`encodeBasic`). If the value is
   * true, the network identifier comes before the basic bytes in the signed bytes.
   */
  readonly networkBound: boolean;
  /** Returns the fee in beddows of a transaction of this type with the given payload. */
  fee(payload: Payload): bigint;
  /**
   * Writes the basic bytes: the signed bytes without the network identifier.
   *
   * @param before number of bytes to leave free before the basic bytes
   * @param after number of bytes to leave free after the basic bytes
   */
  encodeBasic(fields: BasicFields, before: number, after: number): Buffer;
  /**
   * Returns the data of a payload that the basic bytes do not contain. Returns undefined if the basic bytes contain all
   * data of the payload. The stored form of a transaction contains the returned data in addition to the basic bytes.
   */
  detail?(payload: Payload): Buffer | undefined;
  /**
   * @param bytes the basic bytes, possibly followed by other bytes
   * @param length length of the basic bytes
   * @param detail the bytes that the method `detail` returned when the node stored this transaction; undefined if the
   *   method returned undefined
   * @throws ProtocolError `TRANSACTION_BYTES_INVALID` if the layout cannot decode `bytes`
   */
  decodeBasic(bytes: Buffer, length: number, detail?: Buffer): BasicFields;
}

/** Adds to a layout the functions that convert assets of generation 3 from and to JSON. */
export interface TransactionType extends TransactionLayout {
  /**
   * Returns the value that the codec passes as `asset` to the base schema (the schema that all transaction types
   * share). The value is an empty object if the asset is missing or falsy, or if the codec rebuilds assets of this type
   * from their known members. Otherwise, the value is the asset itself.
   */
  assetForBaseCheck(asset: unknown): unknown;
  /** @param senderId address of the sender; empty if the sender's key is malformed */
  readAsset(asset: unknown, id: string, senderId: Address): AssetReading;
  assetToJson(payload: Payload): JsonObject;
  /**
   * Returns the JSON text of the asset in the form in which nodes pass the asset on. Returns undefined if this form is
   * the result of `assetToJson`.
   */
  writtenAsset(asset: unknown, payload: Payload): string | undefined;
  /**
   * Returns whether a block with the properties in `context` is allowed to contain this type. If `matches` is absent,
   * every block is allowed to contain the type.
   */
  matches?(context: TransactionContext): boolean;
}

/**
 * Returns the payload with the TypeScript type of the given kind. If the payload has another kind, an assertion fails.
 */
export function payloadOf<K extends PayloadKind>(payload: Payload, kind: K): Extract<Payload, { kind: K }> {
  // The message is built only for a wrong kind, because this code runs several times for each transaction.
  if (payload.kind !== kind) assert(false, `payload of a ${kind} transaction is a ${payload.kind}`);
  return payload as Extract<Payload, { kind: K }>;
}

/** Creates the error for bytes that a layout cannot decode. */
export function bytesInvalid(reason: string, bytes: Uint8Array): ProtocolError {
  return new ProtocolError('TRANSACTION_BYTES_INVALID', { reason, length: bytes.length });
}

const SIGNED_KEY_CHARACTERS = 65;

/**
 * Splits the bytes of concatenated votes or keys. Each vote or key is `+` or `-`, followed by 64 characters.
 *
 * @throws ProtocolError `TRANSACTION_BYTES_INVALID` if the number of bytes is no multiple of 65
 */
export function signedKeysIn(bytes: Buffer): string[] {
  if (bytes.length % SIGNED_KEY_CHARACTERS !== 0) throw bytesInvalid('keys of a wrong length', bytes);
  const text = bytes.toString('latin1');
  const keys: string[] = [];
  for (let at = 0; at < text.length; at += SIGNED_KEY_CHARACTERS) keys.push(text.slice(at, at + SIGNED_KEY_CHARACTERS));
  return keys;
}
