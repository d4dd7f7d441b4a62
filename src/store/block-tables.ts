/** The tables of blocks and transactions, their indexes and the lists that grow at the tip and shrink from there. */

import { LruMap } from '../primitives/bounded.ts';
import { assert } from '../primitives/errors.ts';
import type { TransactionPlace } from '../ports/store.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../protocol/types.ts';
import { blockEntries, transactionEntries, transactionLists } from './indexes.ts';
import { afterPrefix, prefixRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import { LongLists } from './long-lists.ts';
import {
  EMPTY,
  heightAtEnd,
  heightBytes,
  heightKey,
  idKey,
  isU16,
  isU32,
  listItemKey,
  placeAtEnd,
  placeBytes,
  placeKey,
  publicKeyKey,
} from './layout.ts';

/** Lengths of lists in memory: those of the addresses and delegates that were lately used. */
const LIST_LENGTHS_CACHED_MAX = 8192;

/** A length in memory, counted up and down in place. */
interface ListLength {
  items: number;
}

export class BlockTables {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #listLengths = new LruMap<string, ListLength>(LIST_LENGTHS_CACHED_MAX);
  readonly #longLists: LongLists;

  /** @param shortListMax items of a list that is not kept sorted */
  constructor(keys: KeyValueReader, codec: Codec, shortListMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#longLists = new LongLists(
      {
        lengthOf: (list) => this.#length(list).items,
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
    const transactions: Transaction[] = [];
    const gte = placeKey({ height: header.height, index: 0 });
    for (const { value } of this.#keys.entries({ gte, lt: afterPrefix(gte.subarray(0, 5)) })) {
      transactions.push(this.#codec.decodeTransaction(value));
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

  transaction(place: TransactionPlace): Transaction | undefined {
    if (!isU32(place.height) || !isU16(place.index)) return undefined;
    const bytes = this.#keys.get(placeKey(place));
    return bytes === undefined ? undefined : this.#codec.decodeTransaction(bytes);
  }

  /** Drops what is in memory after a failed transaction. */
  forget(): void {
    this.#listLengths.clear();
  }

  /** Keeps a block with all its entries; returns its header. */
  append(keys: KeyValueWriter, block: Block): BlockHeader {
    const { transactions, ...header } = block;
    const { height } = header;
    keys.put(heightKey('headers', height), this.#codec.encodeHeader(header));
    keys.put(idKey('blockIds', header.id), heightBytes(height));
    for (const entry of blockEntries(header)) keys.put(entry, EMPTY, true);
    const total = transactionTotal(keys, height - 1) + transactions.length;
    keys.put(heightKey('transactionTotals', height), u64Bytes(BigInt(total)));
    this.#appendToGenerator(keys, header);
    for (const [index, transaction] of transactions.entries()) {
      const place = { height, index };
      const value = placeBytes(place);
      keys.put(placeKey(place), this.#codec.encodeTransaction(transaction));
      keys.put(idKey('transactionIds', transaction.id), value);
      for (const entry of transactionEntries(transaction, place)) keys.put(entry, EMPTY, true);
      for (const list of transactionLists(transaction)) this.#push(keys, list, value);
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
    keys.remove(heightKey('transactionTotals', height));
    this.#pop(keys, publicKeyKey('blocksByGenerator', block.generatorPublicKey));
    for (const [index, transaction] of block.transactions.entries()) {
      const place = { height, index };
      keys.remove(placeKey(place));
      keys.remove(idKey('transactionIds', transaction.id));
      for (const entry of transactionEntries(transaction, place)) keys.remove(entry, true);
      for (const list of transactionLists(transaction)) this.#pop(keys, list);
      this.#longLists.remove(keys, transaction, place);
    }
  }

  #appendToGenerator(keys: KeyValueWriter, header: BlockHeader): void {
    const list = publicKeyKey('blocksByGenerator', header.generatorPublicKey);
    const { items } = this.#length(list);
    const before = items === 0 ? undefined : generatorBlock(keys, header.generatorPublicKey, items - 1);
    const value = encodeGeneratorBlock({
      height: header.height,
      timestampS: header.timestamp,
      feesSum: (before?.feesSum ?? 0n) + header.totalFee,
      rewardsSum: (before?.rewardsSum ?? 0n) + header.reward,
    });
    this.#push(keys, list, value);
  }

  #push(keys: KeyValueWriter, list: Buffer, value: Buffer): void {
    const length = this.#length(list);
    keys.put(listItemKey(list, length.items), value);
    length.items += 1;
  }

  #pop(keys: KeyValueWriter, list: Buffer): void {
    const length = this.#length(list);
    assert(length.items > 0, 'what stands in a list was appended to it');
    keys.remove(listItemKey(list, length.items - 1));
    length.items -= 1;
  }

  #length(list: Buffer): ListLength {
    const text = list.toString('latin1');
    const cached = this.#listLengths.get(text);
    if (cached !== undefined) return cached;
    const length = { items: listLength(this.#keys, list) };
    this.#listLengths.set(text, length);
    return length;
  }
}

/** Number of items of a list that grows at its end. */
export function listLength(keys: KeyValueReader, list: Buffer): number {
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
  value.writeBigUInt64BE(block.feesSum, 8);
  value.writeBigUInt64BE(block.rewardsSum, 16);
  return value;
}

function u64Bytes(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
