/**
 * The indexes of transactions as of the chain's end, or of a height below it: while many blocks are appended and nobody asks,
 * they may lag. Most entries of a hundred blocks come to places far apart; of some thousand blocks ten stand
 * side by side, and ten are written as fast as one.
 *
 * How far they have come stands in the store, in the transaction of the first block that they lack. What they lack is kept in
 * memory beside that, and read again from the blocks where it is not known.
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

/** Ids of the store that are read before blocks are appended by the thousand: a fraction of a second. */
const IDS_READ_MAX = 200_000;
/** Pages that a transaction changes during a backfill: they are in memory until its end, 4 KB each. */
const PAGES_PER_TRANSACTION = 3_000;
/** Transactions that are read again from the blocks at once, some ten megabytes: a watermark may be as old as the chain. */
const TRANSACTIONS_AT_ONCE = 100_000;

/** Bounds of a backfill. */
export interface BackfillLimits {
  /** A transaction ends after so many changed pages. */
  readonly pagesMax?: number;
  /** So many transactions are read again from the blocks at once, and those of the block that they end with. */
  readonly transactionsMax?: number;
}

export class DeferredIndexes {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #lists: TransactionLists;
  /**
   * The index watermark: transactions above this height stand in no index; undefined when all do. Not known before it is asked
   * for.
   */
  #knownWatermark: { readonly height: number | undefined } | undefined;
  /** Whether what the indexes lack is in memory, or the first part of it. */
  #isLoaded = false;
  /** Height that this part ends with; undefined where nothing is missing behind it. */
  #partEnd: number | undefined;
  #isDeferring = false;
  #isBackfilling = false;

  /** @param shortListMax items of a list that is not kept sorted */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#lists = new TransactionLists(keys, codec, shortListMax);
  }

  /** Blocks and transactions that the indexes lack. */
  get lag(): number {
    const watermark = this.#watermark;
    if (watermark === undefined) return 0;
    const tip = tipHeight(this.#keys);
    const from = Math.min(watermark, tip);
    return transactionTotal(this.#keys, tip) - transactionTotal(this.#keys, from) + tip - from;
  }

  /** From here on blocks are appended by the thousand: indexes lag with each, until the backfill. */
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

  /** The highest transaction of the chain leaves. The indexes have no lag. */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    this.#lists.remove(keys, transaction, place);
  }

  /** Ends a transaction of the store: writes what has joined, or takes note that it is missing. */
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

  /** Writes what is missing within a running transaction of the store. */
  backfillWithin(keys: CountedWriter): void {
    assert(!this.#isBackfilling, 'one backfill runs at a time');
    if (this.#watermark !== undefined) this.#loadAllPending();
    for (const write of this.#lists.chunks(0)) write(keys);
    this.#endBackfill(keys);
  }

  /**
   * Writes what is missing, in transactions that end soon: one for each step. The store may be closed, or its process killed,
   * between any two. What is not in memory is read again and written part by part, each of which is done for good.
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
      // Left in the middle: a part is not what is missing.
      if (this.#partEnd !== undefined) this.forget();
    }
  }

  *#backfillLoaded(keyValue: CountedKeySets, pagesMax: number): Iterable<void> {
    const chunks = this.#lists.chunks(transactionTotal(this.#keys, tipHeight(this.#keys)))[Symbol.iterator]();
    for (let isDone = false; !isDone;) {
      // A transaction that failed between two steps has dropped it, and chunks of nothing must not end this.
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

  /** Drops what is in memory after a failed transaction. */
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

  /** @param to height of the last block that counts, when it is not the tip: later ones join the batch as they come */
  #loadAllPending(to?: number): void {
    assert(this.#partEnd === undefined, 'nobody asks for ids during a backfill in chunks');
    if (!this.#isLoaded) this.#loadPending(to ?? tipHeight(this.#keys), Infinity);
  }

  /** Reads what the indexes lack again from the blocks up to a height, or a first part of it. */
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

  /** @throws ProtocolError `STORE_UNREADABLE` naming the block: damaged bytes make every kind of error in those who decode them */
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
