import test from 'ava';
import { parseTime, unixTimeOfDate } from '../../src/cli/devnet/parse-time.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

test('durations count from the current time, and dates are in UTC', (t) => {
  t.is(parseTime('90s', NOW_MS), NOW_MS + 90_000);
  t.is(parseTime('15m', NOW_MS), NOW_MS + 900_000);
  t.is(parseTime('1h', NOW_MS), NOW_MS + 3_600_000);
  t.is(parseTime('2d', NOW_MS), Date.UTC(2026, 0, 3));
  t.is(parseTime('3w', NOW_MS), Date.UTC(2026, 0, 22));
  t.is(parseTime('1y', NOW_MS), Date.UTC(2027, 0, 1));
  t.is(parseTime('2027-01-01', NOW_MS), Date.UTC(2027, 0, 1));
  t.is(parseTime('2027-01-01T12:30', NOW_MS), Date.UTC(2027, 0, 1, 12, 30));
  t.is(parseTime('2027-01-01T12:30:05.5Z', NOW_MS), Date.UTC(2027, 0, 1, 12, 30, 5, 500));
});

test('any other text is refused, and so is a time outside the range of chain time', (t) => {
  for (const text of [
    '',
    'h',
    '1',
    '-1h',
    '1.5h',
    '1 h',
    '2027',
    '2027-13-01',
    '2027-01-01T12',
    '9999999999y',
    '2150-01-02',
  ]) {
    t.throws(() => parseTime(text, NOW_MS), { code: 'USAGE', message: /is not a time in the future/ }, text);
  }
});

test('a day that the month does not have is refused, not moved to the next month', (t) => {
  for (const text of ['2030-02-30', '2031-02-29', '2030-04-31', '2030-02-30T12:00', '2030-01-32', '2030-01-00']) {
    t.throws(() => parseTime(text, NOW_MS), { code: 'USAGE', message: /is not a time in the future/ }, text);
  }
  t.is(parseTime('2028-02-29', NOW_MS), Date.UTC(2028, 1, 29));
  t.is(parseTime('2030-12-31T23:59', NOW_MS), Date.UTC(2030, 11, 31, 23, 59));
});

test('an invalid date, and a date outside the range of chain time, are refused', (t) => {
  t.is(unixTimeOfDate(new Date(NOW_MS)), NOW_MS);
  t.throws(() => unixTimeOfDate(new Date('x')), { instanceOf: RangeError, message: /invalid/ });
  t.throws(() => unixTimeOfDate(new Date(8.64e15)), { instanceOf: RangeError, message: /2149/ });
});
