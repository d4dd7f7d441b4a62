import { Point } from '@noble/ed25519';
import test from 'ava';
import { fc } from '../support/fast-check.ts';
import { createNoble, loadSodium } from '../../src/crypto/ed25519.ts';
import { bytesOfHex } from '../../src/primitives/bytes.ts';
import { sha512 } from '@noble/hashes/sha2.js';

const noble = createNoble();
const sodium = loadSodium() ?? noble;

const ORDER = Point.CURVE().n;
/** A point of order 8. The eight multiples of this point are the only points of small order. */
const TORSION = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', true);

const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
const scalar = fc.bigInt({ min: 1n, max: ORDER - 1n });
const small = fc.integer({ min: 0, max: 7 });

function littleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

function integerOf(digest: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(digest).reverse().toString('hex')}`);
}

test('both backends agree on signatures whose points have parts of small order', (t) => {
  let accepted = 0;
  fc.assert(
    fc.property(scalar, scalar, small, small, bytes(32), fc.boolean(), (a, r, tA, tR, message, above) => {
      const A = Buffer.from(
        Point.BASE.multiply(a)
          .add(TORSION.multiply(BigInt(tA), false))
          .toBytes(),
      );
      const R = Buffer.from(
        Point.BASE.multiply(r)
          .add(TORSION.multiply(BigInt(tR), false))
          .toBytes(),
      );
      const h = integerOf(sha512(Buffer.concat([R, A, message]))) % ORDER;
      const s = (r + h * a) % ORDER;
      const S = littleEndian(above ? s + ORDER : s);
      const check = { publicKey: A, message, signature: Buffer.concat([R, S]) };
      const answer = noble.verify(check);
      if (answer) accepted += 1;
      return answer === sodium.verify(check) && !(above && answer);
    }),
    { numRuns: 150 },
  );
  t.true(accepted > 0);
});

test('both backends agree on honest signatures with one bit changed', (t) => {
  fc.assert(
    fc.property(bytes(32), bytes(32), fc.integer({ min: 0, max: 128 * 8 - 1 }), (seed, message, bit) => {
      const { publicKey, privateKey } = sodium.keyPairOfSeed(seed);
      const honest = Buffer.concat([publicKey, message, sodium.sign(message, privateKey)]);
      const check = (all: Buffer) => ({
        publicKey: all.subarray(0, 32),
        message: all.subarray(32, 64),
        signature: all.subarray(64),
      });
      if (!noble.verify(check(honest)) || !sodium.verify(check(honest))) return false;
      const changed = Buffer.from(honest);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return !noble.verify(check(changed)) && !sodium.verify(check(changed));
    }),
    { numRuns: 150 },
  );
  t.pass();
});

test('both backends agree on points of small order, non-canonical points and random bytes', (t) => {
  const p = 2n ** 255n - 19n;
  const odd = fc.oneof(
    small.map((k) => Buffer.from(TORSION.multiply(BigInt(k), false).toBytes())),
    fc.bigInt({ min: p, max: 2n ** 255n - 1n }).map(littleEndian),
    bytes(32).map((random) => Buffer.from(random)),
    fc.constantFrom('00'.repeat(32), 'ff'.repeat(32), `01${'00'.repeat(30)}80`).map((hex) => bytesOfHex(hex)),
  );
  const s = fc.oneof(scalar, fc.constant(0n), fc.bigInt({ min: ORDER, max: 2n ** 256n - 1n })).map(littleEndian);
  fc.assert(
    fc.property(odd, odd, s, bytes(32), (publicKey, R, S, message) => {
      const check = { publicKey, message, signature: Buffer.concat([R, S]) };
      return noble.verify(check) === sodium.verify(check);
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('both backends derive the same keys and make the same signatures', (t) => {
  fc.assert(
    fc.property(bytes(32), bytes(32), (seed, message) => {
      const [one, other] = [noble.keyPairOfSeed(seed), sodium.keyPairOfSeed(seed)];
      if (Buffer.compare(one.privateKey, other.privateKey) !== 0) return false;
      return Buffer.compare(noble.sign(message, one.privateKey), sodium.sign(message, one.privateKey)) === 0;
    }),
    { numRuns: 50 },
  );
  t.pass();
});
