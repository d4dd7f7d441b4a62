/**
 * Writes the consensus parameters of a network as a text. The node stores this text with the chain. The texts of two
 * networks are equal if and only if all parameters of the two networks are equal. The node compares the stored text
 * with the text of its own network. If the two texts differ, the node refuses the chain, even if both networks have the
 * same genesis block.
 */

import { sha256Hex } from '../../crypto/hash.ts';
import { utf8 } from '../../primitives/bytes.ts';
import { ACTIVE_DELEGATES, type ChainParams } from '../../protocol/params.ts';

/**
 * Maximum number of characters that the value of a parameter takes in the text. For a longer value, for example the
 * exceptions of a network (`exceptions.json`), the text has the SHA-256 of the value instead.
 */
const VALUE_LENGTH_MAX = 200;

/**
 * Writes one line (name, space, value) for each parameter, in the order of the names. If `activeDelegates` is
 * `ACTIVE_DELEGATES`, the text has no line for this parameter. Stores of earlier versions of the node have no such
 * line either, because with these versions all networks had `ACTIVE_DELEGATES` active delegates.
 */
export function paramsPin(params: ChainParams): string {
  return Object.entries(params)
    .filter(([member, value]) => member !== 'activeDelegates' || value !== ACTIVE_DELEGATES)
    .map(([member, value]) => `${member} ${shortened(canonical(value))}`)
    .sort()
    .join('\n');
}

/** Finds the parameters whose values differ between two texts. Each result names the parameter and both values. */
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

/** Writes a value as JSON without spaces. Sorts the entries of sets, maps and objects. */
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
  // In a line of the text, a space separates the name from the value, so this code escapes the spaces of a string.
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value).replaceAll(' ', '\\u0020');
}
