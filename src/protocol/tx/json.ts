/** Reading of foreign JSON: own data members only, nothing inherited and no accessor, whatever the object claims to be. */

/** Value of an own member; undefined when there is none. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value as unknown;
}

/** A member that is a number, and 0 for anything else. Minus zero, which JSON has and bytes have not, is 0 too. */
export function numberIn(value: unknown, name: string): number {
  const number = member(value, name);
  return typeof number === 'number' && number !== 0 ? number : 0;
}

/**
 * Longest list that is looked at. The largest list that any rule allows has 101 entries (a genesis vote), so what lies
 * beyond cannot make a refused list right, and a list of a million entries costs no more than a list of this length.
 */
const LIST_ITEMS_MAX = 200;

/** A list cut to a length that bounds the work of checking it; anything else as it is. */
export function boundedList(value: unknown): unknown {
  return Array.isArray(value) && value.length > LIST_ITEMS_MAX ? (value.slice(0, LIST_ITEMS_MAX) as unknown) : value;
}

/**
 * Canonical text of a string of decimal digits, cut to 100 digits (no amount or id has more than 20); undefined for
 * anything else.
 */
export function canonicalDigits(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[0-9]+$/.test(value)) return undefined;
  const digits = value.startsWith('0') ? value.replace(/^0+(?=[0-9])/, '') : value;
  return digits.length > 100 ? digits.slice(0, 100) : digits;
}
