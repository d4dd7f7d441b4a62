/** Amounts are bigint counts of beddows. 1 LSK = 10^8 beddows. */

/** Largest amount of a transaction (2^63 - 1). No balance may exceed the same value after a transfer. */
export const AMOUNT_MAX = 9_223_372_036_854_775_807n;

const BEDDOWS_PER_LSK = 100_000_000n;

/** Reads a string of digits as an amount; undefined for anything else (signs, points, spaces, other types). */
export function amountOfDigits(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : undefined;
}

/**
 * Returns an amount as text in LSK. The text is a decimal number without trailing zeros or exponent.
 * `lskText(10_000_000n)` is `0.1`, `lskText(-5n)` is `-0.00000005`.
 */
export function lskText(beddows: bigint): string {
  const sign = beddows < 0n ? '-' : '';
  const size = beddows < 0n ? -beddows : beddows;
  const fraction = (size % BEDDOWS_PER_LSK).toString().padStart(8, '0').replace(/0+$/, '');
  const whole = (size / BEDDOWS_PER_LSK).toString();
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

/**
 * Reads an amount in LSK with at most eight decimals (`1.5`), and returns it in beddows; undefined for anything else.
 */
export function beddowsOfLskText(text: string): bigint | undefined {
  const match = /^([0-9]{1,11})(?:\.([0-9]{1,8}))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  return BigInt(whole) * BEDDOWS_PER_LSK + BigInt(fraction.padEnd(8, '0'));
}
