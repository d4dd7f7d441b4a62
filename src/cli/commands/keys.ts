/**
 * `bloomery keys create` makes a new passphrase. `keys encrypt` encrypts a passphrase. `keys show` shows the public key
 * and the address that belong to a passphrase, or the address that belongs to a public key.
 */

import { entropyToMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { addressOf, encryptPassphrase, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { systemRandom } from '../../node/system.ts';
import { hexOf, isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError, messageOf } from '../../primitives/errors.ts';
import { writeNewFile } from '../../store/disk/new-file.ts';
import type { KeysCreateFlags, KeysEncryptFlags, KeysShowFlags, PassphraseFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { readPassphrase, readSecret } from '../wallet/secrets.ts';
import { flushOutput, printStderr, printJson, printLines, printText, report } from '../output.ts';

/** Number of bytes of entropy in a passphrase, by its number of words. */
const ENTROPY_BYTES: Readonly<Record<KeysCreateFlags['words'], number>> = { 12: 16, 24: 32 };
/** Minimum length of a password that the HTTP interface accepts for enabling and disabling forging. */
const PASSWORD_CHARACTERS_MIN = 5;

/**
 * @throws ProtocolError `KEYS_FILE_EXISTS` or `KEYS_FILE_UNWRITABLE`: no account was made
 * @throws ProtocolError `OUTPUT_UNWRITABLE`: the result could not be shown; with `out`, the file with the passphrase
 *   exists and stays
 */
export function keysCreate({ words, out, json }: KeysCreateFlags): void {
  const passphrase = entropyToMnemonic(systemRandom.bytes(ENTROPY_BYTES[words]), wordlist);
  const identity = identityOf(hexOf(keyPairOfPassphrase(passphrase).publicKey));
  if (out !== undefined) writeSecretFile(out, passphrase);
  const secret = out === undefined ? { passphrase } : {};
  const made =
    out === undefined ? 'no account was made: use none that was shown in part' : `the passphrase is in ${out}`;
  report(made, () => {
    if (json === true) printJson({ ...secret, ...identity });
    else printLines([`passphrase  ${out === undefined ? passphrase : `in ${out}`}`, ...linesOf(identity)]);
    flushOutput();
  });
  if (json === true) return;
  printStderr(
    out === undefined
      ? 'The passphrase is the account: write it down now, because it is shown once and not stored.'
      : 'The passphrase is the account: keep a copy of the file that no other person can read.',
  );
}

/**
 * Encrypts a passphrase, and prints the result as an entry for `forging.delegates`.
 *
 * @throws ProtocolError `USAGE` for a password that is too short; errors of `readPassphrase` and `readSecret`
 */
export async function keysEncrypt(flags: KeysEncryptFlags): Promise<void> {
  const passphrase = await passphraseOf(flags);
  const password = await readSecret({
    name: 'password',
    file: flags.passwordFile,
    flag: '--password-file',
    variable: 'BLOOMERY_PASSWORD',
    twice: true,
  });
  if (password.length < PASSWORD_CHARACTERS_MIN) {
    throw usageError(`the password must have at least ${PASSWORD_CHARACTERS_MIN} characters`);
  }
  const encryptedPassphrase = await encryptPassphrase(passphrase, password, {
    iterations: flags.iterations,
    salt: systemRandom.bytes(16),
    iv: systemRandom.bytes(12),
  });
  const publicKey = hexOf(keyPairOfPassphrase(passphrase).publicKey);
  const entry = { publicKey, encryptedPassphrase };
  if (flags.json === true) printJson(entry);
  else printText(`${JSON.stringify(entry, null, 2)}\n`);
}

export async function keysShow(flags: KeysShowFlags): Promise<void> {
  const given = flags.publicKey;
  if (given !== undefined && !isCanonicalHex(given, 32)) {
    throw usageError(`--public-key \`${given}\` must be 64 lower-case hexadecimal digits`);
  }
  const publicKey = given ?? hexOf(keyPairOfPassphrase(await passphraseOf(flags)).publicKey);
  const identity = identityOf(publicKey);
  if (flags.json === true) printJson(identity);
  else printLines(linesOf(identity));
}

function passphraseOf({ passphraseFile }: PassphraseFlags): Promise<string> {
  return readPassphrase({
    name: 'passphrase',
    file: passphraseFile,
    flag: '--passphrase-file',
    variable: 'BLOOMERY_PASSPHRASE',
    ifMisspelt: 'warn',
  });
}

function identityOf(publicKey: string): { readonly publicKey: string; readonly address: string } {
  return { publicKey, address: addressOf(publicKey) };
}

function linesOf({ publicKey, address }: ReturnType<typeof identityOf>): readonly string[] {
  return [`public key  ${publicKey}`, `address     ${address}`];
}

/**
 * Writes a file that only its owner can read. An existing file is never replaced, because this file can be the only
 * copy of a passphrase.
 */
function writeSecretFile(file: string, passphrase: string): void {
  try {
    writeNewFile(file, `${passphrase}\n`);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists ? 'exists: choose another file with --out' : `cannot be written: ${messageOf(error)}`;
    const code = exists ? 'KEYS_FILE_EXISTS' : 'KEYS_FILE_UNWRITABLE';
    throw new ProtocolError(code, { file }, `${file}: ${reason}`, { cause: error });
  }
}
