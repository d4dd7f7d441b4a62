/**
 * Defines the parts of the keys in the store. A part writes a value as bytes, finds the end of these bytes, and reads
 * the value back. The bytes sort like the values, with one exception: the bytes of the part `(address)` sort first by
 * the length of the address. `layout.ts` lists the parts of the keys of each table. A few other modules write and read
 * keys byte by byte, without these parts, because direct reads and writes take less time. For example, an import writes
 * millions of keys.
 */

import { writeU64BE } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import type { NoteName } from '../../ports/notes.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, PublicKey } from '../../protocol/types.ts';
import {
  HEIGHT_BYTES,
  isU16,
  orderedBigintAt,
  orderedBigintBytes,
  PLACE_BYTES,
  sizeOfBigint,
  writeOrderedBigint,
  writePlace,
  writeTimestamp,
  writeU32,
} from './ordered-bytes.ts';

/**
 * A kind of key part. The bytes of some kinds, such as `name`, do not show where the part ends. After such a part, a
 * key has only parts of a fixed size. The code therefore computes the end of the part from the length of the key.
 */
export interface KeyPart<T> {
  /** Description of the part, for docs/store-layout.md. */
  readonly description: string;
  /** Number of bytes of a value, if all values have the same number of bytes. */
  readonly bytes?: number;
  size(value: T): number;
  /** @returns position after the value */
  write(key: Buffer, value: T, at: number): number;
  /**
   * Position after the value that begins at `at`.
   *
   * @param rest the position at which the next part begins. This position is known only if all parts after this part
   *   have a fixed size; otherwise, the value is `NaN`
   */
  end(key: Buffer, at: number, rest: number): number;
  read(key: Buffer, at: number, end: number): T;
}

const U32_BYTES = 4;
const KEY_BYTES = 32;
const ADDRESS_BYTES_MAX = 255;

/**
 * Number of the table `transactionsByType`. This table has a list of transactions for each type. The keys of such a
 * list begin with a prefix of a fixed size: the table number and the transaction type. The prefixes of all other lists
 * contain an address, whose size varies.
 */
const TYPE_LIST = 52;

function fixed<T>(
  bytes: number,
  description: string,
  write: (key: Buffer, value: T, at: number) => void,
  read: (key: Buffer, at: number) => T,
): KeyPart<T> {
  return {
    description,
    bytes,
    size: () => bytes,
    write: (key, value, at) => {
      write(key, value, at);
      return at + bytes;
    },
    end: (_key, at) => at + bytes,
    read,
  };
}

function u32(description: string): KeyPart<number> {
  return fixed(
    U32_BYTES,
    description,
    (key, value, at) => writeU32(key, value, at),
    (key, at) => key.readUInt32BE(at),
  );
}

function u8(description: string): KeyPart<number> {
  return fixed(
    1,
    description,
    (key, value, at) => (key[at] = value),
    (key, at) => key[at] ?? 0,
  );
}

function text<T extends string>(description: string): KeyPart<T> {
  return {
    description,
    size: (value) => Buffer.byteLength(value),
    write: (key, value, at) => at + key.write(value, at),
    end: (_key, _at, rest) => rest,
    read: (key, at, end) => key.toString('utf8', at, end) as T,
  };
}

function bytes(description: string, end?: (key: Buffer, at: number) => number): KeyPart<Uint8Array> {
  return {
    description,
    size: ({ length }) => length,
    write: (key, value, at) => {
      key.set(value, at);
      return at + value.length;
    },
    end: end ?? ((_key, _at, rest) => rest),
    read: (key, from, to) => key.subarray(from, to),
  };
}

function writeKey(key: Buffer, publicKey: PublicKey, at: number): void {
  const written = key.write(publicKey, at, 'hex');
  assert(written === KEY_BYTES && publicKey.length === 2 * KEY_BYTES, 'a public key is 32 bytes in hexadecimal');
}

function readKey(key: Buffer, at: number): PublicKey {
  return key.toString('hex', at, at + KEY_BYTES);
}

const amount: KeyPart<bigint> = {
  description:
    'an integer whose absolute value is below 2^1016. Zero or a positive integer of n bytes: the byte 128 + n, then the n bytes. A negative integer: the byte 128 - n, then the bitwise complement of the n bytes of its absolute value',
  size: (value) => 1 + sizeOfBigint(value < 0n ? -value : value),
  write: (key, value, at) => {
    const magnitude = value < 0n ? -value : value;
    const size = sizeOfBigint(magnitude);
    writeOrderedBigint(key, value < 0n, magnitude, size, at);
    return at + 1 + size;
  },
  end: (key, at) => at + orderedBigintBytes(key, at),
  read: (key, at) => orderedBigintAt(key, at),
};

const sizedAddress: KeyPart<Address> = {
  description: 'number of bytes of the address, u8; then the address',
  size: (value) => 1 + Buffer.byteLength(value),
  write: (key, value, at) => {
    const written = key.write(value, at + 1);
    assert(written <= ADDRESS_BYTES_MAX, 'an address is at most 255 bytes');
    key[at] = written;
    return at + 1 + written;
  },
  end: (key, at) => at + 1 + (key[at] ?? 0),
  read: (key, at, end) => key.toString('utf8', at + 1, end),
};

const voter: KeyPart<PublicKey | undefined> = {
  description: 'if the public key of the voter is known: the byte 0, then the public key; otherwise: the byte 1',
  size: (value) => (value === undefined ? 1 : 1 + KEY_BYTES),
  write: (key, value, at) => {
    key[at] = value === undefined ? 1 : 0;
    if (value === undefined) return at + 1;
    writeKey(key, value, at + 1);
    return at + 1 + KEY_BYTES;
  },
  end: (key, at) => at + 1 + (key[at] === 0 ? KEY_BYTES : 0),
  read: (key, at) => (key[at] === 0 ? readKey(key, at + 1) : undefined),
};

export const PARTS = {
  height: u32('u32'),
  ordinal: u32('position of the block among the blocks of the delegate, from 0, u32'),
  listIndex: u32('number of a list of active delegates, u32 (`protocol/rounds.ts`)'),
  place: fixed<TransactionPlace>(
    PLACE_BYTES,
    'height of the block, u32, then position in the block, u16',
    (key, { height, index }, at) => writePlace(key, height, index, at),
    (key, at) => ({ height: key.readUInt32BE(at), index: key.readUInt16BE(at + HEIGHT_BYTES) }),
  ),
  id: fixed<string>(
    8,
    'u64',
    (key, value, at) => writeU64BE(key, BigInt(value), at),
    (key, at) => key.readBigUInt64BE(at).toString(),
  ),
  key: fixed<PublicKey>(KEY_BYTES, 'public key, 32 bytes', writeKey, readKey),
  timestamp: fixed<number>(
    U32_BYTES,
    'i32 with an inverted sign bit, so that negative values come first',
    (key, value, at) => writeTimestamp(key, value, at),
    (key, at) => key.readUInt32BE(at) ^ 0x8000_0000,
  ),
  u16: fixed<number>(
    2,
    'u16',
    (key, value, at) => {
      assert(isU16(value), 'a number fits 16 bits');
      key.writeUInt16BE(value, at);
    },
    (key, at) => key.readUInt16BE(at),
  ),
  sort: u8('number of the sort order of a long list, u8'),
  amount,
  voter,
  '(address)': sizedAddress,
  address: text<Address>('UTF-8'),
  name: text<string>('UTF-8'),
  note: text<NoteName>('UTF-8, see the notes below'),
  data: bytes('UTF-8 data of a transfer'),
  value: bytes(
    'the value by which the list is sorted; amounts and fees are encoded like `amount`, timestamps like `timestamp`, types like `u16`',
  ),
  table: u8('number of a table, u8'),
  level: u8('level of an inner block, u8: 1 directly above the leaf blocks'),
  start: bytes(
    'a key without its table number: the key that was the first key of the first leaf block below this inner block when that leaf block was created; empty for the first inner block of a level',
  ),
  list: bytes('prefix of the keys of a list: table number, then the key parts that identify the list', (key, at) =>
    key[at] === TYPE_LIST ? at + 3 : at + 2 + (key[at + 1] ?? 0),
  ),
} as const;

export type PartName = keyof typeof PARTS;

/** The TypeScript type of the values that a part can have. */
export type PartValue<N extends PartName> = (typeof PARTS)[N] extends KeyPart<infer T> ? T : never;
