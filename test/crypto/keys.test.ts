import test from 'ava';
import { fc } from '../support/fast-check.ts';
import * as reference from 'lisk-cryptography-2';
import { idOf, sha256, sha256Hex } from '../../src/crypto/hash.ts';
import { addressFault, addressOf, checkAddress, keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { hexOf, utf8 } from '../../src/primitives/bytes.ts';

test('a passphrase gives the published keys and the published address', (t) => {
  const passphrase = 'wear protect skill sentence lift enter wild sting lottery power floor neglect';
  const { publicKey, privateKey } = keyPairOfPassphrase(passphrase);
  t.is(
    hexOf(privateKey),
    '8f41ff1e75c4f0f8a71bae4952266928d0e91660fc513566ac694fed61157497efaf1d977897cb60d7db9d30e8fd668dee070ac0db1fb8d184c06152a8b75f8d',
  );
  t.is(hexOf(publicKey), hexOf(privateKey.subarray(32)));
  t.is(addressOf(hexOf(publicKey)), '2129300327344985743L');
});

test('a passphrase is neither trimmed nor normalised', (t) => {
  const key = (passphrase: string): string => hexOf(keyPairOfPassphrase(passphrase).publicKey);
  t.not(key('a b'), key('a b '));
  t.not(key('\u00e9'), key('e\u0301'));
});

test('keys and addresses of any passphrase match the reference package', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (passphrase) => {
      const expected = reference.getAddressAndPublicKeyFromPassphrase(passphrase);
      const publicKey = hexOf(keyPairOfPassphrase(passphrase).publicKey);
      return publicKey === expected.publicKey && addressOf(publicKey) === expected.address;
    }),
    { numRuns: 60 },
  );
  t.pass();
});

test('an address does not depend on the letter case of the key', (t) => {
  const key = '968ba2fa993ea9dc27ed740da0daf49eddd740dbd7cb1cb4fc5db3a20baf341b';
  t.is(addressOf(key), '12668885769632475474L');
  t.is(addressOf(key.toUpperCase()), '12668885769632475474L');
  t.is(addressOf(key), '12668885769632475474L');
});

test('a text that is not hexadecimal has no address', (t) => {
  t.throws(() => addressOf('xy'), { code: 'HEX_INVALID' });
  t.throws(() => addressOf('abc'), { code: 'HEX_INVALID' });
});

for (const address of ['0L', '1L', '12668885769632475474L', '18446744073709551615L']) {
  test(`${address} is an address`, (t) => {
    t.is(addressFault(address), undefined);
    t.notThrows(() => checkAddress(address));
  });
}

for (const [address, fault] of [
  ['L', /length does not match/],
  ['', /length does not match/],
  ['184467440737095516150000L', /length does not match/],
  ['123', /Expected "L" at the end/],
  ['123l', /Expected "L" at the end/],
  ['1.0L', /invalid character/],
  ['18446744073709551616L', /out of maximum range/],
  ['0123L', /number representation/],
  ['+1L', /number representation/],
  ['-1L', /number representation/],
  ['NaNL', /number representation/],
  ['1e3L', /number representation/],
] as const) {
  test(`"${address}" is not an address`, (t) => {
    t.regex(addressFault(address) ?? '', fault);
    t.throws(() => checkAddress(address), { code: 'ADDRESS_INVALID', message: fault });
  });
}

test('parts are hashed as one text, and an id is the first eight bytes of a hash in reverse', (t) => {
  t.is(hexOf(sha256(utf8('ab'), utf8('c'))), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  t.is(hexOf(sha256()), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  t.is(sha256Hex(utf8('ab'), utf8('c')), hexOf(sha256(utf8('abc'))));
  t.is(idOf(utf8('abc')), BigInt('0xeacf018fbf1678ba').toString());
});
