/** The tables of blocks and transactions, their indexes and the lists that grow at the tip and shrink from there. */

import { LruMap } from '../primitives/bounded.ts';
import { u64be, writeU64BE } from '../primitives/bytes.ts';
import { assert } from '../primitives/errors.ts';
import type { TransactionPlace } from '../ports/store.ts';
import { packTransactions, unpackTransaction, unpackTransactions } from '../protocol/block/packed-block.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../protocol/types.ts';
import type { CountedWriter } from './counted.ts';
import { blockEntries } from './indexes.ts';
import { afterPrefix, prefixRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import { TRANSACTIONS_PER_VALUE, TransactionLists } from './transaction-lists.ts';
import { heightKey, idKey, listItemKey, placeKey, publicKeyKey } from './layout.ts';
import { EMPTY, heightAtEnd, heightBytes, isU16, isU32, ownBuffer, placeAtEnd, placeBytes } from './ordered-bytes.ts';

/** Delegates whose lists are known in memory: more than any round has. */
const GENERATORS_CACHED_MAX = 512;
/** The list of a generator, its length counted up and down in place. */
interface List {
  readonly prefix: Buffer;
  items: number;
}

export class BlockTables {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #generators = new LruMap<PublicKey, List>(GENERATORS_CACHED_MAX);
  /** Transactions up to a height: a block needs those up to its parent. */
  #total: { readonly height: number; readonly transactions: number } | undefined;
  readonly #lists: TransactionLists;

  /** @param shortListMax items of a list that is not kept sorted */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#lists = new TransactionLists(keys, codec, shortListMax);
  }

  block(header: BlockHeader): Block {
    const gte = placeKey({ height: header.height, index: 0 });
    const transactions: Transaction[] = [];
    for (const { value } of this.#keys.entries({ gte, lt: afterPrefix(gte.subarray(0, 5)) })) {
      transactions.push(...unpackTransactions(value, this.#codec));
    }
    return { ...header, transactions };
  }

  heightOf(id: BlockId): number | undefined {
    const value = this.#keys.get(idKey('blockIds', id));
    return value === undefined ? undefined : heightAtEnd(value);
  }

  transactionPlace(id: TransactionId): TransactionPlace | undefined {
    const value = this.#keys.get(idKey('transactionIds', id));
    return value === undefined ? undefined : placeAtEnd(value);
  }

  transaction({ height, index }: TransactionPlace): Transaction | undefined {
    if (!isU32(height) || !isU16(index)) return undefined;
    const rest = index % TRANSACTIONS_PER_VALUE;
    const packed = this.#keys.get(placeKey({ height, index: index - rest }));
    return packed === undefined ? undefined : unpackTransaction(packed, rest, this.#codec);
  }

  /** Drops what is in memory after a failed transaction. */
  forget(): void {
    this.#lists.forget();
    this.#generators.clear();
    this.#total = undefined;
  }

  /** Keeps a block with all its entries; returns its header. */
  append(keys: KeyValueWriter, block: Block): BlockHeader {
    const { transactions, ...header } = block;
    const { height } = header;
    keys.put(heightKey('headers', height), this.#codec.encodeHeader(header));
    keys.put(idKey('blockIds', header.id), heightBytes(height));
    for (const entry of blockEntries(header)) keys.put(entry, EMPTY, true);
    const parent = this.#total?.height === height - 1 ? this.#total : undefined;
    const before = parent?.transactions ?? transactionTotal(keys, height - 1);
    const total = before + transactions.length;
    keys.put(heightKey('transactionTotals', height), u64be(BigInt(total)));
    this.#total = { height, transactions: total };
    for (const { index, part } of partsOf(transactions)) {
      keys.put(placeKey({ height, index }), packTransactions(part, this.#codec));
    }
    this.#appendToGenerator(keys, header);
    for (const [index, transaction] of transactions.entries()) {
      const place = { height, index };
      keys.put(idKey('transactionIds', transaction.id), placeBytes(place));
      this.#lists.add(keys, transaction, place);
    }
    return header;
  }

  /** Writes what the appended blocks have left behind. */
  flush(keys: CountedWriter): void {
    this.#lists.flush(keys);
  }

  /** Removes the highest block with all its entries. */
  removeLast(keys: CountedWriter, block: Block): void {
    this.#lists.flush(keys);
    const { height } = block;
    keys.remove(heightKey('headers', height));
    keys.remove(idKey('blockIds', block.id));
    for (const entry of blockEntries(block)) keys.remove(entry, true);
    for (const { index } of partsOf(block.transactions)) keys.remove(placeKey({ height, index }));
    keys.remove(heightKey('transactionTotals', height));
    this.#total = undefined;
    const list = this.#ofGenerator(block.generatorPublicKey);
    list.items -= 1;
    keys.remove(listItemKey(list.prefix, list.items));
    for (const [index, transaction] of block.transactions.entries()) {
      const place = { height, index };
      keys.remove(idKey('transactionIds', transaction.id));
      this.#lists.remove(keys, transaction, place);
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
    keys.put(listItemKey(list.prefix, items), value);
    list.items += 1;
  }

  #ofGenerator(publicKey: PublicKey): List {
    const cached = this.#generators.get(publicKey);
    if (cached !== undefined) return cached;
    const prefix = publicKeyKey('blocksByGenerator', publicKey);
    const list = { prefix: ownBuffer(prefix), items: generatorBlocks(this.#keys, publicKey) };
    this.#generators.set(publicKey, list);
    return list;
  }
}

/** The transactions of a block as they are stored together. */
function* partsOf(transactions: readonly Transaction[]): Iterable<{ index: number; part: readonly Transaction[] }> {
  for (let index = 0; index < transactions.length; index += TRANSACTIONS_PER_VALUE) {
    const isWhole = transactions.length <= TRANSACTIONS_PER_VALUE;
    yield { index, part: isWhole ? transactions : transactions.slice(index, index + TRANSACTIONS_PER_VALUE) };
  }
}

/** Number of blocks of a generator. */
export function generatorBlocks(keys: KeyValueReader, publicKey: PublicKey): number {
  const list = publicKeyKey('blocksByGenerator', publicKey);
  const [last] = keys.keys({ ...prefixRange(list), reverse: true, limit: 1 });
  return last === undefined ? 0 : last.readUInt32BE(last.length - 4) + 1;
}

/** Transactions of the chain up to this height. */
export function transactionTotal(keys: KeyValueReader, height: number): number {
  const bytes = height < 1 ? undefined : keys.get(heightKey('transactionTotals', height));
  return Number(bytes?.readBigUInt64BE() ?? 0n);
}

/** A block in the list of its generator. */
export interface GeneratorBlock {
  readonly height: number;
  readonly timestampS: number;
  /** Beddows, of this block and all earlier ones of the generator. */
  readonly feesSum: bigint;
  /** Beddows, likewise. */
  readonly rewardsSum: bigint;
}

/** @param ordinal position in the generator's list, from 0 */
export function generatorBlock(keys: KeyValueReader, publicKey: PublicKey, ordinal: number): GeneratorBlock {
  const value = keys.get(listItemKey(publicKeyKey('blocksByGenerator', publicKey), ordinal));
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
