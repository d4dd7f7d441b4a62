/**
 * Reads JSON from peers, clients and files. The functions read only an object's own data properties. They never read
 * inherited properties, and never call getters.
 */

/**
 * Returns the value of an object's own member. Returns undefined if `value` is no object, or if the object has no
 * member of this name.
 */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value as unknown;
}

/**
 * Returns the number in a member of an object; 0 if the member is not a number. Negative zero becomes 0, because the
 * bytes of a transaction cannot express a negative zero.
 */
export function numberIn(value: unknown, name: string): number {
  const number = member(value, name);
  return typeof number === 'number' && number !== 0 ? number : 0;
}

/**
 * Maximum length of a list from JSON that the code passes to a check. The code truncates a longer list to this length
 * before the check, so that a list with a million entries costs little time. Outside genesis blocks, the longest list
 * that a rule allows has 33 entries. A truncated list is therefore still too long, and the check refuses the list. A
 * vote transaction in a genesis block can have a list of any length. On all known networks, the lists in these vote
 * transactions have at most 101 entries, so the code truncates none of these lists.
 */
const LIST_ITEMS_MAX = 200;

/**
 * Truncates a list to at most `LIST_ITEMS_MAX` entries, so that checking the list takes little time. Returns every
 * other value unchanged.
 */
export function boundedList(value: unknown): unknown {
  return Array.isArray(value) && value.length > LIST_ITEMS_MAX ? (value.slice(0, LIST_ITEMS_MAX) as unknown) : value;
}

/**
 * Removes the leading zeros of a string that consists of decimal digits. Returns undefined for any other value. If more
 * than 100 digits remain, the function returns only the first 100. An amount or an id has at most 20 digits, so the
 * checks give the same result for the first 100 digits as for all digits.
 */
export function canonicalDigits(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[0-9]+$/.test(value)) return undefined;
  const digits = value.startsWith('0') ? value.replace(/^0+(?=[0-9])/, '') : value;
  return digits.length > 100 ? digits.slice(0, 100) : digits;
}
