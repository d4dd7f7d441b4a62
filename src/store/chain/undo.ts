/**
 * Encodes and decodes undo records. An undo record contains the entries of consensus state that a block overwrote. For
 * each entry, the record has the key and the earlier value, or the byte `ABSENT` if the key had no value. The record
 * does not contain the block, because the store has the block. The record does not contain indexes and counters either,
 * because the node can compute them from the block and the overwritten values.
 */

import type { Account, Delegate } from '../../protocol/state.ts';
import type { Address, PublicKey } from '../../protocol/types.ts';
import { TABLES } from '../tables/layout.ts';
import { RecordReader, RecordWriter, writeAccount, writeDelegate } from '../tables/records.ts';

export interface Overwritten {
  readonly key: Buffer;
  readonly before: Buffer | undefined;
}

export interface OverwrittenAccount {
  readonly address: Address;
  /**
   * The account before the block was applied; undefined for a new account. The votes of an account are recorded
   * separately, because the store has a separate table for votes.
   */
  readonly before: Account | undefined;
}

export interface OverwrittenDelegate {
  readonly publicKey: PublicKey;
  readonly before: Delegate | undefined;
}

/**
 * An undo record before it is encoded. A long database transaction drops most of its undo records before they are
 * encoded.
 */
export interface OverwrittenValues {
  readonly accounts: readonly OverwrittenAccount[];
  readonly delegates: readonly OverwrittenDelegate[];
  readonly others: readonly Overwritten[];
}

const ABSENT = 0;
const PRESENT = 1;

export function encodeUndo({ accounts, delegates, others }: OverwrittenValues): Buffer {
  const record = new RecordWriter();
  for (const { address, before } of accounts) {
    record.sizedOf(() => {
      record.byte(TABLES.accounts.number);
      record.ascii(address);
    });
    record.byte(before === undefined ? ABSENT : PRESENT);
    if (before !== undefined) record.sizedOf(() => writeAccount(record, before));
  }
  for (const { publicKey, before } of delegates) {
    record.sized(TABLES.delegates.key(publicKey));
    record.byte(before === undefined ? ABSENT : PRESENT);
    if (before !== undefined) record.sizedOf(() => writeDelegate(record, before));
  }
  for (const { key, before } of others) {
    record.sized(key);
    record.byte(before === undefined ? ABSENT : PRESENT);
    if (before !== undefined) record.sized(before);
  }
  return record.bytes();
}

export function decodeUndo(bytes: Buffer): readonly Overwritten[] {
  const record = new RecordReader(bytes);
  const overwritten: Overwritten[] = [];
  while (!record.done) {
    const key = record.sized();
    overwritten.push({ key, before: record.byte() === PRESENT ? record.sized() : undefined });
  }
  return overwritten;
}
