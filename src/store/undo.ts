/**
 * What a block overwrote in the tables of consensus state: each key with its value before, or that it had none. Indexes,
 * counters and the block itself are left out: they follow from these values and from the stored block.
 */

import { RecordReader, RecordWriter } from './records.ts';

export interface Overwritten {
  readonly key: Buffer;
  readonly before: Buffer | undefined;
}

const ABSENT = 0;
const PRESENT = 1;

export function encodeUndo(overwritten: readonly Overwritten[]): Buffer {
  const record = new RecordWriter();
  for (const { key, before } of overwritten) {
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
