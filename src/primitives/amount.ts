/** Reads and writes amounts. An amount is a whole number of beddows, as a bigint. 1 LSK = 10^8 beddows. */

/**
 * Maximum amount of a transaction, and maximum balance of the recipient after a transfer: 2^63 - 1 beddows.
 */
export const AMOUNT_MAX = 9_223_372_036_854_775_807n;

const BEDDOWS_PER_LSK = 100_000_000n;

/** Reads a string of decimal digits as an amount. Returns undefined for every other string and for other types. */
export function amountOfDigits(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? BigInt(value) : undefined;
}

/**
 * Returns an amount as text in LSK: a decimal number without an exponent, and without trailing zeros after the point.
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
 * Converts an amount in LSK to beddows. The text must begin with 1 to 11 digits. A point and 1 to 8 further digits can
 * follow (`1.5`). Returns undefined for any other text.
 */
export function beddowsOfLskText(text: string): bigint | undefined {
  const match = /^([0-9]{1,11})(?:\.([0-9]{1,8}))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  return BigInt(whole) * BEDDOWS_PER_LSK + BigInt(fraction.padEnd(8, '0'));
}
