/**
 * Makes and checks Ed25519 signatures. This module accepts exactly the signatures that libsodium 1.0.16 to 1.0.22
 * accepts. A valid signature (R, S) meets four conditions. S is below the group order. The encoding of the public key
 * is canonical. Neither the public key nor R has small order. The verification equation holds without a cofactor. Other
 * libraries accept signatures and keys that break some of the conditions. Two nodes that disagree about a signature
 * would follow different chains. Both implementations (backends) of this module therefore check the first three
 * conditions before they check the equation. `selectEd25519` also tests the selected backend with published edge cases
 * (`ed25519-vectors.ts`).
 */

import { createRequire } from 'node:module';
import * as noble from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2.js';
import { bytesEqual, bytesOfHex } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { ED25519_VECTORS } from './ed25519-vectors.ts';

export type Ed25519Backend = 'sodium' | 'noble';

/** Mean time of one signature check in milliseconds, in a batch of 225 checks on a server with a 2.5 GHz processor. */
export const CHECK_MS: Readonly<Record<Ed25519Backend, number>> = { sodium: 0.065, noble: 1.3 };

/** The input of a signature check: `signature` has 64 bytes, `publicKey` has 32 bytes. */
export interface Ed25519Check {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** A public key of 32 bytes, and a private key of 64 bytes (the seed followed by the public key). */
export interface Ed25519KeyPair {
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}

export interface Ed25519 {
  readonly backend: Ed25519Backend;
  /**
   * @param privateKey 64 bytes, seed followed by the public key
   * @throws ProtocolError `KEY_LENGTH_WRONG` if the private key does not have 64 bytes
   */
  sign(message: Uint8Array, privateKey: Uint8Array): Buffer;
  /** Returns true if the signature is valid. For malformed input, the method returns false; it never throws. */
  verify(check: Ed25519Check): boolean;
  /** @throws ProtocolError `KEY_LENGTH_WRONG` if the seed does not have 32 bytes */
  keyPairOfSeed(seed: Uint8Array): Ed25519KeyPair;
}

/**
 * Selects the preferred backend. If `sodium` is preferred but not available, the function selects `noble`. The function
 * checks the selected backend, `sodium` or `noble`, with the edge cases of `ed25519-vectors.ts`.
 *
 * @param prefer name of the preferred backend; by default `sodium`, the native library
 * @throws ProtocolError `ED25519_BACKEND_WRONG` if the backend gives a wrong answer to an edge case
 */
export function selectEd25519(prefer: Ed25519Backend = 'sodium'): Ed25519 {
  const chosen = (prefer === 'sodium' ? loadSodium() : undefined) ?? createNoble();
  checkBackend(chosen);
  return chosen;
}

let fallback: Ed25519 | undefined;

/**
 * Returns the backend of this process. The first call selects the backend with `selectEd25519`.
 *
 * @throws ProtocolError in the same cases as `selectEd25519`
 */
export function defaultEd25519(): Ed25519 {
  fallback ??= selectEd25519();
  return fallback;
}

/** @throws ProtocolError `ED25519_BACKEND_WRONG` with the first edge case that got a wrong answer */
export function checkBackend(backend: Ed25519): void {
  for (const vector of ED25519_VECTORS) {
    const answer = backend.verify({
      publicKey: bytesOfHex(vector.publicKey),
      message: bytesOfHex(vector.message),
      signature: bytesOfHex(vector.signature),
    });
    if (answer !== vector.accepted) {
      throw new ProtocolError('ED25519_BACKEND_WRONG', { backend: backend.backend, case: vector.about });
    }
  }
}

interface Sodium {
  crypto_sign_seed_keypair(publicKey: Buffer, privateKey: Buffer, seed: Uint8Array): void;
  crypto_sign_detached(signature: Buffer, message: Uint8Array, privateKey: Uint8Array): void;
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): unknown;
}

/** Loads the native library. Returns undefined if the library is not installed or does not load on this platform. */
export function loadSodium(): Ed25519 | undefined {
  let sodium: Sodium;
  try {
    sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch {
    // The native library is optional. If the library is missing, `selectEd25519` uses the backend in JavaScript.
    return undefined;
  }
  return {
    backend: 'sodium',
    sign(message, privateKey) {
      expectLength(privateKey, 64, 'private key');
      const signature = Buffer.alloc(64);
      sodium.crypto_sign_detached(signature, message, privateKey);
      return signature;
    },
    verify({ publicKey, message, signature }) {
      if (!mayBeValid(publicKey, signature)) return false;
      // For bytes in shared memory, `sodium-native` returns `undefined`. `owned` therefore copies such bytes before the
      // call. Only a result of `true` counts as valid.
      return sodium.crypto_sign_verify_detached(owned(signature), owned(message), owned(publicKey)) === true;
    },
    keyPairOfSeed(seed) {
      expectLength(seed, 32, 'seed');
      const publicKey = Buffer.alloc(32);
      const privateKey = Buffer.alloc(64);
      sodium.crypto_sign_seed_keypair(publicKey, privateKey, owned(seed));
      return { publicKey, privateKey };
    },
  };
}

/**
 * Creates the backend in JavaScript, which runs on every platform. This backend computes the equation on curve points
 * itself, because no mode of `@noble/ed25519` accepts exactly the signatures that libsodium accepts.
 */
export function createNoble(): Ed25519 {
  noble.hashes.sha512 = sha512;
  return {
    backend: 'noble',
    sign(message, privateKey) {
      expectLength(privateKey, 64, 'private key');
      return Buffer.from(noble.sign(message, privateKey.subarray(0, 32)));
    },
    verify({ publicKey, message, signature }) {
      if (!mayBeValid(publicKey, signature)) return false;
      return equationHolds(publicKey, message, signature);
    },
    keyPairOfSeed(seed) {
      expectLength(seed, 32, 'seed');
      const publicKey = Buffer.from(noble.getPublicKey(seed));
      return { publicKey, privateKey: Buffer.concat([seed, publicKey]) };
    },
  };
}

/**
 * Computes S*B - h*A, encodes the point, and compares the bytes with R. B is the base point, A is the public key, and h
 * is the SHA-512 digest of R, A and the message, reduced modulo the group order. The comparison of bytes also refuses
 * every non-canonical R.
 */
function equationHolds(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  let a: noble.Point;
  try {
    a = noble.Point.fromBytes(publicKey, true);
  } catch {
    // If the bytes are not a point of the curve, the key is invalid, so the signature is invalid.
    return false;
  }
  const r = signature.subarray(0, 32);
  const s = integerOfLE(signature.subarray(32));
  const h = integerOfLE(sha512.create().update(r).update(publicKey).update(message).digest()) % GROUP_ORDER;
  const point = noble.Point.BASE.multiply(s, false).subtract(a.multiply(h, false));
  return bytesEqual(point.toBytes(), r);
}

const GROUP_ORDER = noble.Point.CURVE().n;

/** The group order, little-endian. */
const ORDER_LE = bytesOfHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010');

/**
 * The y coordinates of all points with small order, in canonical and in non-canonical encoding. Each coordinate is
 * little-endian, without the sign bit.
 */
const SMALL_ORDER_Y = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map((hex) => bytesOfHex(hex));

function mayBeValid(publicKey: Uint8Array, signature: Uint8Array): boolean {
  return (
    publicKey.length === 32 &&
    signature.length === 64 &&
    isBelowOrder(signature.subarray(32)) &&
    isCanonicalY(publicKey) &&
    !hasSmallOrder(publicKey) &&
    !hasSmallOrder(signature)
  );
}

function isBelowOrder(s: Uint8Array): boolean {
  for (let i = 31; i >= 0; i -= 1) {
    const difference = (s[i] ?? 0) - (ORDER_LE[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** True if y, without the sign bit, is below 2^255 - 19. */
function isCanonicalY(point: Uint8Array): boolean {
  if (((point[31] ?? 0) & 0x7f) !== 0x7f) return true;
  for (let i = 30; i > 0; i -= 1) if (point[i] !== 0xff) return true;
  return (point[0] ?? 0) < 0xed;
}

function hasSmallOrder(point: Uint8Array): boolean {
  return SMALL_ORDER_Y.some((y) => {
    for (let i = 0; i < 31; i += 1) if (point[i] !== y[i]) return false;
    return ((point[31] ?? 0) & 0x7f) === y[31];
  });
}

function integerOfLE(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

function owned(bytes: Uint8Array): Uint8Array {
  return bytes.buffer instanceof SharedArrayBuffer ? Uint8Array.from(bytes) : bytes;
}

function expectLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length)
    throw new ProtocolError('KEY_LENGTH_WRONG', { what, expected: length, is: bytes.length });
}
