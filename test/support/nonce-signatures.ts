/**
 * Makes signatures with a chosen nonce. With different nonces, one key can make any number of valid signatures of one
 * message.
 */

import { sha512 } from '@noble/hashes/sha2.js';
import * as noble from '@noble/ed25519';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import type { Person } from './pool-world.ts';

const ORDER = noble.Point.CURVE().n;

/**
 * @param nonce a number from 1 to `ORDER` − 1; each nonce gives a different signature
 * @returns 128 hexadecimal digits
 */
export function signedWithNonce({ passphrase }: Person, message: Uint8Array, nonce: bigint): string {
  const { publicKey, privateKey } = keyPairOfPassphrase(passphrase);
  const secret = sha512(privateKey.subarray(0, 32)).slice(0, 32);
  secret[0] = (secret[0] ?? 0) & 248;
  secret[31] = ((secret[31] ?? 0) & 127) | 64;
  const r = noble.Point.BASE.multiply(nonce).toBytes();
  const h = integerOf(sha512(Buffer.concat([r, publicKey, message]))) % ORDER;
  const s = (nonce + h * integerOf(secret)) % ORDER;
  const bytes = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return hexOf(Buffer.concat([r, bytes]));
}

function integerOf(littleEndian: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(littleEndian).reverse().toString('hex')}`);
}
