/** Amounts of answers as `bigint`: the interface writes them as decimal digits, because JSON numbers end at 2^53. */

const DIGITS = /^-?[0-9]{1,40}$/;

/**
 * Replaces the amounts of an answer, in place.
 *
 * @param paths members from the answer on, separated by `.`; `*` stands for each item of a list
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
