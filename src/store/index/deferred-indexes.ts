/**
 * Writes the indexes of transactions. While many blocks are appended, the indexes can lag behind the chain. During this
 * time, the processes that answer HTTP requests (reading processes) keep their last snapshot with complete indexes. A
 * new reading process first waits until the indexes are complete.
 *
 * Writing the index entries of many blocks together is faster than writing the entries block by block. The reason: in
 * an index, the entries of a hundred blocks are mostly far apart, but the entries of several thousand blocks form
 * groups of about ten neighbouring entries. Writing such a group takes as long as writing one entry.
 *
 * The index watermark is the height up to which the indexes contain all transactions. The first commit that appends a
 * block without the index entries of the block's transactions writes the index watermark, too. The process keeps the
 * missing entries in memory. After a restart, the new process computes the missing entries from the blocks. A backfill
 * writes the missing entries into the indexes.
 */

import { assert, messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { BackfillLimits, TransactionPlace } from '../../ports/store.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Transaction, TransactionId } from '../../protocol/types.ts';
import type { CountedKeySets, CountedWriter } from './counted-key-sets.ts';
import { readIndexWatermark, writeIndexWatermark } from './index-watermark.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { heightWithTransactions, transactionsAt, transactionTotal } from '../tables/stored-transactions.ts';
import { TransactionLists } from './transaction-lists.ts';

/**
 * If the chain has at most this number of transactions, `defer` puts the ids of all transactions into a Bloom filter.
 * If the chain has more transactions, `defer` creates no Bloom filter. Reading this number of ids takes a fraction of a
 * second.
 */
const IDS_READ_MAX = 200_000;
/**
 * Approximate number of pages that one database transaction of a backfill changes. Each changed page takes 4 KB of
 * memory until the end of the database transaction.
 */
const PAGES_PER_TRANSACTION = 3_000;
/**
 * Default for `BackfillLimits.transactionsMax`. The missing entries of this number of transactions take about forty
 * megabytes of memory. Without this limit, the missing entries could fill the memory, because the indexes can lack
 * nearly all transactions of a long chain.
 */
const TRANSACTIONS_AT_ONCE = 400_000;

export class DeferredIndexes {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #lists: TransactionLists;
  /**
   * The index watermark; undefined before the first use and after `forget`. For blocks above `height`, the indexes can
   * lack entries of transactions. If `height` is undefined, the indexes have all transactions of the committed blocks.
   */
  #knownWatermark: { readonly height: number | undefined } | undefined;
  /**
   * True if the transactions above the watermark are in memory: either all of them, or only the first part (see
   * `#partEnd`).
   */
  #isLoaded = false;
  /**
   * If only the first part of the missing transactions is in memory, this member is the height of the block with the
   * last of these transactions. If all or none of the missing transactions are in memory, the member is undefined.
   */
  #partEnd: number | undefined;
  #isDeferring = false;
  #isBackfilling = false;
  /** Number of times that `forget` was called. */
  #drops = 0;

  /**
   * @param shortListMax maximum number of transactions in a short list of a transaction type. For an address, the
   *   maximum applies to its two lists (sent and received) together. The store keeps a short list only in the order of
   *   the chain. The store keeps a long list in several sort orders
   */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#lists = new TransactionLists(keys, codec, shortListMax);
  }

  /**
   * Number of blocks above the index watermark plus the number of transactions in these blocks; 0 without a watermark.
   * The watermark is the height up to which the indexes contain all transactions.
   */
  get lag(): number {
    const watermark = this.#watermark;
    if (watermark === undefined) return 0;
    const tip = tipHeight(this.#keys);
    const from = Math.min(watermark, tip);
    return transactionTotal(this.#keys, tip) - transactionTotal(this.#keys, from) + tip - from;
  }

  /**
   * Call this method before thousands of blocks are appended. From this call until the call of `resume`, `flush` writes
   * no index entries. During this time, only a backfill writes index entries.
   */
  defer(): void {
    if (transactionTotal(this.#keys, tipHeight(this.#keys)) <= IDS_READ_MAX) this.#lists.fillBloomFilter();
    this.#isDeferring = true;
  }

  /**
   * Ends the effect of `defer`. From now on, `flush` writes all missing entries. Call this method after a backfill.
   * Without the backfill, `flush` would write many missing entries in one long transaction.
   */
  resume(): void {
    this.#isDeferring = false;
    this.#lists.dropBloomFilter();
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

  /**
   * Removes a transaction of the highest block from the indexes. Before the call, the indexes must contain all
   * transactions.
   */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    this.#lists.remove(keys, transaction, place);
  }

  /**
   * The store calls this method at the end of each database transaction. If indexing is not deferred, the method writes
   * all missing entries. If indexing is deferred, the method writes no entries. In this case, the method writes the
   * index watermark (the height up to which the indexes contain all transactions) if two conditions hold: entries are
   * missing, and the indexes had no lag before this database transaction. Between two steps of a backfill, the method
   * writes nothing.
   */
  flush(keys: CountedWriter): void {
    if (this.#isBackfilling) return;
    if (!this.#isDeferring) {
      if (this.#lists.pending > 0 || this.#watermark !== undefined) this.backfillWithin(keys);
      return;
    }
    if (this.#lists.pending === 0) return;
    if (this.#watermark === undefined) {
      const first = this.#lists.firstPending;
      assert(first !== undefined, 'pending transactions have a first height');
      this.#mark(keys, first.height - 1);
      this.#isLoaded = true;
    }
  }

  /** Writes the missing entries within a running database transaction. */
  backfillWithin(keys: CountedWriter): void {
    assert(!this.#isBackfilling, 'one backfill runs at a time');
    if (this.#watermark !== undefined) this.#loadAllPending();
    for (const write of this.#lists.chunks(0)) write(keys);
    this.#endBackfill(keys);
  }

  /**
   * Writes the missing entries in steps. Each step of the returned iterable writes some of the entries in one short
   * database transaction. If the store is closed or the process is killed between two steps, a later backfill completes
   * the work. If the missing entries are not in memory, the method computes them from the blocks, in parts of about
   * `transactionsMax` transactions. The method writes each part before it computes the next part.
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
      // If the caller stopped before the end of the backfill, perhaps only a part of the missing entries is in memory.
      // `place` and `add` need either all missing entries in memory, or none.
      if (this.#partEnd !== undefined) this.forget();
    }
  }

  *#backfillLoaded(keyValue: CountedKeySets, pagesMax: number): Iterable<void> {
    const chunks = this.#lists.chunks(transactionTotal(this.#keys, tipHeight(this.#keys)))[Symbol.iterator]();
    const drops = this.#drops;
    for (let isDone = false; !isDone;) {
      // Between two iterations of this loop, a database transaction can fail. After such a failure, `forget` drops the
      // pending entries (the index entries that are not written yet) from memory, and a lookup can load pending entries
      // again. The remaining chunks belong to the dropped entries, so perhaps these chunks do not write all entries
      // that were loaded again. Without this check, the backfill would then end as if all entries were written,
      // although the indexes lack some entries.
      assert(this.#isLoaded && this.#drops === drops, 'the pending entries are in memory until the backfill ends');
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

  /** Drops the pending entries and the known watermark, for example after a failed database transaction. */
  forget(): void {
    this.#drops += 1;
    this.#lists.forget();
    this.#isLoaded = false;
    this.#partEnd = undefined;
    this.#knownWatermark = undefined;
  }

  get #watermark(): number | undefined {
    this.#knownWatermark ??= { height: readIndexWatermark(this.#keys) };
    return this.#knownWatermark.height;
  }

  /**
   * @param to height of the last block to load; by default the tip. The caller adds the transactions of later blocks
   *   one by one
   */
  #loadAllPending(to?: number): void {
    assert(this.#partEnd === undefined, 'no id is queried during a backfill in chunks');
    if (!this.#isLoaded) this.#loadPending(to ?? tipHeight(this.#keys), Infinity);
  }

  /**
   * Reads the missing transactions from the blocks up to a height. If more than `transactionsMax` transactions are
   * missing, the method stops after the block in which it reaches this number.
   */
  #loadPending(to: number, transactionsMax: number): void {
    const from = this.#watermark;
    assert(from !== undefined && this.#lists.pending === 0, 'the pending entries are loaded once');
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
   * @throws ProtocolError `STORE_UNREADABLE` with the height of the block. Damaged bytes cause many kinds of errors in
   *   the decoder. The method replaces each of these errors by `STORE_UNREADABLE`
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
    writeIndexWatermark(keys, watermark);
    this.#knownWatermark = { height: watermark };
  }
}

function tipHeight(keys: KeyValueReader): number {
  const [last] = keys.keys({ ...TABLES.headers.all, reverse: true, limit: 1 });
  return last === undefined ? 0 : TABLES.headers.read(last)[0];
}
