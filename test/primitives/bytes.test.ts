import test from 'ava';
import { ProtocolError } from '../../src/primitives/errors.ts';
import {
  bytesEqual,
  bytesOfHex,
  hexOf,
  isCanonicalHex,
  isHex,
  isU64Decimal,
  readU64BE,
  u64be,
} from '../../src/primitives/bytes.ts';

test('hexadecimal text in either case becomes bytes, and bytes become lower-case text', (t) => {
  t.is(hexOf(bytesOfHex('00FFab')), '00ffab');
  t.true(isHex('00FFab'));
  t.true(isCanonicalHex('00ffab', 3));
  t.false(isCanonicalHex('00FFab', 3));
  t.false(isCanonicalHex('00ff', 3));
});

test('only the sixteen digits are accepted, at any position', (t) => {
  const text = '0123456789abcdef'.repeat(8);
  t.true(isCanonicalHex(text, 64));
  t.true(isCanonicalHex('', 0));
  for (let code = 0; code < 0x180; code += 1) {
    const character = String.fromCharCode(code);
    const isDigit = /[0-9a-f]/.test(character);
    for (const at of [0, 1, 64, 127]) {
      t.is(isCanonicalHex(text.slice(0, at) + character + text.slice(at + 1), 64), isDigit, `${code} at ${at}`);
    }
  }
});

for (const odd of ['0', '0g', 'abc', '0x00', ' 00']) {
  test(`"${odd}" is not a hexadecimal text`, (t) => {
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

test('an integer is written big-endian in eight bytes', (t) => {
  t.is(hexOf(u64be(1n)), '0000000000000001');
  t.is(hexOf(u64be(0x0123_4567_89ab_cdefn)), '0123456789abcdef');
  t.is(hexOf(u64be(2n ** 64n - 1n)), 'ff'.repeat(8));
  for (const wrong of [-1n, 2n ** 64n]) t.throws(() => u64be(wrong), { instanceOf: RangeError });
});

test('byte arrays are equal when all bytes are', (t) => {
  t.true(bytesEqual(bytesOfHex('0102'), bytesOfHex('0102')));
  t.false(bytesEqual(bytesOfHex('0102'), bytesOfHex('0103')));
  t.false(bytesEqual(bytesOfHex('0102'), bytesOfHex('010203')));
});

test('a 64-bit integer is read as it was written, below and above the largest exact number', (t) => {
  const safe = BigInt(Number.MAX_SAFE_INTEGER);
  for (const value of [0n, 1n, 0xffff_ffffn, 1n << 32n, safe - 1n, safe, safe + 1n, safe + 2n, (1n << 64n) - 1n]) {
    t.is(readU64BE(Buffer.concat([Buffer.alloc(3, 9), u64be(value)]), 3), value);
  }
});
