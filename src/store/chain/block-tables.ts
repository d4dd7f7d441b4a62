/** Stores blocks and transactions in tables, with their indexes. */

import { LruMap } from '../../primitives/bounded.ts';
import { u64be, writeU64BE } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import { headerOf } from '../../protocol/block/header.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../../protocol/types.ts';
import type { CountedWriter } from '../index/counted-key-sets.ts';
import { blockEntries } from '../index/indexes.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { DeferredIndexes } from '../index/deferred-indexes.ts';
import { TABLES } from '../tables/layout.ts';
import { EMPTY, heightAtEnd, heightBytes } from '../tables/ordered-bytes.ts';
import {
  putTransactions,
  removeTransactions,
  transactionAt,
  transactionsAt,
  transactionTotal,
} from '../tables/stored-transactions.ts';

/**
 * Maximum number of entries in the cache that stores, for each delegate, the number of blocks that the delegate has
 * forged. A round has fewer delegates than this maximum, so nearly all reads find the number in the cache.
 */
const GENERATORS_CACHED_MAX = 512;
/**
 * Number of blocks that one generator (a delegate that forges blocks) has forged. These blocks are a list in the table
 * `blocksByGenerator`. The number changes when a block of this generator is appended or removed.
 */
interface List {
  items: number;
}

export class BlockTables {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #generators = new LruMap<PublicKey, List>(GENERATORS_CACHED_MAX);
  /**
   * Height of the last appended block, and number of transactions in all blocks up to this height. To append the next
   * block, the class needs this number of transactions. If this member is undefined, the class reads the number from
   * the table `transactionTotals`.
   */
  #total: { readonly height: number; readonly transactions: number } | undefined;
  readonly #indexes: DeferredIndexes;

  /**
   * @param shortListMax maximum number of transactions in a short list. The list of the transactions of one type is
   *   short if it has at most this number of transactions. The two lists of an address (sent and received) are short if
   *   they have at most this number of transactions together. The entries of a short list are stored only in the order
   *   of the chain. The entries of all other lists are also stored in other sort orders, for example by amount
   */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#indexes = new DeferredIndexes(keys, codec, shortListMax);
  }

  block(header: BlockHeader): Block {
    return { ...header, transactions: transactionsAt(this.#keys, this.#codec, header.height) };
  }

  heightOf(id: BlockId): number | undefined {
    const value = this.#keys.get(TABLES.blockIds.key(id));
    return value === undefined ? undefined : heightAtEnd(value);
  }

  transactionPlace(id: TransactionId): TransactionPlace | undefined {
    return this.#indexes.place(id);
  }

  transaction(place: TransactionPlace): Transaction | undefined {
    return transactionAt(this.#keys, this.#codec, place);
  }

  /** Returns the indexes of transactions. */
  get indexes(): DeferredIndexes {
    return this.#indexes;
  }

  /** Drops the cached values after a failed database transaction. */
  rollback(): void {
    this.#indexes.forget();
    this.#generators.clear();
    this.#total = undefined;
  }

  /**
   * Stores a block and returns the header of the block. The index entries of the block's transactions stay in memory
   * until the next call of `write`. If indexing is deferred, these entries stay in memory until a later backfill.
   */
  append(keys: KeyValueWriter, block: Block): BlockHeader {
    const { transactions } = block;
    const header = headerOf(block);
    const { height } = header;
    keys.put(TABLES.headers.key(height), this.#codec.encodeHeader(header));
    keys.put(TABLES.blockIds.key(header.id), heightBytes(height));
    for (const entry of blockEntries(header)) keys.put(entry, EMPTY, true);
    const parent = this.#total?.height === height - 1 ? this.#total : undefined;
    const before = parent?.transactions ?? transactionTotal(keys, height - 1);
    const total = before + transactions.length;
    keys.put(TABLES.transactionTotals.key(height), u64be(BigInt(total)));
    this.#total = { height, transactions: total };
    putTransactions(keys, this.#codec, height, transactions);
    this.#appendToGenerator(keys, header);
    for (const [index, transaction] of transactions.entries()) {
      this.#indexes.add(transaction, { height, index });
    }
    return header;
  }

  /**
   * Writes the pending index entries. The caller calls this method at the end of each `transact` of the store. If
   * indexing is deferred, the entries stay in memory instead.
   */
  write(keys: CountedWriter): void {
    this.#indexes.flush(keys);
  }

  /**
   * Removes the highest block with all its index entries. If the indexes of transactions lag behind the chain, this
   * method first writes the missing entries.
   */
  removeLast(keys: CountedWriter, block: Block): void {
    this.#indexes.backfillWithin(keys);
    const { height } = block;
    keys.remove(TABLES.headers.key(height));
    keys.remove(TABLES.blockIds.key(block.id));
    for (const entry of blockEntries(block)) keys.remove(entry, true);
    removeTransactions(keys, height, block.transactions);
    keys.remove(TABLES.transactionTotals.key(height));
    this.#total = undefined;
    const list = this.#ofGenerator(block.generatorPublicKey);
    list.items -= 1;
    keys.remove(TABLES.blocksByGenerator.key(block.generatorPublicKey, list.items));
    for (const [index, transaction] of block.transactions.entries()) {
      this.#indexes.remove(keys, transaction, { height, index });
    }
  }

  #appendToGenerator(keys: KeyValueWriter, header: BlockHeader): void {
    const list = this.#ofGenerator(header.generatorPublicKey);
    const { items } = list;
    const before = items === 0 ? undefined : generatorBlock(keys, header.generatorPublicKey, items - 1);
    const value = encodeGeneratorBlock({
      height: header.height,
      timestampS: header.timestamp,
      feesSum: (before?.feesSum ?? 0n) + header.totalFee,
      rewardsSum: (before?.rewardsSum ?? 0n) + header.reward,
    });
    keys.put(TABLES.blocksByGenerator.key(header.generatorPublicKey, items), value);
    list.items += 1;
  }

  #ofGenerator(publicKey: PublicKey): List {
    const cached = this.#generators.get(publicKey);
    if (cached !== undefined) return cached;
    const list = { items: generatorBlocks(this.#keys, publicKey) };
    this.#generators.set(publicKey, list);
    return list;
  }
}

/** Returns the number of blocks that a generator has forged. */
export function generatorBlocks(keys: KeyValueReader, publicKey: PublicKey): number {
  const [last] = keys.keys({ ...TABLES.blocksByGenerator.range(publicKey), reverse: true, limit: 1 });
  return last === undefined ? 0 : TABLES.blocksByGenerator.read(last)[1] + 1;
}

/** An entry in the list of a generator's blocks. */
export interface GeneratorBlock {
  readonly height: number;
  readonly timestampS: number;
  /** Sum of the fees of this block and all earlier blocks of the generator, in beddows. */
  readonly feesSum: bigint;
  /** Sum of the rewards of this block and all earlier blocks of the generator, in beddows. */
  readonly rewardsSum: bigint;
}

/** @param ordinal position in the generator's list; the first position is 0 */
export function generatorBlock(keys: KeyValueReader, publicKey: PublicKey, ordinal: number): GeneratorBlock {
  const value = keys.get(TABLES.blocksByGenerator.key(publicKey, ordinal));
  assert(value !== undefined, 'a list holds an item at each position below its length');
  return {
    height: value.readUInt32BE(0),
    timestampS: value.readUInt32BE(4),
    feesSum: value.readBigUInt64BE(8),
    rewardsSum: value.readBigUInt64BE(16),
  };
}

function encodeGeneratorBlock(block: GeneratorBlock): Buffer {
  const value = Buffer.allocUnsafe(24);
  value.writeUInt32BE(block.height, 0);
  value.writeUInt32BE(block.timestampS, 4);
  writeU64BE(value, block.feesSum, 8);
  writeU64BE(value, block.rewardsSum, 16);
  return value;
}
