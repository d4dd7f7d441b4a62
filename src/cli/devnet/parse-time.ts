/**
 * Parses the time to which a user warps the clock of a devnet: a duration from now, or a date. Commands, the dashboard,
 * scenarios and `bloomery/testing` accept such a time.
 */

import { usageError } from '../error-lines.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 365 * 86_400_000,
};
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z?)?$/;
/**
 * Latest time that `parseTime` and `unixTimeOfDate` accept. Chain time is a 32-bit number of seconds since an epoch in
 * 2016, so chain time ends in 2152.
 */
const LATEST_MS = Date.UTC(2150, 0, 1);

/**
 * Returns the Unix time in milliseconds that a text describes. The text is a duration or a date in UTC. The function
 * adds a duration to `nowMs`. Examples of durations are `90s`, `15m`, `1h`, `2d`, `3w` and `1y` (a year has 365 days).
 * Examples of dates are `2027-01-01` and `2027-01-01T12:00:00Z`.
 *
 * The function also accepts a date before `nowMs`.
 *
 * @throws ProtocolError `USAGE` for any other text, and for times after the beginning of 2150
 */
export function parseTime(text: string, nowMs: number): number {
  const duration = /^(\d{1,10})([smhdwy])$/.exec(text);
  const unitMs = UNITS_MS[duration?.[2] ?? ''];
  let atMs = Number.NaN;
  if (duration !== null && unitMs !== undefined) atMs = nowMs + Number(duration[1]) * unitMs;
  else if (DATE.test(text)) atMs = dateMsOf(text);
  if (atMs <= LATEST_MS) return atMs;
  throw usageError(
    `\`${text}\` is not a time in the future: give a duration (30s, 15m, 1h, 2d, 3w, 1y) or a date (2027-01-01, UTC)`,
  );
}

/**
 * Returns the Unix time of a date, in milliseconds.
 *
 * @throws RangeError for an invalid date, and for times after the beginning of 2150
 */
export function unixTimeOfDate(date: Date): number {
  const atMs = date.getTime();
  if (Number.isNaN(atMs)) throw new RangeError('the date is invalid: it names no moment');
  if (atMs <= LATEST_MS) return atMs;
  throw new RangeError(`${date.toISOString()} is beyond the year 2149, where the time of a chain ends`);
}

/**
 * Returns the Unix time in milliseconds of a text with a date. The result is NaN if the month does not have the day, as
 * in 2027-02-30. `Date.parse` alone would read this date as March 2.
 */
function dateMsOf(text: string): number {
  const atMs = Date.parse(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text);
  const [year = 0, month = 0, day = 0] = text.slice(0, 'YYYY-MM-DD'.length).split('-').map(Number);
  const daysOfMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return day <= daysOfMonth ? atMs : Number.NaN;
}
