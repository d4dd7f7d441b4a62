/** What a codec must know of one transaction type: its shape, its bytes and its fee. */

import type { JsonObject, Payload, PayloadKind, PublicKey } from '../types.ts';
import type { TransactionContext } from '../rules.ts';
import type { TransactionError } from '../verdict.ts';
import { assert } from '../../primitives/errors.ts';

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

export interface TransactionType {
  readonly type: number;
  readonly kind: PayloadKind;
  /** Whether signatures cover the network identifier in front of the basic bytes. */
  readonly networkBound: boolean;
  /** Static fee in beddows. */
  fee(payload: Payload): bigint;
  /** The asset as the shape check of the whole transaction sees it. */
  assetForBaseCheck(asset: unknown): unknown;
  readAsset(asset: unknown, id: string): AssetReading;
  assetToJson(payload: Payload): JsonObject;
  /** Basic bytes: what is signed, without network identifier and signatures. */
  encodeBasic(fields: BasicFields): Buffer;
  /** @throws ProtocolError `TRANSACTION_BYTES_INVALID` */
  decodeBasic(bytes: Buffer): BasicFields;
  /** Whether the type may occur in this context; types without it may always. */
  matches?(context: TransactionContext): boolean;
}

/** The payload of a transaction whose kind the caller knows by its type. */
export function payloadOf<K extends PayloadKind>(payload: Payload, kind: K): Extract<Payload, { kind: K }> {
  assert(payload.kind === kind, `payload of a ${kind} transaction is a ${payload.kind}`);
  return payload as Extract<Payload, { kind: K }>;
}
