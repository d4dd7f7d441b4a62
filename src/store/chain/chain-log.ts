/**
 * Keeps a log of the changes of the chain. The database transaction that applies or reverts a block also adds a
 * numbered record to the log. The chain and the log therefore agree. The only exception is a tool that changes the
 * chain without opening the log. The record of a revert contains the whole reverted block, because the chain no longer
 * has the block.
 */

import type { ChainLog, ChainRecord } from '../../ports/chain-log.ts';
import type { NoteName } from '../../ports/notes.ts';
import type { ChainWriter } from '../../ports/store.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { Block } from '../../protocol/types.ts';
import { TABLES } from '../tables/layout.ts';
import type { StoredChain } from './stored-chain.ts';

export interface ChainLogOptions {
  /** Computes the finalized height of a state. */
  readonly finalizedHeight: (state: StateReader) => number;
  /** Maximum number of records in the log. When the log is full, each new record deletes the oldest record. */
  readonly recordsMax?: number;
}

/**
 * Default for `recordsMax`. With slots of 10 s and one record in each slot, this number of records covers about eleven
 * days. The records take about ten megabytes.
 */
const RECORDS_MAX = 100_000;
/**
 * Maximum number of old records that a new record deletes. If a tool has changed the chain without opening the log, the
 * log must delete all earlier records. Deleting a hundred thousand records in one step would take so long that a block
 * would be delayed.
 */
const DELETED_AT_ONCE_MAX = 100;
const HEAD = 'chain-log-head';

interface Head {
  /**
   * Number of the newest record; 0 for a new log. If a tool has changed the chain without adding records to the log,
   * `openHead` skips one record number. This member is then the skipped number, until the log gets its next record.
   */
  readonly last: number;
  /** Number of the oldest record that the log still returns; `last` + 1 if the log returns no record. */
  readonly floor: number;
  /**
   * Highest finalized height that the state has had since the log began. A revert can lower the finalized height of the
   * state, but this member never becomes lower.
   */
  readonly finalized: number;
  /**
   * Id of the chain's tip (its highest block) directly after the newest record was written. If no record has been
   * written since the log was opened, this member is the id of the tip at the opening. The member is undefined if the
   * chain has no block.
   */
  readonly tipId: string | undefined;
}

/** Opens the log of a store. After this call, each change of the chain through this store adds a record. */
export function createChainLog(store: StoredChain, options: ChainLogOptions): ChainLog {
  const recordsMax = options.recordsMax ?? RECORDS_MAX;
  let head = openHead(store, options.finalizedHeight(store));

  const write = (writer: ChainWriter, kind: ChainRecord['kind'], block: Block): void => {
    const last = head.last + 1;
    const finalized = Math.max(head.finalized, options.finalizedHeight(writer));
    const record: Saved = {
      kind,
      height: block.height,
      blockId: block.id,
      finalizedBefore: head.finalized,
      finalizedAfter: finalized,
      ...(kind === 'reverted' ? { content: contentOf(store, block) } : {}),
    };
    writer.setNote(keyOf(last), bytesOf(record));
    const floor = Math.max(head.floor, last - recordsMax + 1);
    for (const old of recordsBelow(store, floor)) writer.setNote(old, undefined);
    head = { last, floor, finalized, tipId: writer.tip()?.id };
    writer.setNote(HEAD, bytesOf(head));
  };

  store.recordWith({
    begin: () => {
      const before = head;
      return () => {
        head = before;
      };
    },
    record: write,
  });

  const savedAt = (sequence: number): Saved | undefined => {
    const note = store.note(keyOf(sequence));
    return note === undefined ? undefined : (JSON.parse(Buffer.from(note).toString('utf8')) as Saved);
  };

  // Searches the records from number `from` on. Returns the first record of the revert of a block at `height`;
  // undefined if there is no such record. Each record moves the tip by one block, so the search can skip records.
  // Example: the search looks for a revert of block 90 (the block at height 90), and record 500 reports that block 100
  // was applied. If all following records are reverts, record 501 reverts block 100, record 502 block 99, and record
  // 511 block 90. No record before record 511 can revert block 90, so the search continues at record 511.
  const firstRevert = (height: number, from: number): Found | undefined => {
    for (let sequence = Math.max(from, head.floor); sequence <= head.last;) {
      const found = savedAt(sequence);
      if (found?.kind === 'reverted' && found.height === height) return { sequence, ...found };
      const tipHeight = found?.kind === 'reverted' ? found.height - 1 : found?.height;
      sequence += 1 + Math.abs((tipHeight ?? height) - height);
    }
    return undefined;
  };

  return {
    last: () => head.last,
    floor: () => head.floor,
    finalized: () => head.finalized,
    records(from, limit) {
      const records: ChainRecord[] = [];
      for (let sequence = Math.max(from, head.floor); sequence <= head.last && records.length < limit; sequence += 1) {
        const found = savedAt(sequence);
        if (found !== undefined) records.push(recordOf({ sequence, ...found }));
      }
      return records;
    },
    firstRevert(height, from) {
      const found = firstRevert(height, from);
      return found === undefined ? undefined : recordOf(found);
    },
    block({ sequence, height, blockId }) {
      const block = store.block(height);
      if (block?.id === blockId) return block;
      // If the chain no longer has the block, the record of the block's revert contains the block. The search begins
      // with the given record, because this record can itself be the record of the revert.
      const found = firstRevert(height, sequence);
      return found?.blockId === blockId ? blockOf(store, found.content) : undefined;
    },
  };
}

/**
 * The head of the log contains the numbers of the newest and the oldest record, and further values about the whole log.
 * This function reads the head, or makes the head of a new log. If a tool has changed the chain without adding records
 * to the log, this function skips one record number. From then on, the log no longer returns the records below this
 * number. A client of the event stream that asks for these records therefore notices that changes are missing.
 */
function openHead(store: StoredChain, finalized: number): Head {
  const tipId = store.tip()?.id;
  const saved = store.note(HEAD);
  if (saved === undefined) return { last: 0, floor: 1, finalized, tipId };
  const head = JSON.parse(Buffer.from(saved).toString('utf8')) as Head;
  if (head.tipId === tipId) return head;
  return { last: head.last + 1, floor: head.last + 2, finalized: Math.max(head.finalized, finalized), tipId };
}

/**
 * The store keeps each record of the log as a note (a small value with a name). This function returns the names of the
 * notes of the oldest records whose numbers are below `floor`, at most `DELETED_AT_ONCE_MAX` names.
 */
function recordsBelow({ tables }: StoredChain, floor: number): readonly NoteName[] {
  const range = { gte: TABLES.notes.key(keyOf(0)), lt: TABLES.notes.key(keyOf(floor)), limit: DELETED_AT_ONCE_MAX };
  return Array.from(tables.keys(range), (key) => TABLES.notes.read(key)[0]);
}

interface Saved extends Omit<ChainRecord, 'sequence'> {
  /**
   * The header and the transactions of a reverted block, in their stored form and encoded as base64. This member is
   * absent in the record of an applied block.
   */
  readonly content?: readonly string[];
}

interface Found extends Saved {
  readonly sequence: number;
}

function recordOf({ content: _content, ...record }: Found): ChainRecord {
  return record;
}

function keyOf(sequence: number): NoteName {
  return `chain-log/${sequence.toString().padStart(15, '0')}`;
}

function bytesOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

function contentOf({ codec }: StoredChain, { transactions, ...header }: Block): readonly string[] {
  const parts = [
    codec.encodeHeader(header),
    ...transactions.map((transaction) => codec.encodeTransaction(transaction)),
  ];
  return parts.map((bytes) => Buffer.from(bytes).toString('base64'));
}

function blockOf({ codec }: StoredChain, content: readonly string[] | undefined): Block | undefined {
  const [header, ...transactions] = (content ?? []).map((text) => Buffer.from(text, 'base64'));
  if (header === undefined) return undefined;
  return { ...codec.decodeHeader(header), transactions: transactions.map((bytes) => codec.decodeTransaction(bytes)) };
}
