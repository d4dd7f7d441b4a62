/** Formats amounts, times and ids as text. */

export const BEDDOWS_PER_LSK = 100_000_000n;

/**
 * Example: `12 345.6 LSK`, with a space between thousands.
 *
 * @param beddows decimal digits, optionally after a minus sign
 */
export function amountText(beddows: string): string {
  const value = BigInt(beddows);
  const positive = value < 0n ? -value : value;
  const whole = (positive / BEDDOWS_PER_LSK).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const rest = (positive % BEDDOWS_PER_LSK).toString().padStart(8, '0').replace(/0+$/, '');
  return `${value < 0n ? '−' : ''}${whole}${rest === '' ? '' : `.${rest}`} LSK`;
}

/** Returns the number of decimals of an amount in LSK. Trailing zeros do not count. */
export function decimalsOf(beddows: string): number {
  return beddows.padStart(8, '0').slice(-8).replace(/0+$/, '').length;
}

/**
 * Example: `12.5 %`. Formats the share of `part` in `whole` as a percentage, rounded to two decimals. `part` and
 * `whole` are in beddows, as decimal digits. A share above zero that rounds to zero is `below 0.01 %`. If `whole` is
 * unknown or zero, the text is `–`.
 *
 * @param decimals fixed number of decimals for a column; by default, trailing zeros are left out
 */
export function shareText(part: string, whole: string | undefined, decimals?: number): string {
  if (whole === undefined || BigInt(whole) <= 0n) return '–';
  const hundredths = (BigInt(part) * 20_000n + BigInt(whole)) / (2n * BigInt(whole));
  if (hundredths === 0n && BigInt(part) > 0n) return 'below 0.01 %';
  return percentText(Number(hundredths) / 100, decimals);
}

/** Example: `12.5 %`, or `12.50 %` with two decimals. */
export function percentText(percent: number, decimals?: number): string {
  return `${decimals === undefined ? percent : percent.toFixed(decimals)} %`;
}

export function countText(count: number): string {
  return count.toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Examples: `1 block`, `1 204 blocks`. */
export function countOf(count: number, one: string): string {
  return `${countText(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** Members of `Delegate` about the forged and missed blocks of the delegate, as the node sends them. */
interface Results {
  readonly producedBlocks: number;
  readonly missedBlocks: number;
  /** `producedBlocks` as a percentage of the sum of `producedBlocks` and `missedBlocks`. */
  readonly productivity: number;
}

/**
 * Example: `99.01 %`. Undefined for a delegate that has neither forged nor missed a block.
 *
 * @param decimals number of decimals in the text; if undefined, the text has all decimals of `productivity`
 */
export function productivityOf(results: Results, decimals?: number): string | undefined {
  const { producedBlocks, missedBlocks, productivity } = results;
  return producedBlocks + missedBlocks === 0 ? undefined : percentText(productivity, decimals);
}

/** Example: `120 forged, 2 missed, 98.36 %`. */
export function resultText(results: Results): string {
  const { producedBlocks, missedBlocks } = results;
  const counts = `${countText(producedBlocks)} forged, ${countText(missedBlocks)} missed`;
  const productivity = productivityOf(results);
  return productivity === undefined ? counts : `${counts}, ${productivity}`;
}

/**
 * Formats the time until a moment, with seconds if the time is less than an hour: `in 2 min 5 s`. A past moment gives
 * `in 0 s`.
 */
export function untilText(momentMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.round((momentMs - nowMs) / 1000));
  if (seconds >= 3600) return agoText(momentMs, nowMs);
  if (seconds < 60) return `in ${seconds} s`;
  return `in ${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * Formats the time since a past moment. If the browser's clock is behind the node's clock, the moment can seem to be in
 * the future. In this case, the text says `0 s ago`.
 */
export function sinceText(momentMs: number, nowMs: number): string {
  return agoText(Math.min(momentMs, nowMs), nowMs);
}

/** Shortens a long text, such as an id, to its beginning and its end. */
export function shortText(text: string, characters = 6): string {
  return text.length <= 2 * characters + 1 ? text : `${text.slice(0, characters)}…${text.slice(-characters)}`;
}

/**
 * Examples: `14 s ago`, `in 3 min`, `0 s ago`. The unit is the largest unit that is not longer than the time. For less
 * than a second, the unit is `s`.
 */
export function agoText(momentMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - momentMs) / 1000);
  const [size, unit] = UNITS.find(([length]) => Math.abs(seconds) >= length) ?? [1, 's'];
  const amount = `${Math.floor(Math.abs(seconds) / size)} ${unit}`;
  return seconds >= 0 ? `${amount} ago` : `in ${amount}`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [31_536_000, 'y'],
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];

/** Example: `2026-11-21 12:30:05`. The time is in UTC. */
export function dateText(momentMs: number): string {
  return new Date(momentMs).toISOString().slice(0, 19).replace('T', ' ');
}

/** Example: `12:30:05`. The time is in UTC. */
export function timeText(momentMs: number): string {
  return dateText(momentMs).slice(11);
}

const TYPES: Readonly<Record<number, string>> = {
  0: 'Transfer',
  1: 'Second signature',
  2: 'Delegate registration',
  3: 'Votes',
  4: 'Multisignature group',
  5: 'Application',
  6: 'Deposit',
  7: 'Withdrawal',
};
/**
 * Lowest and highest number of those transaction types of generation 3 that exist in generation 2, too. Generation 2
 * has these types in the same order, but numbers them from 0.
 */
export const SECOND_TYPES_FROM = 8;
const SECOND_TYPES_TO = 12;

/**
 * Converts the number of a transaction type of generation 3 to the number that the same type has in generation 2. If
 * generation 2 lacks the type, or if `type` is already a number of generation 2, the result is `type` itself.
 */
export function firstTypeOf(type: number): number {
  return type >= SECOND_TYPES_FROM && type <= SECOND_TYPES_TO ? type - SECOND_TYPES_FROM : type;
}

export function typeText(type: number): string {
  return TYPES[firstTypeOf(type)] ?? `Type ${type}`;
}

/**
 * Returns the version of the software from the build text of a node, or undefined if the text has no version. A build
 * text is the letter `v` and the version. If the time of the build is known, this time follows the version.
 */
export function softwareVersionOf(build: string): string | undefined {
  return /^v(\d\S*)/.exec(build)?.[1];
}
