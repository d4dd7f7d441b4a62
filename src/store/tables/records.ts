/**
 * Encodes and decodes the stored bytes of accounts, delegates and lists of public keys. Each value has exactly one
 * encoding, so that equal states have equal digests. An unsigned integer is a varint (LEB128): seven bits in each byte,
 * the lowest bits first. An amount is stored as one byte with the sign and the length, followed by the big-endian bytes
 * of the absolute value.
 */

import { assert } from '../../primitives/errors.ts';
import type { Account, Delegate, MultisignatureGroup } from '../../protocol/state.ts';
import type { Address, PublicKey } from '../../protocol/types.ts';
import { EMPTY, sizeOfBigint, writeBigint } from './ordered-bytes.ts';

const KEY_BYTES = 32;

const HAS_PUBLIC_KEY = 1;
const HAS_SECOND_PUBLIC_KEY = 2;
const HAS_USERNAME = 4;
const HAS_GROUP = 8;
const HAS_VOTES = 16;

/** Encodes an account without its votes. Votes are long and seldom change, so they are in a separate table. */
export function encodeAccount(account: Account): Buffer {
  const record = new RecordWriter();
  writeAccount(record, account);
  return record.bytes();
}

/** Appends an account to a record, in the form of `encodeAccount`. */
export function writeAccount(record: RecordWriter, account: Account): void {
  record.byte(
    (account.publicKey === undefined ? 0 : HAS_PUBLIC_KEY) |
      (account.secondPublicKey === undefined ? 0 : HAS_SECOND_PUBLIC_KEY) |
      (account.username === undefined ? 0 : HAS_USERNAME) |
      (account.group === undefined ? 0 : HAS_GROUP) |
      (account.votes.length === 0 ? 0 : HAS_VOTES),
  );
  record.amount(account.balance);
  record.count(account.producedBlocks);
  record.count(account.missedBlocks);
  record.amount(account.forgedFees);
  record.amount(account.forgedRewards);
  if (account.publicKey !== undefined) record.key(account.publicKey);
  if (account.secondPublicKey !== undefined) record.key(account.secondPublicKey);
  if (account.username !== undefined) record.text(account.username);
  if (account.group !== undefined) {
    record.count(account.group.min);
    record.count(account.group.lifetime);
    record.count(account.group.members.length);
    for (const member of account.group.members) record.key(member);
  }
}

/**
 * @param votes function that reads the account's votes. `decodeAccount` calls this function only if the account has
 * votes
 */
export function decodeAccount(address: Address, bytes: Buffer, votes: () => readonly PublicKey[]): Account {
  const record = new RecordReader(bytes);
  const flags = record.byte();
  const balance = record.amount();
  const producedBlocks = record.count();
  const missedBlocks = record.count();
  const forgedFees = record.amount();
  const forgedRewards = record.amount();
  const publicKey = (flags & HAS_PUBLIC_KEY) === 0 ? undefined : record.key();
  const secondPublicKey = (flags & HAS_SECOND_PUBLIC_KEY) === 0 ? undefined : record.key();
  const username = (flags & HAS_USERNAME) === 0 ? undefined : record.text();
  const group = (flags & HAS_GROUP) === 0 ? undefined : groupOf(record);
  record.end();
  return {
    address,
    ...(publicKey === undefined ? {} : { publicKey }),
    ...(secondPublicKey === undefined ? {} : { secondPublicKey }),
    ...(username === undefined ? {} : { username }),
    balance,
    ...(group === undefined ? {} : { group }),
    votes: (flags & HAS_VOTES) === 0 ? [] : votes(),
    producedBlocks,
    missedBlocks,
    forgedFees,
    forgedRewards,
  };
}

function groupOf(record: RecordReader): MultisignatureGroup {
  const min = record.count();
  const lifetime = record.count();
  const members: PublicKey[] = [];
  // The code does not allocate the array in advance, because a damaged record can state a very large number of members.
  for (let left = record.count(); left > 0; left -= 1) members.push(record.key());
  return { min, lifetime, members };
}

export function encodeDelegate(delegate: Delegate): Buffer {
  const record = new RecordWriter();
  writeDelegate(record, delegate);
  return record.bytes();
}

/** Appends a delegate to a record, in the form of `encodeDelegate`. */
export function writeDelegate(record: RecordWriter, delegate: Delegate): void {
  record.amount(delegate.voteWeight);
  record.amount(delegate.pendingVoteWeight);
  record.count(delegate.rank);
  record.text(delegate.address);
  record.text(delegate.username);
}

export function decodeDelegate(publicKey: PublicKey, bytes: Buffer): Delegate {
  const record = new RecordReader(bytes);
  const voteWeight = record.amount();
  const pendingVoteWeight = record.amount();
  const rank = record.count();
  const address = record.text();
  const username = record.text();
  record.end();
  return { publicKey, address, username, voteWeight, pendingVoteWeight, rank };
}

/** Encodes a list of public keys, with 32 bytes for each key. */
export function encodeKeys(keys: readonly PublicKey[]): Buffer {
  const bytes = Buffer.from(keys.join(''), 'hex');
  assert(bytes.length === keys.length * KEY_BYTES, 'public keys are 32 bytes in hexadecimal');
  return bytes;
}

export function decodeKeys(bytes: Buffer): readonly PublicKey[] {
  assert(bytes.length % KEY_BYTES === 0, 'a list of keys holds whole keys');
  const hex = bytes.toString('hex');
  return Array.from({ length: bytes.length / KEY_BYTES }, (_, i) => hex.slice(i * 64, i * 64 + 64));
}

/**
 * The buffer of the last finished writer, which the next writer uses again. While a writer uses this buffer, `spare` is
 * undefined. If a buffer has grown to more than `SPARE_BYTES_MAX` bytes, the next writer does not use this buffer.
 */
let spare: Buffer | undefined;
const SPARE_BYTES_MAX = 65_536;

/** Writes a record into a buffer that grows. The method `bytes` returns the record, and must be the last call. */
export class RecordWriter {
  #bytes = spare ?? Buffer.allocUnsafeSlow(1024);
  #length = 0;

  constructor() {
    spare = undefined;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  /** Writes an integer from 0 to 2^53 - 1. */
  count(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'a count is a safe integer and not negative');
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  amount(value: bigint): void {
    if (value === 0n) {
      this.byte(0);
      return;
    }
    const magnitude = value < 0n ? -value : value;
    const size = sizeOfBigint(magnitude);
    assert(size < 128, 'an amount is below 2^1016');
    this.byte(value < 0n ? 128 + size : size);
    this.#reserve(size);
    writeBigint(this.#bytes, magnitude, this.#length, size);
    this.#length += size;
  }

  key(publicKey: PublicKey): void {
    this.#reserve(KEY_BYTES);
    const written = this.#bytes.write(publicKey, this.#length, 'hex');
    assert(written === KEY_BYTES && publicKey.length === 64, 'a public key is 32 bytes in hexadecimal');
    this.#length += KEY_BYTES;
  }

  text(text: string): void {
    this.sized(Buffer.from(text, 'utf8'));
  }

  ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  /** Calls `write`, counts the bytes that `write` adds, and inserts this number in front of these bytes. */
  sizedOf(write: () => void): void {
    const at = this.#length;
    this.byte(0);
    write();
    const size = this.#length - at - 1;
    if (size < 128) {
      this.#bytes[at] = size;
      return;
    }
    // Only one byte is reserved for the number of bytes. A number above 127 takes more than one byte, so the bytes that
    // `write` added must move.
    const bytes = Buffer.from(this.#bytes.subarray(at + 1, this.#length));
    this.#length = at;
    this.sized(bytes);
  }

  /** Writes the length of `bytes` into the record, and then `bytes` itself. */
  sized(bytes: Uint8Array): void {
    this.count(bytes.length);
    this.raw(bytes);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * Returns a copy of the record. The writer then gives its buffer away (`spare`), so the caller must not call any
   * further method of this writer.
   */
  bytes(): Buffer {
    const record = Buffer.allocUnsafe(this.#length);
    this.#bytes.copy(record, 0, 0, this.#length);
    if (this.#bytes.length <= SPARE_BYTES_MAX) spare = this.#bytes;
    this.#bytes = EMPTY;
    this.#length = 0;
    return record;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length), 0);
    this.#bytes = larger;
  }
}

/** Reads records that `RecordWriter` wrote. */
export class RecordReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    assert(value !== undefined, 'a record holds all its members');
    this.#at += 1;
    return value;
  }

  count(): number {
    let value = 0;
    let weight = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * weight;
      assert(Number.isSafeInteger(value), 'a count is a safe integer');
      if (byte < 128) return value;
      weight *= 128;
    }
  }

  amount(): bigint {
    const head = this.byte();
    const size = head & 127;
    const bytes = this.raw(size);
    // A double can represent every integer of up to six bytes without rounding.
    const value = size === 0 ? 0n : BigInt(size <= 6 ? bytes.readUIntBE(0, size) : `0x${bytes.toString('hex')}`);
    return head > 127 ? -value : value;
  }

  key(): PublicKey {
    return this.raw(KEY_BYTES).toString('hex');
  }

  text(): string {
    return this.sized().toString('utf8');
  }

  sized(): Buffer {
    return this.raw(this.count());
  }

  raw(bytes: number): Buffer {
    if (bytes === 0) return EMPTY;
    assert(this.#at + bytes <= this.#bytes.length, 'a record holds all its members');
    this.#at += bytes;
    return this.#bytes.subarray(this.#at - bytes, this.#at);
  }

  end(): void {
    assert(this.done, 'no bytes follow the last member of a record');
  }
}
