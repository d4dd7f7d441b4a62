/**
 * Computes checksums of store entries. A checksum is a fast hash, which reveals accidental damage. The hash is not
 * cryptographic, so it does not reveal a forged entry.
 */

/** Number of bytes of a checksum, which has two halves of 32 bits. */
export const CHECKSUM_BYTES = 8;

/** Sum of the hashes of several entries, in two halves of 32 bits. Each half is summed separately, modulo 2^32. */
export interface ChecksumSum {
  low: number;
  high: number;
}

/**
 * Adds the hash of an entry to `sum`, or subtracts the hash from `sum`. If `second` is given, the function changes
 * `second` in the same way.
 *
 * @param sign 1 to add the hash, -1 to subtract the hash
 */
export function changeSums(
  key: Uint8Array,
  value: Uint8Array,
  sign: 1 | -1,
  sum: ChecksumSum,
  second?: ChecksumSum,
): void {
  hashEntry(key, value);
  change(sum, sign);
  if (second !== undefined) change(second, sign);
}

/** Returns the checksum of a single entry. */
export function checksumOfEntry(key: Uint8Array, value: Uint8Array): Buffer {
  hashEntry(key, value);
  return checksumBytes({ low: hashLow, high: hashHigh });
}

/** Returns the stored form of a sum: both halves, big-endian. */
export function checksumBytes({ low, high }: ChecksumSum): Buffer {
  const bytes = Buffer.allocUnsafe(CHECKSUM_BYTES);
  bytes.writeUInt32BE(low, 0);
  bytes.writeUInt32BE(high, 4);
  return bytes;
}

/**
 * The result of the last call of `hashEntry`, in two variables. If `hashEntry` returned a new object for each of
 * millions of entries, the computation would be slower.
 */
let hashLow = 0;
let hashHigh = 0;

function change(sum: ChecksumSum, sign: 1 | -1): void {
  sum.low = (sum.low + sign * hashLow) >>> 0;
  sum.high = (sum.high + sign * hashHigh) >>> 0;
}

/**
 * Computes a hash of 64 bits over key and value, with the multipliers and the mixing of MurmurHash3. Each step computes
 * a new value of one half of the hash from two arguments: the old value of this half, and a word (32 bits) of the
 * input. The step is one-to-one in each of the two arguments. Two entries therefore never have the same hash if their
 * keys have equal lengths, their values have equal lengths, and the entries differ in only one word.
 */
function hashEntry(key: Uint8Array, value: Uint8Array): void {
  hashLow = key.length;
  hashHigh = value.length;
  hashBytes(key);
  hashBytes(value);
  hashLow = (hashLow + hashHigh) | 0;
  hashHigh = (hashHigh + hashLow) | 0;
  hashLow = mixed(hashLow);
  hashHigh = mixed(hashHigh);
  hashLow = (hashLow + hashHigh) >>> 0;
  hashHigh = (hashHigh + hashLow) >>> 0;
}

function hashBytes(bytes: Uint8Array): void {
  let low = hashLow;
  let high = hashHigh;
  const { length } = bytes;
  const words = length - (length % 4);
  let at = 0;
  for (; at < words; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    low = Math.imul(low ^ word, 0xcc9e2d51);
    low = (((low << 15) | (low >>> 17)) + 0x561ccd1b) | 0;
    high = Math.imul(high ^ word, 0x1b873593);
    high = (((high << 13) | (high >>> 19)) + 0x0bcaa747) | 0;
  }
  let rest = 0;
  for (; at < length; at += 1) rest = (rest << 8) | bytes[at]!;
  hashLow = Math.imul(low ^ rest, 0xcc9e2d51);
  hashHigh = Math.imul(high ^ rest, 0x1b873593);
}

function mixed(half: number): number {
  let bits = half ^ (half >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
