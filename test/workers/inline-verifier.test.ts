import { createHash } from 'node:crypto';
import test from 'ava';
import { createNoble, type Ed25519, type Ed25519Check } from '../../src/crypto/ed25519.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';

const noble = createNoble();
const keyPair = noble.keyPairOfSeed(Buffer.alloc(32, 3));

function counting(): { readonly ed25519: Ed25519; readonly asked: () => number } {
  let asked = 0;
  const verify = (check: Ed25519Check): boolean => {
    asked += 1;
    return noble.verify(check);
  };
  return { ed25519: { ...noble, verify }, asked: () => asked };
}

function signed(text: string): Ed25519Check {
  const message = createHash('sha256').update(text).digest();
  return { publicKey: keyPair.publicKey, message, signature: noble.sign(message, keyPair.privateKey) };
}

test('an answer is computed once, whether valid or not', async (t) => {
  const { ed25519, asked } = counting();
  const verifier = createInlineVerifier(ed25519, 10);
  const yes = signed('yes');
  const no = { ...yes, message: Buffer.alloc(32) };
  t.true(verifier.verify(yes));
  t.false(verifier.verify(no));
  t.deepEqual(await verifier.verifyAll([yes, no, yes]), [true, false, true]);
  t.is(asked(), 2);
});

test('key, message and signature are all part of the cache key', (t) => {
  const { ed25519, asked } = counting();
  const verifier = createInlineVerifier(ed25519, 10);
  const check = signed('parts');
  t.true(verifier.verify(check));
  for (const part of ['publicKey', 'message', 'signature'] as const) {
    const changed = Buffer.from(check[part]);
    changed[5] = (changed[5] ?? 0) ^ 1;
    t.false(verifier.verify({ ...check, [part]: changed }), part);
  }
  t.is(asked(), 4);
});

test('the least recently used answer is evicted first', (t) => {
  const { ed25519, asked } = counting();
  const verifier = createInlineVerifier(ed25519, 2);
  const [a, b, c] = [signed('a'), signed('b'), signed('c')];
  // The verifier stores each answer in a cache that evicts answers, and also under the check object for as long as this
  // object exists. The test verifies copies of the check objects, so that the verifier finds answers only in the cache.
  for (const check of [a, b, a, c]) verifier.verify({ ...check });
  t.is(asked(), 3);
  verifier.verify({ ...a });
  t.is(asked(), 3);
  verifier.verify({ ...b });
  t.is(asked(), 4);
});

test('a repeated check with the same object is answered without reading its bytes', (t) => {
  const { ed25519, asked } = counting();
  const verifier = createInlineVerifier(ed25519, 2);
  const [a, b, c] = [signed('a'), signed('b'), signed('c')];
  for (const check of [a, b, c, a, b, c]) t.true(verifier.verify(check));
  t.is(asked(), 3);
});

test('a message of any length is checked; bytes that cannot be a signature are not', (t) => {
  const { ed25519, asked } = counting();
  const verifier = createInlineVerifier(ed25519, 10);
  for (const message of [Buffer.alloc(0), Buffer.alloc(500, 1)]) {
    const signature = noble.sign(message, keyPair.privateKey);
    t.true(verifier.verify({ publicKey: keyPair.publicKey, message, signature }));
  }
  t.false(verifier.verify({ ...signed('x'), signature: Buffer.alloc(63) }));
  t.is(asked(), 2);
});
