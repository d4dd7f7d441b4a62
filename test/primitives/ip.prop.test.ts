import { isIP } from 'node:net';
import test from 'ava';
import { ipBytes, isIpv4 } from '../../src/primitives/ip.ts';
import { ipScope } from '../../src/primitives/ip-scopes.ts';
import { fc } from '../support/fast-check.ts';

const odd = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.string({ maxLength: 40, unit: fc.constantFrom(...'0123456789abcdefF.:/%'.split('')) }),
);

test('a text is read as an address exactly when the runtime accepts it', (t) => {
  fc.assert(
    fc.property(odd, (text) => {
      t.is(isIpv4(text), isIP(text) === 4, text);
      // An IPv6 address may end with a zone (after `%`), which names a network interface of the machine. Node.js
      // accepts a zone, but `ipBytes` must refuse it, because addresses in the protocol have no zone.
      const family = text.includes('%') ? 0 : isIP(text);
      t.is(ipBytes(text)?.length, family === 0 ? undefined : family === 4 ? 4 : 16, text);
    }),
    { numRuns: 3_000 },
  );
});

test('numbers with leading zeros are not addresses', (t) => {
  for (const text of ['01.2.3.4', '1.2.3.004', '1.2.3', '1.2.3.4.', '256.1.1.1', '', 1234]) t.false(isIpv4(text));
  t.true(isIpv4('255.0.10.200'));
});

for (const [scope, addresses] of [
  ['global', ['1.1.1.1', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '169.253.1.1', '198.17.1.1']],
  [
    'global',
    ['198.20.0.1', '192.0.1.1', '223.255.255.255', '2606:4700::1111', '2001:200::1', '2003::1', '3fff:1000::'],
  ],
  ['global', ['::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', '::ffff:10.1.2.3']],
  ['private', ['2002:a01:203::1', '64:ff9b::c0a8:101']],
  ['loopback', ['127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1']],
  ['special', ['0.0.0.0', '0.1.2.3', '100.64.0.0', '100.127.255.255', '169.254.169.254', '192.0.0.8', '192.0.2.1']],
  ['special', ['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1']],
  ['special', ['255.255.255.255', '192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1']],
  ['special', ['::', 'fe80::1', 'febf::1', 'ff02::1', '100::1', '2001::1', '2001:1ff::', '2001:db8::1', '3fff::1']],
  ['special', ['5f00::1', '64:ff9b:1::1', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1']],
  ['special', ['::1.2.3.4', '2620:4f:8000::1', '100:0:0:1::1']],
] as const) {
  test(`${addresses.join(', ')}: ${scope}`, (t) => {
    for (const address of addresses) t.is(ipScope(address), scope, address);
  });
}

test('an address that embeds IPv4 has the scope of the IPv4 address', (t) => {
  fc.assert(
    fc.property(fc.ipV4(), (ip) => {
      const scope = ipScope(ip);
      const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      t.is(ipScope(`::ffff:${ip}`), scope);
      t.is(ipScope(`64:ff9b::${hex}`), scope);
      t.is(ipScope(`2002:${hex}::1`), scope);
    }),
  );
});

test('a text that is not an address has no scope', (t) => {
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', ':::', '1::2::3', '12345::', '1:2:3:4:5:6:7:8:9']) {
    t.is(ipScope(text), undefined, text);
  }
});
