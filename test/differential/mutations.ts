/**
 * Changes JSON documents, for example transactions, into forms that nodes do not write: with another letter case, with
 * unknown or repeated members, with numbers as texts, or with unusual values.
 */

import type { RandomBelow } from '../fuzz/mutate.ts';

type Container = Record<string, unknown> | unknown[];

interface Place {
  readonly parent: Container;
  readonly key: string | number;
}

/**
 * Numbers in unusual forms, which the number library of the reference (lisk-sdk) perhaps accepts, and other values that
 * are not amounts.
 */
export const AMOUNTS: readonly unknown[] = [
  ...[
    '0e99999',
    '-0e1001',
    '0e-99999',
    '0.0e5000',
    `7.${'0'.repeat(1_100)}`,
    `${'0'.repeat(1_100)}7`,
    `7${'0'.repeat(1_100)}e-1100`,
  ],
  ...[
    '7',
    '0',
    '00',
    '1000000000',
    '007',
    '+7',
    ' 7 ',
    '7\n',
    '7.',
    '7.0',
    '.5',
    '0.5',
    '1.5',
    '7e0',
    '1e3',
    '1E+3',
    '5e-1',
  ],
  ...['-7', '-0.5', '-0', '--7', '+-7', '0x10', 'NaN', 'Infinity', '-Infinity', '', ' ', 'seven', '٣', '1_000', '7,0'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '18446744073709551616', '1e30', '-1e30'],
  ...[0, 7, -7, 0.5, 1.5, -0.25, 1e21, 1e-7, 999999999999999, 1e15, 123456789012345680, 0.1234567890123456],
  ...[null, true, false, [], {}, [7], ['7'], [['-7']], [null], [1, 2], { amount: '7' }, { toString: 1 }],
];

const VALUES: readonly unknown[] = [
  ...AMOUNTS,
  ...[2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -1, 255, 256, 15, 16, 72, 73],
  ...[
    'a',
    'A',
    'é',
    'e\u0301',
    'ﬁ',
    'ſ',
    '\u212a',
    'ß',
    'İ',
    '\u0000',
    '\\u0000',
    '\\x00',
    'U00000000',
    '\ud800',
    '\udc00x',
    '\udc00\ud800',
    'x\ud83d',
    '\ufeffx',
    '\u00a0x',
    'x\u2028',
    '💣',
    '\u202e',
    'a'.repeat(65),
  ],
  ...[
    'f'.repeat(64),
    'F'.repeat(64),
    'f'.repeat(128),
    'F'.repeat(128),
    'g'.repeat(64),
    '1L',
    '1l',
    '01L',
    '0L',
    'L',
    'NaNL',
    'InfinityL',
  ],
  ...[
    '18446744073709551615L',
    '18446744073709551616L',
    '16641037988489082467l',
    '2020-01-01T00:00:00.000Z',
    'never',
    undefined,
  ],
];

/** Names of members. Most of them have a meaning in some object of a transaction or block. */
const NAMES = [
  ...['amount', 'fee', 'recipientId', 'recipientPublicKey', 'senderId', 'requesterPublicKey', 'asset', 'data', 'votes'],
  ...['username', 'publicKey', 'min', 'lifetime', 'keysgroup', 'multisignature', 'signature', 'signatures', 'delegate'],
  ...[
    'signSignature',
    'id',
    'blockId',
    'height',
    'confirmations',
    'relays',
    'receivedAt',
    'type',
    'timestamp',
    'ready',
  ],
  ...['networkIdentifier', 'senderSecondPublicKey', 'toString', 'constructor', 'length', 'x', '', '\u0000', '\ud800'],
];

/** Changes a document in place, most often in one member. */
export function mutate(document: Record<string, unknown>, below: RandomBelow): void {
  for (let round = 1 + (below(4) === 0 ? below(3) : 0); round > 0; round -= 1) mutateOnce(document, below);
}

/**
 * Returns the JSON of a document. Sometimes the text contains an additional member, whose name may already exist in the
 * document. Sometimes it contains a number in an unusual form.
 */
export function textOf(document: unknown, below: RandomBelow): string {
  const text = JSON.stringify(document) ?? 'null';
  const kind = below(16);
  if (kind === 0) return numberOtherwise(text, below);
  if (kind > 2) return text;
  const brace = text.indexOf('{', below(text.length));
  if (brace < 0 || text[brace + 1] === '}') return text;
  const names = typeof document === 'object' && document !== null ? Object.keys(document) : [];
  const name = below(2) === 0 && names.length > 0 ? pick(names, below) : pick(NAMES, below);
  const member = `${JSON.stringify(name)}:${JSON.stringify(pick(VALUES, below) ?? null)}`;
  // If an object has two members with the same name, a JSON parser uses the last one. A repeated member at the end of
  // the document therefore replaces an earlier member.
  if (below(3) === 0) return `${text.slice(0, -1)},${member}}`;
  return `${text.slice(0, brace + 1)}${member},${text.slice(brace + 1)}`;
}

/** Changes one number of a JSON text: writes 0 as -0, or adds decimals or an exponent to the number. */
function numberOtherwise(text: string, below: RandomBelow): string {
  const numbers = [...text.matchAll(/(?<=[:[,])-?[0-9]+(?=[\]},])/g)];
  if (numbers.length === 0) return text;
  const { 0: number, index } = pick(numbers, below);
  const other =
    number === '0' && below(2) === 0 ? '-0' : number + pick(['.0', 'e0', 'E+0', '.00000000000000000001'], below);
  return text.slice(0, index) + other + text.slice(index + number.length);
}

/** Changes the letter case of a text, either of one hexadecimal digit or of the whole text. */
export function otherCase(text: string, below: RandomBelow): string {
  if (below(2) === 0) return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
  const at = below(text.length);
  const letter = text.slice(at).search(/[a-fA-F]/);
  if (letter < 0) return text.toUpperCase();
  const index = at + letter;
  const own = text.charAt(index);
  const other = own === own.toUpperCase() ? own.toLowerCase() : own.toUpperCase();
  return text.slice(0, index) + other + text.slice(index + 1);
}

/** Adds a member to an object. The member usually has no meaning in this object. */
export function addUnknown(object: Record<string, unknown>, below: RandomBelow): void {
  const name = below(3) === 0 ? 'amount' : pick(NAMES, below);
  const value = name === 'amount' ? pick(AMOUNTS, below) : below(4) === 0 ? nested(below) : pick(VALUES, below);
  Object.defineProperty(object, name, {
    value: structuredClone(value),
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/**
 * Repeats a member of a transaction's asset, at any depth, with another letter case in its name. The repeated member
 * has the same value or another one, and stands before or after the original. This node and the reference (lisk-sdk)
 * must treat the original and the repeated member as different members. An asset without members stays unchanged.
 */
export function repeatInOtherCase(transaction: Record<string, unknown>, below: RandomBelow): void {
  const objects = objectsIn({ asset: transaction['asset'] }).filter((each) => Object.keys(each).length > 0);
  if (objects.length === 0) return;
  const object = pick(objects, below);
  const name = pick(Object.keys(object), below);
  const repeat = below(2) === 0 ? withCapital(name) : otherCase(name, below);
  // Change nothing if the name has no letters, or if the object already has a member with the name in the other letter
  // case.
  if (Object.hasOwn(object, repeat)) return;
  const value = object[name];
  object[repeat] = below(2) === 0 ? structuredClone(value) : oddValue(below);
  if (below(2) > 0) return;
  Reflect.deleteProperty(object, name);
  object[name] = value;
}

function withCapital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Returns one of `VALUES`. Most of them do not occur in valid documents. */
export function oddValue(below: RandomBelow): unknown {
  return structuredClone(pick(VALUES, below));
}

export function pick<T>(items: readonly T[], below: RandomBelow): T {
  return items[below(items.length)] as T;
}

function mutateOnce(document: Record<string, unknown>, below: RandomBelow): void {
  const places: Place[] = [];
  collect(document, places);
  const place = pick(places, below);
  const value = Reflect.get(place.parent, place.key) as unknown;
  const set = (to: unknown): void => {
    Reflect.set(place.parent, place.key, to);
  };
  switch (below(10)) {
    case 0: {
      const texts = places.filter((each) => typeof Reflect.get(each.parent, each.key) === 'string');
      if (texts.length === 0) return;
      const { parent, key } = pick(texts, below);
      const text = Reflect.get(parent, key) as string;
      if (text.length > 0) Reflect.set(parent, key, otherCase(text, below));
      return;
    }
    case 1:
    case 2: {
      const objects = [document, ...objectsIn(document)];
      addUnknown(pick(objects, below), below);
      return;
    }
    case 3:
      if (typeof value === 'number') set(String(value));
      else if (typeof value === 'string' && value !== '' && Number.isFinite(Number(value))) set(Number(value));
      else if (typeof value === 'string') set(pick(['0', '00', '+', ' '], below) + value);
      return;
    case 4:
      set(structuredClone(pick(VALUES, below)));
      return;
    case 5:
      Reflect.deleteProperty(place.parent, place.key);
      if (Array.isArray(place.parent)) place.parent.splice(Number(place.key), 1);
      return;
    case 6:
      if (!Array.isArray(place.parent)) return;
      place.parent.push(typeof value === 'string' && below(2) === 0 ? otherCase(value, below) : structuredClone(value));
      return;
    case 7:
      if (typeof value === 'string')
        set(below(2) === 0 ? value + pick(['0', 'L', ' ', '\u0000', 'ß'], below) : value.slice(1));
      else if (typeof value === 'number') set(value + pick([1, -1, 0.5, 2 ** 32], below));
      return;
    case 8:
      repeatInOtherCase(document, below);
      return;
    default: {
      const other = pick(places, below);
      set(structuredClone(Reflect.get(other.parent, other.key)));
    }
  }
}

function nested(below: RandomBelow): unknown {
  let value: unknown = pick(VALUES, below);
  for (let level = below(below(20) === 0 ? 400 : 4); level > 0; level -= 1)
    value = below(2) === 0 ? [value] : { a: value };
  return value;
}

function collect(value: object, places: Place[]): void {
  for (const key of Object.keys(value)) {
    places.push({ parent: value as Container, key: Array.isArray(value) ? Number(key) : key });
    const member = Reflect.get(value, key) as unknown;
    if (typeof member === 'object' && member !== null && places.length < 300) collect(member, places);
  }
}

function objectsIn(value: object): Record<string, unknown>[] {
  return Object.values(value).flatMap((member: unknown) => {
    if (typeof member !== 'object' || member === null) return [];
    return [...(Array.isArray(member) ? [] : [member as Record<string, unknown>]), ...objectsIn(member)];
  });
}
