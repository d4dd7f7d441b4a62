/** Parses the texts with which a user describes faults of a devnet: partitions, delays, losses and clock offsets. */

import { usageError } from '../error-lines.ts';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/**
 * Maximum delay of a link, in milliseconds. Requests between nodes time out after ten seconds. With the maximum delay,
 * all requests time out, so a longer delay would have the same effect on requests.
 */
export const DELAY_MS_MAX = 60_000;
/**
 * Maximum offset of a clock, in milliseconds. The maximum is far larger than any clock difference that the rules of the
 * chain tolerate.
 */
export const SKEW_MS_MAX = 86_400_000;

/**
 * Reads the parts of a partitioned network from texts. For example, the text `0,1|2,3` puts the nodes 0 and 1 into one
 * part, and the nodes 2 and 3 into another part.
 *
 * @throws ProtocolError `USAGE` for a text of another form
 */
export function partsOfText(texts: readonly string[]): readonly (readonly number[])[] {
  return texts
    .flatMap((text) => text.split('|'))
    .map((part) => {
      if (!/^\s*\d{1,2}(\s*,\s*\d{1,2})*\s*$/.test(part)) {
        throw usageError(
          `\`${part}\` is not part of a network: give the numbers of its nodes, such as 0,1 or '0,1|2,3'`,
        );
      }
      return part.split(',').map(Number);
    });
}

/**
 * Reads numbers of nodes from a text such as `1,2`, or from several texts.
 *
 * @returns undefined for an empty list of texts
 * @throws ProtocolError `USAGE` for a text of another form
 */
export function nodesOfText(texts: readonly string[]): readonly number[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.flatMap((text) => {
    if (/^\d{1,2}(,\d{1,2})*$/.test(text)) return text.split(',').map(Number);
    throw usageError(`\`${text}\` names no nodes: give their numbers, such as 1 or 1,2`);
  });
}

/**
 * @returns the delay in milliseconds
 * @throws ProtocolError `USAGE` if the text is not a duration from 0 to one minute
 */
export function delayMsOfText(text: string): number {
  const delayMs = durationMsOf(text);
  if (delayMs !== undefined && delayMs <= DELAY_MS_MAX) return delayMs;
  throw usageError(`\`${text}\` is not a delay: give a time from 0ms to ${DELAY_MS_MAX / 1000}s, such as 150ms`);
}

/**
 * @returns the share of lost messages, from 0 to 1
 * @throws ProtocolError `USAGE` if the text is not a share from 0% to 100%
 */
export function lossOfText(text: string): number {
  const percent = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text)?.[1];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100;
  throw usageError(`\`${text}\` is not a share of messages: give one from 0% to 100%, such as 5%`);
}

/**
 * @returns the clock offset in milliseconds; negative for a clock that is behind the clock of the devnet
 * @throws ProtocolError `USAGE` if the text is neither a signed duration of at most one day (such as `+3s`) nor a
 *   duration of zero (such as `0s`)
 */
export function skewMsOfText(text: string): number {
  const sign = /^[+-]/.exec(text)?.[0];
  const skewMs = durationMsOf(sign === undefined ? text : text.slice(1));
  if (skewMs !== undefined && skewMs <= SKEW_MS_MAX && (sign !== undefined || skewMs === 0)) {
    // Avoids negative zero, which some comparisons distinguish from 0.
    return sign === '-' && skewMs > 0 ? -skewMs : skewMs;
  }
  throw usageError(`\`${text}\` is not a clock offset: give +3s, -500ms or 0s, at most a day`);
}

/**
 * Returns the milliseconds of a text such as `150ms`, `1.5s`, `2m` or `1h`. The result is undefined for a text of
 * another form, and for a duration that is not a whole number of milliseconds.
 */
export function durationMsOf(text: string): number | undefined {
  const [, whole, decimals = '', unit = ''] = /^(\d{1,8})(?:\.(\d{1,3}))?(ms|s|m|h)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (whole === undefined || unitMs === undefined) return undefined;
  // The function reads the digits as a whole number of thousandths, because floating-point numbers cannot represent
  // most decimal fractions exactly.
  const thousandths = Number(whole + decimals.padEnd(3, '0'));
  const ms = unitMs === 1 ? thousandths / 1000 : thousandths * (unitMs / 1000);
  return Number.isInteger(ms) ? ms : undefined;
}

export function millisecondsText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}
