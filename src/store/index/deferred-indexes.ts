/**
 * The indexes of transactions. While many blocks are appended and nobody queries them, the indexes may lag behind the
 * chain, because writing the entries of many blocks at once is faster. The entries of a hundred blocks are mostly far
 * apart in the index. Among the entries of some thousand blocks, about ten are next to each other, and ten neighbours
 * are written as fast as one entry.
 *
 * The index watermark is saved in the store, in the transaction of the first block that the indexes lack. The missing
 * entries are also kept in memory; a new process reads them again from the blocks.
 */

import { assert, messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Transaction, TransactionId } from '../../protocol/types.ts';
import type { CountedKeySets, CountedWriter } from './counted-key-sets.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { layoutOf, layoutText, META_LAYOUT, TABLES } from '../tables/layout.ts';
import { heightWithTransactions, transactionsAt, transactionTotal } from '../tables/stored-transactions.ts';
import { TransactionLists } from './transaction-lists.ts';

/** Up to so many stored ids are read before thousands of blocks are appended; that takes a fraction of a second. */
const IDS_READ_MAX = 200_000;
/**
 * Number of pages that one transaction of a backfill changes. The pages stay in memory until the end of the
 * transaction, 4 KB each.
 */
const PAGES_PER_TRANSACTION = 3_000;
/**
 * Transactions that are read again from the blocks at once, about ten megabytes. The number is limited, because the
 * watermark may be at the start of a long chain.
 */
const TRANSACTIONS_AT_ONCE = 100_000;

/** Limits of a backfill. */
export interface BackfillLimits {
  /** A transaction ends after so many changed pages. */
  readonly pagesMax?: number;
  /** Number of transactions that are read from the blocks at once; the last block is always read to its end. */
  readonly transactionsMax?: number;
}

export class DeferredIndexes {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #lists: TransactionLists;
  /**
   * The index watermark: transactions above this height are in no index; its height is undefined when all are.
   * Undefined before the first use.
   */
  #knownWatermark: { readonly height: number | undefined } | undefined;
  /** True when the missing transactions, or the first part of them, are in memory. */
  #isLoaded = false;
  /** Last height of that part; undefined when nothing is missing above it. */
  #partEnd: number | undefined;
  #isDeferring = false;
  #isBackfilling = false;

  /**
   * @param shortListMax largest number of items in a list that is not kept sorted
   */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#lists = new TransactionLists(keys, codec, shortListMax);
  }

  /** Number of blocks and transactions that the indexes lack. */
  get lag(): number {
    const watermark = this.#watermark;
    if (watermark === undefined) return 0;
    const tip = tipHeight(this.#keys);
    const from = Math.min(watermark, tip);
    return transactionTotal(this.#keys, tip) - transactionTotal(this.#keys, from) + tip - from;
  }

  /** Announces that thousands of blocks follow: from now on the indexes lag behind them, until the backfill. */
  defer(): void {
    this.#isDeferring = true;
    if (transactionTotal(this.#keys, tipHeight(this.#keys)) <= IDS_READ_MAX) this.#lists.fillBloomFilter();
  }

  place(id: TransactionId): TransactionPlace | undefined {
    if (this.#watermark !== undefined) this.#loadAllPending();
    return this.#lists.place(id);
  }

  add(transaction: Transaction, place: TransactionPlace): void {
    assert(!this.#isBackfilling, 'nothing is appended during a backfill');
    if (this.#watermark !== undefined) this.#loadAllPending(place.height - 1);
    this.#lists.add(transaction, place);
  }

  /** Removes the highest transaction of the chain from the indexes, which must have no lag. */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    this.#lists.remove(keys, transaction, place);
  }

  /** Ends a transaction of the store: writes the pending entries or, when indexing is deferred, the watermark. */
  flush(keys: CountedWriter): void {
    if (this.#lists.pending === 0) return;
    if (!this.#isDeferring) this.backfillWithin(keys);
    else if (this.#watermark === undefined) {
      const first = this.#lists.firstPending;
      assert(first !== undefined, 'what is pending begins somewhere');
      this.#mark(keys, first.height - 1);
      this.#isLoaded = true;
    }
  }

  /** Writes the missing entries within a running transaction of the store. */
  backfillWithin(keys: CountedWriter): void {
    assert(!this.#isBackfilling, 'one backfill runs at a time');
    if (this.#watermark !== undefined) this.#loadAllPending();
    for (const write of this.#lists.chunks(0)) write(keys);
    this.#endBackfill(keys);
  }

  /**
   * Writes the missing entries, in one short transaction for each step. Between two steps, the store may be closed or
   * the process killed. Entries that are not in memory are read from the blocks in parts; each part that is written is
   * complete.
   */
  *backfill(keyValue: CountedKeySets, limits: BackfillLimits = {}): Iterable<void> {
    const { pagesMax = PAGES_PER_TRANSACTION, transactionsMax = TRANSACTIONS_AT_ONCE } = limits;
    assert(!this.#isBackfilling, 'one backfill runs at a time');
    this.#isBackfilling = true;
    try {
      while (this.#watermark !== undefined) {
        if (!this.#isLoaded) this.#loadPending(tipHeight(this.#keys), transactionsMax);
        yield* this.#backfillLoaded(keyValue, pagesMax);
      }
    } catch (error) {
      this.forget();
      throw error;
    } finally {
      this.#isBackfilling = false;
      // The caller stopped in the middle, so the part in memory is not all that is missing.
      if (this.#partEnd !== undefined) this.forget();
    }
  }

  *#backfillLoaded(keyValue: CountedKeySets, pagesMax: number): Iterable<void> {
    const chunks = this.#lists.chunks(transactionTotal(this.#keys, tipHeight(this.#keys)))[Symbol.iterator]();
    for (let isDone = false; !isDone;) {
      // A transaction that failed between two steps has dropped the pending entries. Then this backfill must not end as
      // if all were written.
      assert(this.#isLoaded, 'what indexes lack is in memory until the backfill ends');
      keyValue.transact((keys) => {
        for (let pages = 0; pages < pagesMax;) {
          const chunk = chunks.next();
          isDone = chunk.done === true;
          if (chunk.done === true) return this.#endBackfill(keys);
          pages += chunk.value(keys);
        }
      });
      yield;
    }
  }

  /** Drops the pending entries after a failed transaction. */
  forget(): void {
    this.#lists.forget();
    this.#isLoaded = false;
    this.#partEnd = undefined;
    this.#knownWatermark = undefined;
  }

  get #watermark(): number | undefined {
    this.#knownWatermark ??= {
      height: layoutOf(this.#keys.get(TABLES.meta.key(META_LAYOUT))?.toString() ?? '').watermark,
    };
    return this.#knownWatermark.height;
  }

  /**
   * @param to height of the last block to load, when it is not the tip: later blocks are added one by one
   */
  #loadAllPending(to?: number): void {
    assert(this.#partEnd === undefined, 'nobody asks for ids during a backfill in chunks');
    if (!this.#isLoaded) this.#loadPending(to ?? tipHeight(this.#keys), Infinity);
  }

  /** Reads the missing transactions from the blocks up to a height, or the first part of them. */
  #loadPending(to: number, transactionsMax: number): void {
    const from = this.#watermark;
    assert(from !== undefined && this.#lists.pending === 0, 'what indexes lack is loaded once');
    this.#isLoaded = true;
    let height: number | undefined = from;
    while ((height = heightWithTransactions(this.#keys, height, to)) !== undefined) {
      for (const [index, transaction] of this.#transactionsAt(height).entries()) {
        this.#lists.add(transaction, { height, index });
      }
      if (this.#lists.pending < transactionsMax) continue;
      if (heightWithTransactions(this.#keys, height, to) !== undefined) this.#partEnd = height;
      return;
    }
  }

  /**
   * @throws ProtocolError `STORE_UNREADABLE` with the height of the block: damaged bytes cause many kinds of errors in
   *   the decoders
   */
  #transactionsAt(height: number): readonly Transaction[] {
    try {
      return transactionsAt(this.#keys, this.#codec, height);
    } catch (error) {
      this.forget();
      const what = `the transactions of the block at height ${height}, which indexes lack, cannot be read: ${messageOf(error)}`;
      throw new ProtocolError('STORE_UNREADABLE', { height }, `The chain store is damaged: ${what}.`, { cause: error });
    }
  }

  #endBackfill(keys: CountedWriter): void {
    if (this.#watermark !== undefined) this.#mark(keys, this.#partEnd);
    this.#isLoaded = false;
    this.#partEnd = undefined;
  }

  #mark(keys: CountedWriter, watermark: number | undefined): void {
    keys.put(TABLES.meta.key(META_LAYOUT), Buffer.from(layoutText(watermark)));
    this.#knownWatermark = { height: watermark };
  }
}

function tipHeight(keys: KeyValueReader): number {
  const [last] = keys.keys({ ...TABLES.headers.all, reverse: true, limit: 1 });
  return last === undefined ? 0 : TABLES.headers.read(last)[0];
}
