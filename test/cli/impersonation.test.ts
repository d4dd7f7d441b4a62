import test from 'ava';
import { Impersonation } from '../../src/cli/devnet/impersonation.ts';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { keyPairOf } from '../support/chain-maker.ts';

const ed25519 = selectEd25519();
const message = new Uint8Array(32).fill(7);

function checkOf(name: string, isSigned: boolean) {
  const { publicKey, privateKey } = keyPairOf(name);
  return { publicKey, message, signature: isSigned ? ed25519.sign(message, privateKey) : new Uint8Array(64) };
}

test('signatures of impersonated keys are accepted, all others are checked as usual', async (t) => {
  const impersonation = new Impersonation([hexOf(keyPairOf('a').publicKey)]);
  const verifier = impersonation.verifier(createInlineVerifier(ed25519, 100));
  const checks = [checkOf('b', true), checkOf('a', false), checkOf('b', false), checkOf('a', true), checkOf('c', true)];
  t.deepEqual(await verifier.verifyAll(checks), [true, true, false, true, true]);
  t.deepEqual(checks.map(verifier.verify), [true, true, false, true, true]);
  const wrapped = impersonation.ed25519(ed25519);
  t.deepEqual(checks.map(wrapped.verify), [true, true, false, true, true]);
});

test('a signature that was refused before is accepted once its key is impersonated', (t) => {
  const impersonation = new Impersonation([]);
  const verifier = impersonation.verifier(createInlineVerifier(ed25519, 100));
  const check = checkOf('a', false);
  t.false(verifier.verify(check));
  impersonation.add([hexOf(check.publicKey)]);
  t.true(verifier.verify(check));
});
