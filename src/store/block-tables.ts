/** The tables of blocks and transactions, their indexes and the lists that grow at the tip and shrink from there. */

import { LruMap } from '../primitives/bounded.ts';
import { u64be, writeU64BE } from '../primitives/bytes.ts';
import { assert } from '../primitives/errors.ts';
import type { TransactionPlace } from '../ports/store.ts';
import { packTransactions, unpackTransaction, unpackTransactions } from '../protocol/block/packed-block.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Address, Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../protocol/types.ts';
import { blockEntries, recipientOf, transactionEntries } from './indexes.ts';
import { afterPrefix, prefixRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import { LongLists } from './long-lists.ts';
import {
  addressListKey,
  heightKey,
  idKey,
  listItemKey,
  listPlaceKey,
  placeKey,
  publicKeyKey,
  typeListKey,
} from './layout.ts';
import { EMPTY, heightAtEnd, heightBytes, isU16, isU32, ownBuffer, placeAtEnd, placeBytes } from './ordered-bytes.ts';

/**
 * Transactions of a block that are one value. All of a usual block are: it is written and read as a whole. A genesis block may
 * hold tens of thousands, and reading one of them should not take all from the disk.
 */
const TRANSACTIONS_PER_VALUE = 256;

/** Addresses whose lists are known in memory: those that were lately used. */
const ADDRESSES_CACHED_MAX = 4096;
/** Likewise of delegates that forge: more than any round has. */
const GENERATORS_CACHED_MAX = 512;
/** Likewise of types: more than any generation has. */
const TYPES_CACHED_MAX = 64;

/** A list with its length, counted up and down in place. Each is in one cache only, so that no two lengths can differ. */
interface List {
  readonly prefix: Buffer;
  items: number;
}

interface ListsOfAddress {
  readonly sent: List;
  readonly received: List;
}

export class BlockTables {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #addresses = new LruMap<Address, ListsOfAddress>(ADDRESSES_CACHED_MAX);
  readonly #generators = new LruMap<PublicKey, List>(GENERATORS_CACHED_MAX);
  readonly #types = new LruMap<number, List>(TYPES_CACHED_MAX);
  /** Transactions up to a height: a block needs those up to its parent. */
  #total: { readonly height: number; readonly transactions: number } | undefined;
  readonly #longLists: LongLists;

  /** @param shortListMax items of a list that is not kept sorted */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#longLists = new LongLists(
      {
        typeLength: (type) => this.#ofType(type).items,
        addressLength: (address) => {
          const { sent, received } = this.#ofAddress(address);
          return sent.items + received.items;
        },
        transaction: (place) => {
          const transaction = this.transaction(place);
          assert(transaction !== undefined, 'a list names transactions that are stored');
          return transaction;
        },
      },
      shortListMax,
    );
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
    this.#addresses.clear();
    this.#generators.clear();
    this.#types.clear();
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
      for (const entry of transactionEntries(transaction, place)) keys.put(entry, EMPTY, true);
      for (const list of this.#listsWith(transaction)) {
        keys.put(listPlaceKey(list.prefix, place), EMPTY, true);
        list.items += 1;
      }
      this.#longLists.add(keys, transaction, place);
    }
    return header;
  }

  /** Removes the highest block with all its entries. */
  removeLast(keys: KeyValueWriter, block: Block): void {
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
      for (const entry of transactionEntries(transaction, place)) keys.remove(entry, true);
      for (const list of this.#listsWith(transaction)) {
        keys.remove(listPlaceKey(list.prefix, place), true);
        list.items -= 1;
      }
      this.#longLists.remove(keys, transaction, place);
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

  /** Lists, in the order of the chain, that a transaction stands in. */
  #listsWith(transaction: Transaction): readonly List[] {
    const type = this.#ofType(transaction.type);
    const { sent } = this.#ofAddress(transaction.senderId);
    const recipientId = recipientOf(transaction);
    return recipientId === undefined ? [type, sent] : [type, sent, this.#ofAddress(recipientId).received];
  }

  #ofAddress(address: Address): ListsOfAddress {
    const cached = this.#addresses.get(address);
    if (cached !== undefined) return cached;
    const sent = this.#read(addressListKey('transactionsBySender', address));
    const received = this.#read(addressListKey('transactionsByRecipient', address));
    const lists = { sent, received };
    this.#addresses.set(address, lists);
    return lists;
  }

  #ofGenerator(publicKey: PublicKey): List {
    const cached = this.#generators.get(publicKey);
    if (cached !== undefined) return cached;
    const prefix = publicKeyKey('blocksByGenerator', publicKey);
    const list = { prefix: ownBuffer(prefix), items: generatorBlocks(this.#keys, publicKey) };
    this.#generators.set(publicKey, list);
    return list;
  }

  #ofType(type: number): List {
    const cached = this.#types.get(type);
    if (cached !== undefined) return cached;
    const list = this.#read(typeListKey(type));
    this.#types.set(type, list);
    return list;
  }

  #read(prefix: Buffer): List {
    return { prefix: ownBuffer(prefix), items: listLength(this.#keys, prefix) };
  }
}

/** The transactions of a block as they are stored together. */
function* partsOf(transactions: readonly Transaction[]): Iterable<{ index: number; part: readonly Transaction[] }> {
  for (let index = 0; index < transactions.length; index += TRANSACTIONS_PER_VALUE) {
    const isWhole = transactions.length <= TRANSACTIONS_PER_VALUE;
    yield { index, part: isWhole ? transactions : transactions.slice(index, index + TRANSACTIONS_PER_VALUE) };
  }
}

/** Number of items of a list of transactions. */
export function listLength(keys: KeyValueReader, list: Buffer): number {
  return keys.count(prefixRange(list));
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
