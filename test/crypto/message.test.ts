import { createRequire } from 'node:module';
import test from 'ava';
import { createNoble, selectEd25519 } from '../../src/crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { isMessageSigned, messageDigest, signMessage } from '../../src/crypto/message.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { fc } from '../support/fast-check.ts';

interface Oracle {
  digestMessage(message: string): Buffer;
  signMessageWithPassphrase(
    message: string,
    passphrase: string,
  ): { message: string; publicKey: string; signature: string };
}

const oracle = createRequire(import.meta.url)('lisk-cryptography-2') as Oracle;
const PASSPHRASE = 'wagon stock borrow episode laundry kitten salute link globe zero feed marble';
const ed25519 = selectEd25519();

test('a message is signed as by the reference library, whatever its letters and length', (t) => {
  const keyPair = keyPairOfPassphrase(PASSPHRASE);
  const texts = ['', 'hello', 'Grüße 🌋 漢字', 'a'.repeat(252), 'a'.repeat(253), '🌋'.repeat(200), 'a'.repeat(65_536)];
  for (const message of texts) {
    t.is(hexOf(messageDigest(message)), oracle.digestMessage(message).toString('hex'));
    t.deepEqual(signMessage(message, keyPair, ed25519), oracle.signMessageWithPassphrase(message, PASSPHRASE));
  }
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (message) => {
      t.is(hexOf(messageDigest(message)), oracle.digestMessage(message).toString('hex'));
    }),
  );
});

for (const backend of [ed25519, createNoble()]) {
  test(`${backend.backend}: a signature with another message, key or byte is invalid`, (t) => {
    const signed = signMessage('pay me', keyPairOfPassphrase(PASSPHRASE), backend);
    const other = signMessage('pay me', keyPairOfPassphrase('another'), backend);
    t.true(isMessageSigned(signed, backend));
    t.false(isMessageSigned({ ...signed, message: 'pay you' }, backend));
    t.false(isMessageSigned({ ...signed, publicKey: other.publicKey }, backend));
    const flipped = `${signed.signature.startsWith('0') ? '1' : '0'}${signed.signature.slice(1)}`;
    t.false(isMessageSigned({ ...signed, signature: flipped }, backend));
  });
}
