/**
 * Converts the amounts in answers of a node to `bigint`. The HTTP interface writes amounts as strings of decimal
 * digits, because many JSON parsers round numbers above 2^53.
 */

const DIGITS = /^-?[0-9]{1,40}$/;

/**
 * Replaces the amounts of an answer by `bigint` values, in place.
 *
 * @param paths paths of the amounts in the answer, for example `data.*.amount`: names of members, joined by `.`; `*`
 *   stands for each item of a list
 */
export function readAmounts(answer: unknown, paths: readonly string[]): void {
  for (const path of paths) readAt(answer, path.split('.'));
}

function readAt(value: unknown, [member, ...rest]: readonly string[]): void {
  if (typeof value !== 'object' || value === null || member === undefined) return;
  const holder = value as Record<string, unknown>;
  const keys = member === '*' ? Object.keys(holder) : Object.hasOwn(holder, member) ? [member] : [];
  for (const key of keys) {
    const part = holder[key];
    if (rest.length > 0) readAt(part, rest);
    else if (typeof part === 'string' && DIGITS.test(part)) holder[key] = BigInt(part);
  }
}
