/**
 * The consensus parameters a store was written under, as a text that two networks share exactly when all their parameters are
 * equal: a state that came about under other rules is not this network's, though its genesis block may be.
 */

import { sha256Hex } from '../../crypto/hash.ts';
import { utf8 } from '../../primitives/bytes.ts';
import { ACTIVE_DELEGATES, type ChainParams } from '../../protocol/params.ts';

/** Longer values, as lists of exceptions, are kept as their hash. */
const VALUE_LENGTH_MAX = 200;

/**
 * A line `member value` for each parameter, in the order of their names. The usual number of active delegates is left out:
 * stores were written before a network could have another.
 */
export function paramsPin(params: ChainParams): string {
  return Object.entries(params)
    .filter(([member, value]) => member !== 'activeDelegates' || value !== ACTIVE_DELEGATES)
    .map(([member, value]) => `${member} ${shortened(canonical(value))}`)
    .sort()
    .join('\n');
}

/** Members whose values differ between two pins, each with both values. */
export function pinDifferences(found: string, expected: string): readonly string[] {
  const [foundValues, expectedValues] = [valuesOf(found), valuesOf(expected)];
  const members = [...new Set([...foundValues.keys(), ...expectedValues.keys()])].sort();
  return members
    .map((member) => ({ member, was: foundValues.get(member) ?? 'none', is: expectedValues.get(member) ?? 'none' }))
    .filter(({ was, is }) => was !== is)
    .map(({ member, was, is }) => `${member} ${was} instead of ${is}`);
}

function valuesOf(pin: string): ReadonlyMap<string, string> {
  return new Map(
    pin
      .split('\n')
      .map((line) => line.split(' ', 2) as [string, string?])
      .map(([member, value = '']) => [member, value]),
  );
}

function shortened(text: string): string {
  return text.length <= VALUE_LENGTH_MAX ? text : `sha256:${sha256Hex(utf8(text))}`;
}

/** JSON without blanks in which sets, maps and objects have one order. */
function canonical(value: unknown): string {
  if (value instanceof Set) return `[${[...value].map(canonical).sort().join()}]`;
  if (value instanceof Map) {
    return `{${[...value]
      .map(([key, entry]) => `${canonical(key)}:${canonical(entry)}`)
      .sort()
      .join()}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === 'object' && value !== null) {
    return canonical(new Map(Object.entries(value)));
  }
  // A text of the configuration may hold blanks, which part members from values.
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value).replaceAll(' ', '\\u0020');
}
