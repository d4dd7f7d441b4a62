/**
 * Converts addresses from bytes to texts, such as `16313739661670634666L`. An address often occurs in many
 * transactions, so the module caches the texts. While the text of an address is in the cache, each call for this
 * address returns the same string object. A `Map` lookup with this string object is faster than a lookup with a new
 * string object of equal content, because V8 computes the hash of each string object only once.
 */

/**
 * Number of entries in the cache, a power of two. Each entry takes 56 bytes, including its text. The low bits of an
 * address select the entry of the address. If two addresses select the same entry, the later address replaces the
 * earlier one.
 */
const PLACES = 65_536;

const highs = new Uint32Array(PLACES);
const lows = new Uint32Array(PLACES);
const texts: (string | undefined)[] = new Array<string | undefined>(PLACES).fill(undefined);

/** Returns the text of the address whose eight big-endian bytes begin at `at`. */
export function addressAt(bytes: Buffer, at: number): string {
  const high = bytes.readUInt32BE(at);
  const low = bytes.readUInt32BE(at + 4);
  // The bits of an address are evenly distributed, because an address is part of a digest. Any bits of an address can
  // therefore select the entry.
  const place = low % PLACES;
  const known = highs[place] === high && lows[place] === low ? texts[place] : undefined;
  if (known !== undefined) return known;
  const text = `${(BigInt(high) << 32n) | BigInt(low)}L`;
  highs[place] = high;
  lows[place] = low;
  texts[place] = text;
  return text;
}
