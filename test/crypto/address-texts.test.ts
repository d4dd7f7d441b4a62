import test from 'ava';
import { addressAt } from '../../src/crypto/address-texts.ts';
import { u64be } from '../../src/primitives/bytes.ts';

const VALUES = [0n, 1n, 0xffn, 1n << 32n, (1n << 53n) + 1n, (1n << 63n) + 1n, 0xffff_ffff_ffff_ffffn];

test('eight bytes are read as the address of their number, at any offset', (t) => {
  for (const value of [...VALUES, ...VALUES]) {
    for (const before of [0, 1, 7]) {
      t.is(addressAt(Buffer.concat([Buffer.alloc(before, 7), u64be(value), Buffer.alloc(3)]), before), `${value}L`);
    }
  }
});

test('addresses that share a cache slot are distinguished', (t) => {
  const numbers = [1n, 1n + 65_536n, 1n + (1n << 32n), 1n, 0n, 1n << 63n, 0n];
  for (const value of numbers) t.is(addressAt(u64be(value), 0), `${value}L`);
});
