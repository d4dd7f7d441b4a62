/** Derives key pairs from passphrases, and addresses from public keys. */

import { LruMap } from '../primitives/bounded.ts';
import { bytesOfHex, isU64Decimal, utf8 } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { defaultEd25519, type Ed25519KeyPair } from './ed25519.ts';
import { idOf, sha256 } from './hash.ts';

export { decryptPassphrase, encryptPassphrase, parseEncryptedPassphrase } from './encrypted-passphrase.ts';

/**
 * Derives the key pair of a passphrase. The function uses the passphrase unchanged, without trimming or normalisation.
 */
export function keyPairOfPassphrase(passphrase: string): Ed25519KeyPair {
  return defaultEd25519().keyPairOfSeed(sha256(utf8(passphrase)));
}

/**
 * Cache of addresses by public key. While the cache has the address of an account, further transactions of the account
 * need no new digest of the key. An entry takes about 200 bytes.
 */
const addresses = new LruMap<string, string>(20_000);

/**
 * Computes the address of a public key: the first eight bytes of the key's digest as an unsigned little-endian integer,
 * followed by `L`.
 *
 * @param publicKey hexadecimal text in upper or lower case
 * @throws ProtocolError `HEX_INVALID` if the text is not hexadecimal
 */
export function addressOf(publicKey: string): string {
  const known = addresses.get(publicKey);
  if (known !== undefined) return known;
  const address = `${idOf(bytesOfHex(publicKey))}L`;
  addresses.set(publicKey, address);
  return address;
}

const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** Returns the error message of lisk-sdk for an address of a wrong form, or undefined for a correct address. */
export function addressFault(address: string): string | undefined {
  if (address.length < 2 || address.length > 22) {
    return 'Address length does not match requirements. Expected between 2 and 22 characters.';
  }
  if (!address.endsWith('L')) return 'Address format does not match requirements. Expected "L" at the end.';
  if (address.includes('.')) {
    return 'Address format does not match requirements. Address includes invalid character: `.`.';
  }
  const digits = address.slice(0, -1);
  if (isU64Decimal(digits)) return undefined;
  if (!/^[0-9]+$/.test(digits)) return NOT_CANONICAL;
  return BigInt(digits) > U64_MAX
    ? 'Address format does not match requirements. Address out of maximum range.'
    : NOT_CANONICAL;
}

const NOT_CANONICAL = "Address string format does not match it's number representation.";

/** @throws ProtocolError `ADDRESS_INVALID` with the message of lisk-sdk if the form of the address is wrong */
export function checkAddress(address: string): void {
  const fault = addressFault(address);
  if (fault !== undefined) throw new ProtocolError('ADDRESS_INVALID', { address: address.slice(0, 80) }, fault);
}
