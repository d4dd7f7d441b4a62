import test from 'ava';
import {
  checkBackend,
  createNoble,
  defaultEd25519,
  loadSodium,
  selectEd25519,
  type Ed25519,
} from '../../src/crypto/ed25519.ts';
import { ED25519_VECTORS } from '../../src/crypto/ed25519-vectors.ts';
import { bytesOfHex, hexOf } from '../../src/primitives/bytes.ts';

const native = loadSodium();
const backends: readonly Ed25519[] = native === undefined ? [createNoble()] : [createNoble(), native];

for (const ed25519 of backends) {
  const { backend } = ed25519;

  for (const [number, vector] of ED25519_VECTORS.entries()) {
    test(`${backend} ${vector.accepted ? 'accepts' : 'refuses'} edge case ${number}: ${vector.about}`, (t) => {
      const answer = ed25519.verify({
        publicKey: bytesOfHex(vector.publicKey),
        message: bytesOfHex(vector.message),
        signature: bytesOfHex(vector.signature),
      });
      t.is(answer, vector.accepted);
    });
  }

  test(`${backend} signs as RFC 8032 specifies and accepts its own signature`, (t) => {
    // RFC 8032, section 7.1, test 2
    const { publicKey, privateKey } = ed25519.keyPairOfSeed(
      bytesOfHex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'),
    );
    t.is(hexOf(publicKey), '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c');
    const message = Uint8Array.of(0x72);
    const signature = ed25519.sign(message, privateKey);
    t.is(
      hexOf(signature),
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    );
    t.true(ed25519.verify({ publicKey, message, signature }));
    t.false(ed25519.verify({ publicKey, message: Uint8Array.of(0x73), signature }));
  });

  test(`${backend} rejects keys and signatures of a wrong length`, (t) => {
    const { publicKey, privateKey } = ed25519.keyPairOfSeed(new Uint8Array(32).fill(3));
    const message = new Uint8Array(32);
    const signature = ed25519.sign(message, privateKey);
    t.false(ed25519.verify({ publicKey: publicKey.subarray(1), message, signature }));
    t.false(ed25519.verify({ publicKey, message, signature: signature.subarray(0, 63) }));
    t.false(ed25519.verify({ publicKey, message, signature: Buffer.concat([signature, Buffer.alloc(1)]) }));
    t.false(ed25519.verify({ publicKey: new Uint8Array(), message, signature: new Uint8Array() }));
  });

  test(`${backend} refuses seeds and private keys of a wrong length`, (t) => {
    t.throws(() => ed25519.keyPairOfSeed(new Uint8Array(31)), { code: 'KEY_LENGTH_WRONG' });
    t.throws(() => ed25519.sign(new Uint8Array(1), new Uint8Array(32)), { code: 'KEY_LENGTH_WRONG' });
  });

  test(`${backend} accepts bytes in shared memory`, (t) => {
    const { publicKey, privateKey } = ed25519.keyPairOfSeed(new Uint8Array(32).fill(9));
    const message = new Uint8Array(new SharedArrayBuffer(32)).fill(5);
    const signature = new Uint8Array(new SharedArrayBuffer(64));
    signature.set(ed25519.sign(Uint8Array.from(message), privateKey));
    t.true(ed25519.verify({ publicKey, message, signature }));
  });
}

test('a backend that answers a test vector differently is not used', (t) => {
  const lenient: Ed25519 = { ...createNoble(), verify: () => true };
  const error = t.throws(() => checkBackend(lenient), { code: 'ED25519_BACKEND_WRONG' });
  t.regex(error.message, /noble/);
  t.regex(error.message, /S is zero/);
  const strict: Ed25519 = { ...createNoble(), verify: () => false };
  t.throws(() => checkBackend(strict), { code: 'ED25519_BACKEND_WRONG' });
});

test('the native backend is used where it loads, the portable one on request', (t) => {
  t.is(selectEd25519().backend, native === undefined ? 'noble' : 'sodium');
  t.is(selectEd25519('noble').backend, 'noble');
  t.is(defaultEd25519(), defaultEd25519());
});
