/** Texts of addresses read from bytes: the same accounts come again and again, and one text for each is made and hashed once. */

/** Places for texts, a power of two; a place is 56 bytes with its text. Two addresses of one place take turns in it. */
const PLACES = 65_536;

const highs = new Uint32Array(PLACES);
const lows = new Uint32Array(PLACES);
const texts: (string | undefined)[] = new Array<string | undefined>(PLACES).fill(undefined);

/** Text of the address whose eight bytes, big-endian, begin at `at`. */
export function addressAt(bytes: Buffer, at: number): string {
  const high = bytes.readUInt32BE(at);
  const low = bytes.readUInt32BE(at + 4);
  // Addresses are cut from digests, so any of their bits tell them apart.
  const place = low % PLACES;
  const known = highs[place] === high && lows[place] === low ? texts[place] : undefined;
  if (known !== undefined) return known;
  const text = `${(BigInt(high) << 32n) | BigInt(low)}L`;
  highs[place] = high;
  lows[place] = low;
  texts[place] = text;
  return text;
}
