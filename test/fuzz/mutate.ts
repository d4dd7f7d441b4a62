/**
 * Mutates the inputs of the fuzzer. Changes bytes anywhere. In JSON, also changes single members, so that the mutated
 * text passes the JSON parser.
 */

/** Largest size of a created input, in bytes. */
const BYTES_MAX = 256 * 1024;
/** Largest number of times that a part of an input is repeated. */
const REPEATS_MAX = 2_000;

const TOKENS = [
  ...['', '0', '-0', '-1', '1', '25', '26', '100', '101', '255', '256', '65535', '65536', '2147483647', '2147483648'],
  ...['4294967295', '4294967296', '9007199254740991', '9007199254740992', '9223372036854775807', '1e308', '1e999'],
  ...['18446744073709551615', '18446744073709551616', '0x10', '1.5', 'NaN', 'Infinity', 'null', 'true', 'false'],
  ...[
    '"',
    '\\',
    '\\u0000',
    '\u0000',
    '{',
    '}',
    '[',
    ']',
    '[]',
    '{}',
    ',',
    ':',
    '\n',
    '\r\n',
    '%',
    '%00',
    '%ff',
    '&',
    '=',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', 'then', 'toJSON', 'valueOf'],
  ...['\ud800', '\ufffd', '\u202e', '💣', '٣', 'é', 'ß', 'İ', '::ffff:127.0.0.1', '0.0.0.0', '999.1.1.1', '1L', 'L'],
  ...['a'.repeat(64), 'A'.repeat(128), '0'.repeat(64), 'f'.repeat(128), '9'.repeat(400)],
];

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e300, -1e300, '', '0', '-1', '1'],
  ...['18446744073709551615', '18446744073709551616', '1e5', ' 1', '1 ', '٣', 'x', '\u0000', 'a'.repeat(300)],
  ...[
    [],
    {},
    [[]],
    [null],
    [0],
    [{}],
    { length: -1 },
    { length: 2 ** 32 },
    { toString: 1 },
    { toJSON: 1 },
    { then: 1 },
  ],
  ...['f'.repeat(64), 'f'.repeat(128), 'F'.repeat(64), 'g'.repeat(64)],
];

/** Returns a random integer from 0 to `limit` - 1. */
export type RandomBelow = (limit: number) => number;

/** Returns a function that generates pseudo-random integers. The same seed always gives the same integers. */
export function belowOf(seed: number): RandomBelow {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, limit);
  };
}

/** Returns a mutated copy of an input, or of parts of two inputs. */
export function mutated(pool: readonly Buffer[], words: readonly string[], below: RandomBelow): Buffer {
  const base = pickOf(pool, below);
  let bytes = below(2) === 0 ? withOddMembers(base, pool, words, below) : base;
  const rounds = bytes === base ? 1 + below(6) : below(3);
  for (let round = 0; round < rounds; round += 1) bytes = withOddBytes(bytes, pool, words, below);
  return bytes.subarray(0, BYTES_MAX);
}

// ---- bytes ------------------------------------------------------------------------------------------------------------

function withOddBytes(bytes: Buffer, pool: readonly Buffer[], words: readonly string[], below: RandomBelow): Buffer {
  const at = below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + below(below(4) === 0 ? bytes.length : 8));
  const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (below(9)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (flipped.length > 0) flipped[at % flipped.length] = (flipped[at % flipped.length] ?? 0) ^ (1 << below(8));
      return flipped;
    }
    case 1:
      return Buffer.concat([before, after]);
    case 2:
      return Buffer.concat([before, piece, piece, after]);
    case 3: {
      const times = below(20) === 0 ? below(REPEATS_MAX) : below(20);
      const repeats = Math.min(times, Math.floor(BYTES_MAX / Math.max(1, piece.length)));
      return Buffer.concat([before, ...Array.from({ length: repeats }, () => piece), after]);
    }
    case 4:
      return Buffer.concat([before, Buffer.from(pickOf(TOKENS, below)), bytes.subarray(at)]);
    case 5:
      return Buffer.concat([before, Buffer.from(words.length === 0 ? '' : pickOf(words, below)), after]);
    case 6: {
      const other = pickOf(pool, below);
      return Buffer.concat([before, other.subarray(below(other.length + 1))]);
    }
    case 7:
      return Buffer.from(before);
    default:
      return Buffer.concat([before, Buffer.from(Array.from({ length: 1 + below(8) }, () => below(256))), after]);
  }
}

// ---- members of JSON --------------------------------------------------------------------------------------------------

interface Place {
  readonly parent: Record<string, unknown> | unknown[];
  readonly key: string | number;
}

function withOddMembers(base: Buffer, pool: readonly Buffer[], words: readonly string[], below: RandomBelow): Buffer {
  const value = jsonOf(base);
  if (typeof value !== 'object' || value === null) return base;
  const root = { root: value as unknown };
  try {
    let text: string | undefined;
    for (let round = 0; round <= below(3); round += 1) text = corruptMember(root, pool, words, below) ?? text;
    return Buffer.from(text ?? JSON.stringify(root.root) ?? '');
  } catch (error) {
    // Some values are nested too deeply to be written as JSON.
    if (error instanceof RangeError) return base;
    throw error;
  }
}

/**
 * Changes one member below `root`. One kind of change inserts a member whose name may already exist. An object cannot
 * have two members with one name, so this kind of change leaves `root` as it is. @returns the JSON text with the
 * inserted member; undefined for all other kinds of change
 */
function corruptMember(
  root: { root: unknown },
  pool: readonly Buffer[],
  words: readonly string[],
  below: RandomBelow,
): string | undefined {
  const places: Place[] = [];
  collect(root, places);
  // An earlier call with this `root` may have removed all members.
  if (places.length === 0) return undefined;
  const place = pickOf(places, below);
  const set = (value: unknown) => {
    Reflect.set(place.parent, place.key, value);
  };
  const old = Reflect.get(place.parent, place.key) as unknown;
  switch (below(10)) {
    case 0:
    case 1:
    case 2:
      set(structuredClone(pickOf(VALUES, below)));
      return undefined;
    case 3:
      if (Array.isArray(place.parent)) place.parent.splice(Number(place.key), 1);
      else Reflect.deleteProperty(place.parent, place.key);
      return undefined;
    case 4:
      set(typeof old === 'number' ? String(old) : typeof old === 'string' ? Number(old) : [old]);
      return undefined;
    case 5: {
      const other = pickOf(places, below);
      set(structuredClone(Reflect.get(other.parent, other.key)));
      return undefined;
    }
    case 6: {
      const [name, value] = [pickOf([...words, ...TOKENS], below), structuredClone(pickOf(VALUES, below))];
      if (!Array.isArray(place.parent))
        Object.defineProperty(place.parent, name, { value, enumerable: true, configurable: true, writable: true });
      else place.parent.push(...Array.from({ length: below(30) }, () => structuredClone(old)));
      return undefined;
    }
    case 7: {
      let nested: unknown = old;
      const depth = below(10) === 0 ? below(3_000) : below(20);
      for (let level = 0; level < depth; level += 1) nested = below(2) === 0 ? [nested] : { a: nested };
      set(nested);
      return undefined;
    }
    case 8:
      set(jsonOf(pickOf(pool, below)));
      return undefined;
    default: {
      const text = JSON.stringify(root.root) ?? '';
      const member = `${JSON.stringify(String(place.key))}:${JSON.stringify(pickOf(VALUES, below))},`;
      const brace = text.indexOf('{', below(text.length));
      return brace < 0 ? undefined : text.slice(0, brace + 1) + member + text.slice(brace + 1);
    }
  }
}

function collect(value: object, places: Place[]): void {
  for (const key of Object.keys(value)) {
    if (places.length >= 3_000) return;
    places.push({ parent: value as Place['parent'], key: Array.isArray(value) ? Number(key) : key });
    const member = Reflect.get(value, key) as unknown;
    if (typeof member === 'object' && member !== null) collect(member, places);
  }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function pickOf<T>(items: readonly T[], below: RandomBelow): T {
  return items[below(items.length)] as T;
}
