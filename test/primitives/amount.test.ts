import test from 'ava';
import { amountOfDigits, lskText } from '../../src/primitives/amount.ts';

test('amounts are shown in LSK without trailing zeros or exponent', (t) => {
  t.is(lskText(0n), '0');
  t.is(lskText(10_000_000n), '0.1');
  t.is(lskText(1_200_000_001n), '12.00000001');
  t.is(lskText(-5n), '-0.00000005');
  t.is(lskText(10_000_000_000_000_000n), '100000000');
});

test('only texts of digits are amounts', (t) => {
  t.is(amountOfDigits('0123'), 123n);
  for (const odd of ['', '-1', '+1', '1.5', '1e3', ' 1', 1, null, undefined, {}]) t.is(amountOfDigits(odd), undefined);
});
