import test from 'ava';
import { ProtocolError } from '../../src/primitives/errors.ts';
import {
  bytesEqual,
  bytesOfHex,
  decimalOfFirst8BytesLE,
  hexOf,
  isCanonicalHex,
  isHex,
  isU64Decimal,
  u64be,
} from '../../src/primitives/bytes.ts';

test('hexadecimal text of either case becomes bytes, and bytes lower-case text', (t) => {
  t.is(hexOf(bytesOfHex('00FFab')), '00ffab');
  t.true(isHex('00FFab'));
  t.true(isCanonicalHex('00ffab', 3));
  t.false(isCanonicalHex('00FFab', 3));
  t.false(isCanonicalHex('00ff', 3));
});

for (const odd of ['0', '0g', 'abc', '0x00', ' 00']) {
  test(`"${odd}" is no hexadecimal text`, (t) => {
    t.false(isHex(odd));
    t.is(t.throws(() => bytesOfHex(odd), { instanceOf: ProtocolError })?.code, 'HEX_INVALID');
  });
}

test('ids are canonical decimal text of 64 bits', (t) => {
  for (const good of ['0', '1', '18446744073709551615']) t.true(isU64Decimal(good));
  for (const bad of ['', '00', '01', '-1', '+1', '18446744073709551616', '1.0', '1e3', '999999999999999999999']) {
    t.false(isU64Decimal(bad));
  }
});

test('the first eight bytes are read as a little-endian integer', (t) => {
  t.is(decimalOfFirst8BytesLE(bytesOfHex('0100000000000000ffff')), '1');
  t.is(decimalOfFirst8BytesLE(bytesOfHex('ffffffffffffffff')), '18446744073709551615');
  t.is(hexOf(u64be(1n)), '0000000000000001');
});

test('bytes are equal when all of them are', (t) => {
  t.true(bytesEqual(bytesOfHex('0102'), bytesOfHex('0102')));
  t.false(bytesEqual(bytesOfHex('0102'), bytesOfHex('0103')));
  t.false(bytesEqual(bytesOfHex('0102'), bytesOfHex('010203')));
});
