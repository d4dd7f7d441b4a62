/** Decimal numbers, beside the number library that the reference reads them with. */

import { createRequire } from 'node:module';
import test from 'ava';
import { decimalOf, textOfDecimal } from '../../src/primitives/decimal.ts';

interface ReferenceNumber {
  isFinite(): boolean;
  toFixed(): string;
}
const require = createRequire(import.meta.url);
const Reference = createRequire(require.resolve('lisk-transactions-3'))('@liskhq/bignum') as new (
  text: string,
) => ReferenceNumber;

/** Plain decimal text; undefined for what is no number, and for what is infinite. */
function referenceText(text: string): string | undefined {
  try {
    const number = new Reference(text);
    return number.isFinite() ? number.toFixed().replace(/^-0$/, '0') : undefined;
  } catch {
    return undefined;
  }
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
    t.is(number === undefined ? undefined : textOfDecimal(number), referenceText(text));
  });

test('what takes seconds to reckon with is no number: a thousand digits and places are the most', (t) => {
  t.is(decimalOf('1'.repeat(1_000))?.scale, 0);
  t.is(decimalOf('1'.repeat(1_001)), undefined);
  t.not(decimalOf('1e1000'), undefined);
  t.is(decimalOf('1e1001'), undefined);
  t.is(decimalOf('1e-1001'), undefined);
  t.is(decimalOf(`1${'0'.repeat(2_000_000)}1`), undefined);
});
