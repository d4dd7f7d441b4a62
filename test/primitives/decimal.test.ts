/**
 * Tests decimal numbers. For each text, `decimalOf` must return the same number as the number library of the reference.
 */

import { createRequire } from 'node:module';
import test from 'ava';
import { decimalOf, DecimalSum, integerOf, type Decimal } from '../../src/primitives/decimal.ts';
import { fc } from '../support/fast-check.ts';

interface ReferenceNumber {
  isFinite(): boolean;
  toFixed(): string;
}
const require = createRequire(import.meta.url);
const Reference = createRequire(require.resolve('lisk-transactions-3'))('@liskhq/bignum') as new (
  text: string,
) => ReferenceNumber;

/**
 * Returns the number in `text` as the reference reads it, without an exponent. Returns undefined if `text` means
 * infinity, or if it is not a number.
 */
function referenceText(text: string): string | undefined {
  try {
    const number = new Reference(text);
    return number.isFinite() ? number.toFixed().replace(/^-0$/, '0') : undefined;
  } catch {
    return undefined;
  }
}

function textOf({ isNegative, digits, exponent }: Decimal): string {
  if (digits === '') return '0';
  const whole = digits + '0'.repeat(Math.max(0, exponent));
  const padded = whole.padStart(1 - exponent, '0');
  const point = padded.length + Math.min(0, exponent);
  return `${isNegative ? '-' : ''}${padded.slice(0, point)}${exponent < 0 ? `.${padded.slice(point)}` : ''}`;
}

const ZEROS = '0'.repeat(1_100);
const TEXTS = [
  ...['0', '-0', '7', '007', '+7', ' 7 ', '7.', '.5', '0.50', '-1.25', '1e3', '1E+3', '15e-1', '1e-3', '100e-2'],
  ...[
    '0e99999',
    '0e1001',
    '0e+1001',
    '0e-99999',
    '-0e99999',
    '0.0e5000',
    '0e1000000001',
    '0e2147483647',
    '0e-99999999999999',
  ],
  ...[`5.${ZEROS}`, `${ZEROS}5`, `0.${ZEROS}`, ZEROS, `5${ZEROS}e-1100`, `0.${ZEROS}5e1101`, `${ZEROS}e99999999999`],
  ...[
    '',
    ' ',
    '.',
    '-',
    'e5',
    '5e',
    '5e+',
    '1e1e1',
    '0x10',
    '1_0',
    '１',
    'Infinity',
    `1${ZEROS}1`,
    '1e1001',
    '-7.5e-1001',
    'NaN',
    '1e5.5',
    '--1',
    '5e-1000000001',
    '5e1000000001',
  ],
];

for (const text of TEXTS)
  test(`${text.length > 40 ? `${text.slice(0, 12)} of ${text.length} characters` : JSON.stringify(text)} is the number that the reference reads`, (t) => {
    const number = decimalOf(text);
    t.is(number === undefined ? undefined : textOf(number), referenceText(text));
  });

const number = (text: string): Decimal => {
  const read = decimalOf(text);
  if (read === undefined) throw new Error(`${text.slice(0, 40)} is not a number`);
  return read;
};

function sumOf(texts: readonly string[]): DecimalSum {
  const sum = new DecimalSum();
  for (const text of texts) sum.add(number(text));
  return sum;
}

test('numbers of any size cancel out, whatever their exponents', (t) => {
  const SUMS: readonly (readonly [readonly string[], bigint | undefined])[] = [
    [['1e1001', '-1e1001'], 0n],
    [['1e1001', '7', '-1e1001'], 7n],
    [['1e999999999', '7', '-1e999999999'], 7n],
    [['1e-999999999', '7', '-1e-999999999'], 7n],
    [['1e1001', '-1e1000'], undefined],
    [['1e1001', ...Array.from({ length: 10 }, () => '-1e1000')], 0n],
    [['1e42', `-${'9'.repeat(42)}`], 1n],
    [[`-1e42`, '9'.repeat(42)], -1n],
    [['1e1000000', '-1'], undefined],
    [['-1e1000000', '1'], undefined],
    [['0.5', '0.5'], 1n],
    [['0.5', '-0.25'], undefined],
    [['1e-20', '1e20', '-1e20', '-1e-20'], 0n],
    [['7'.repeat(1_000_000), `-${'7'.repeat(999_999)}0`], 7n],
    [[], 0n],
  ];
  for (const [texts, expected] of SUMS) t.is(sumOf(texts).integer(), expected, texts.join(' + ').slice(0, 80));
  t.is(sumOf(['-1e1000000', '1']).sign(), -1);
  t.is(sumOf(['1e1000000', '-1']).sign(), 1);
  t.is(sumOf(['1e-1000000', '-1e-1000000']).sign(), 0);
});

test('a sum agrees with exact arithmetic', (t) => {
  const term = fc.record({
    coefficient: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    exponent: fc.integer({ min: -40, max: 40 }),
    isWhole: fc.boolean(),
    isSubtracted: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(term, { maxLength: 150 }), (terms) => {
      const sum = new DecimalSum();
      // The exact sum as an integer, in units of 10^-40.
      let exact = 0n;
      for (const { coefficient, exponent, isWhole, isSubtracted } of terms) {
        if (isWhole) sum.addInteger(coefficient);
        else if (isSubtracted) sum.subtract(number(`${coefficient}e${exponent}`));
        else sum.add(number(`${coefficient}e${exponent}`));
        const units = coefficient * 10n ** BigInt(isWhole ? 40 : exponent + 40);
        exact += !isWhole && isSubtracted ? -units : units;
      }
      t.is(sum.sign(), exact === 0n ? 0 : exact < 0n ? -1 : 1);
      const [whole, rest] = [exact / 10n ** 40n, exact % 10n ** 40n];
      const isRepresentable = rest === 0n && whole < 10n ** 42n && whole > -(10n ** 42n);
      const result = sum.integer();
      // `integer` returns undefined if a sum has decimal terms and more than 48 digits. The test does not check this
      // limit exactly: for an integer sum of more than 42 digits, it accepts either the sum or undefined.
      if (isRepresentable) t.is(result, whole);
      else if (result !== undefined) t.is(result, whole);
      if (rest !== 0n) t.is(result, undefined);
    }),
    { numRuns: 500 },
  );
});

test('a number is an integer when it has no fraction and at most forty digits', (t) => {
  t.is(integerOf(number('-1.5e1')), -15n);
  t.is(integerOf(number('0e999')), 0n);
  t.is(integerOf(number('1e39')), 10n ** 39n);
  t.is(integerOf(number('1e40')), undefined);
  t.is(integerOf(number('1.5')), undefined);
});
