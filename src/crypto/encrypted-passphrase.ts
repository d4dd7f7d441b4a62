/**
 * Encrypts and decrypts passphrases with AES-256-GCM. PBKDF2-SHA256 derives the AES key from a password. An encrypted
 * passphrase has the form of a URL query. The list `forging.delegates` in a Lisk Core configuration contains encrypted
 * passphrases of this form.
 */

import { createCipheriv, createDecipheriv, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { hexOf, isHex, utf8 } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';

export interface EncryptedPassphrase {
  readonly iterations: number;
  readonly cipherText: Buffer;
  /** The initialisation vector, 12 bytes. */
  readonly iv: Buffer;
  /** The salt, 1 to 1,024 bytes. `bloomery` makes salts of 16 bytes; other tools can use another length. */
  readonly salt: Buffer;
  /** The authentication tag, 16 bytes. */
  readonly tag: Buffer;
  /** The version of the format, copied from the encrypted passphrase. This module does not interpret the version. */
  readonly version: string;
}

export interface EncryptionOptions {
  /** Rounds of PBKDF2; 1,000,000 by default. */
  readonly iterations?: number;
  /** A new salt of 1 to 1,024 bytes, normally 16 random bytes. */
  readonly salt: Uint8Array;
  /**
   * The initialisation vector: 12 bytes, normally random. Never use the same vector twice with the same password and
   * salt.
   */
  readonly iv: Uint8Array;
}

const ITERATIONS = 1_000_000;
/**
 * Maximum number of PBKDF2 rounds: ten times the default. With this number of rounds, deriving a key takes a few
 * seconds. Without a maximum, a configuration file could delay the start of the node for a long time.
 */
const ITERATIONS_MAX = 10_000_000;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/**
 * Maximum number of bytes of the cipher text that `parseEncryptedPassphrase` accepts. A passphrase of twelve words has
 * about 80 bytes.
 */
const CIPHER_BYTES_MAX = 4096;
const SALT_BYTES_MAX = 1024;

const deriveKey = promisify(pbkdf2);

/**
 * Parses the text of an encrypted passphrase. If the text has no `iterations`, the result has the default, 1,000,000.
 *
 * @throws ProtocolError `ENCRYPTED_PASSPHRASE_INVALID` if the text is malformed, or if a value in the text is out of
 *   bounds. For a fault that lisk-sdk also detects, the error message is the same as in lisk-sdk
 */
export function parseEncryptedPassphrase(text: unknown): EncryptedPassphrase {
  if (typeof text !== 'string') throw invalid('Encrypted passphrase to parse must be a string.');
  const query = new URLSearchParams(text);
  const single = (key: string): string => {
    const [value, ...others] = query.getAll(key);
    if (value === undefined || others.length > 0) {
      throw invalid('Encrypted passphrase to parse must have only one value per key.');
    }
    return value;
  };
  const iterations = query.has('iterations') ? iterationsOf(single('iterations')) : ITERATIONS;
  const encrypted = {
    iterations,
    cipherText: bytesIn(single('cipherText'), 'Cipher text', CIPHER_BYTES_MAX),
    iv: bytesIn(single('iv'), 'IV', IV_BYTES),
    salt: bytesIn(single('salt'), 'Salt', SALT_BYTES_MAX),
    tag: bytesIn(single('tag'), 'Tag'),
    version: single('version'),
  };
  if (encrypted.tag.length !== TAG_BYTES) throw invalid(`Tag must be ${TAG_BYTES} bytes.`);
  if (encrypted.iv.length !== IV_BYTES) throw invalid(`IV must be ${IV_BYTES} bytes.`);
  return encrypted;
}

export function textOfEncryptedPassphrase(encrypted: EncryptedPassphrase): string {
  const { iterations, cipherText, iv, salt, tag, version } = encrypted;
  return [
    `iterations=${iterations}`,
    `cipherText=${hexOf(cipherText)}`,
    `iv=${hexOf(iv)}`,
    `salt=${hexOf(salt)}`,
    `tag=${hexOf(tag)}`,
    `version=${version}`,
  ].join('&');
}

/**
 * @returns the encrypted passphrase, as text in the form of a URL query
 * @throws ProtocolError `ENCRYPTED_PASSPHRASE_INVALID` if an option is out of bounds
 */
export async function encryptPassphrase(
  passphrase: string,
  password: string,
  { iterations = ITERATIONS, salt, iv }: EncryptionOptions,
): Promise<string> {
  if (!isIterationCount(iterations)) throw invalid(`Iterations must be in 1..${ITERATIONS_MAX}.`);
  if (iv.length !== IV_BYTES) throw invalid(`IV must be ${IV_BYTES} bytes.`);
  if (salt.length < 1 || salt.length > SALT_BYTES_MAX) throw invalid(`Salt must have 1 to ${SALT_BYTES_MAX} bytes.`);
  const key = await deriveKey(password, salt, iterations, KEY_BYTES, 'sha256');
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  const cipherText = Buffer.concat([cipher.update(utf8(passphrase)), cipher.final()]);
  return textOfEncryptedPassphrase({
    iterations,
    cipherText,
    iv: Buffer.from(iv),
    salt: Buffer.from(salt),
    tag: cipher.getAuthTag(),
    version: '1',
  });
}

/**
 * @throws ProtocolError `ENCRYPTED_PASSPHRASE_INVALID` for a malformed text; `PASSWORD_WRONG` if the password is wrong
 *   or the text was changed. The function cannot distinguish a wrong password from a changed text
 */
export async function decryptPassphrase(encrypted: string | EncryptedPassphrase, password: string): Promise<string> {
  const { iterations, cipherText, iv, salt, tag } =
    typeof encrypted === 'string' ? parseEncryptedPassphrase(encrypted) : encrypted;
  const key = await deriveKey(password, salt, iterations, KEY_BYTES, 'sha256');
  // The option `authTagLength` is necessary. Without this option, Node.js accepts a tag of only four bytes, which an
  // attacker can guess.
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(cipherText), decipher.final()]).toString('utf8');
  } catch (cause) {
    const message = 'The password does not decrypt the passphrase.';
    throw new ProtocolError('PASSWORD_WRONG', {}, message, { cause });
  }
}

function iterationsOf(text: string): number {
  const iterations = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(iterations)) throw invalid('Could not parse iterations.');
  if (!isIterationCount(iterations)) throw invalid(`Iterations must be in 1..${ITERATIONS_MAX}.`);
  return iterations;
}

function isIterationCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= ITERATIONS_MAX;
}

function bytesIn(text: string, name: string, bytesMax = TAG_BYTES * 2): Buffer {
  if (text.length > bytesMax * 2) throw invalid(`${name} must have at most ${bytesMax} bytes.`);
  if (text.length % 2 === 1) throw invalid(`${name} must have a valid length of hex string.`);
  if (!isHex(text)) throw invalid(`${name} must be a valid hex string.`);
  return Buffer.from(text, 'hex');
}

function invalid(message: string): ProtocolError {
  return new ProtocolError('ENCRYPTED_PASSPHRASE_INVALID', {}, message);
}
