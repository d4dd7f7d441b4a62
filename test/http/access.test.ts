/** Tests which addresses become trusted by an entry of `http.accessWhitelist`. */

import test from 'ava';
import { createTrust } from '../../src/http/access.ts';

const isTrusted = (entry: string, address: string): boolean =>
  createTrust({ access: { public: true, whiteList: [entry] } })(address);

for (const [entry, address, expected] of [
  ['10.0.0.0/8', '10.1.2.3', true],
  ['10.0.0.0/7', '10.1.2.3', false],
  ['0.0.0.0/0', '10.1.2.3', false],
  ['2001:db8::/32', '2001:db8::1', true],
  ['2001:db8::/31', '2001:db8::1', false],
  ['::ffff:10.0.0.0/104', '10.1.2.3', true],
  ['::ffff:10.0.0.0/103', '10.1.2.3', false],
  ['::FFFF:0:0/96', '10.1.2.3', false],
  ['0:0:0:0:0:ffff:0.0.0.0/96', '10.1.2.3', false],
  ['::/64', '10.1.2.3', false],
  ['::/64', '::ffff:10.1.2.3', false],
] as const)
  test(`${entry} ${expected ? 'makes' : 'does not make'} ${address} trusted`, (t) => {
    t.is(isTrusted(entry, address), expected);
  });

test('this machine is trusted with any list', (t) => {
  t.true(isTrusted('10.1.2.3', '127.0.0.1'));
  t.false(isTrusted('10.1.2.3', '127.0.0.2'));
});
