/** Reads addresses from bytes as texts. The same accounts occur again and again, so each text is created and hashed once. */

/**
 * Number of places for cached texts, a power of two. A place takes 56 bytes with its text. If two addresses have the same
 * place, the later one replaces the earlier.
 */
const PLACES = 65_536;

const highs = new Uint32Array(PLACES);
const lows = new Uint32Array(PLACES);
const texts: (string | undefined)[] = new Array<string | undefined>(PLACES).fill(undefined);

/** Text of the address whose eight big-endian bytes begin at `at`. */
export function addressAt(bytes: Buffer, at: number): string {
  const high = bytes.readUInt32BE(at);
  const low = bytes.readUInt32BE(at + 4);
  // Addresses are parts of digests, so any of their bits are equally good as an index.
  const place = low % PLACES;
  const known = highs[place] === high && lows[place] === low ? texts[place] : undefined;
  if (known !== undefined) return known;
  const text = `${(BigInt(high) << 32n) | BigInt(low)}L`;
  highs[place] = high;
  lows[place] = low;
  texts[place] = text;
  return text;
}
