/**
 * Sets up the delegate of a new node with a new or an existing passphrase. The configuration stores this passphrase
 * encrypted.
 */

import { entropyToMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { join } from 'node:path';
import { addressOf, encryptPassphrase, keyPairOfPassphrase } from '../../crypto/keys.ts';
import { systemRandom } from '../../node/system.ts';
import { hexOf } from '../../primitives/bytes.ts';
import type { InitFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { readSecret } from '../wallet/secrets.ts';
import type { Interview } from './interview.ts';

export interface DelegatePlan {
  readonly publicKey: string;
  readonly address: string;
  /** The member `encryptedPassphrase` of the delegate's entry in `forging.delegates`. */
  readonly encryptedPassphrase: string;
  /** File for the passphrase of a new account. For an existing account, this value and `passphrase` are undefined. */
  readonly passphraseFile: string | undefined;
  readonly passphrase: string | undefined;
}

/** Bytes of entropy for a passphrase of twelve words. */
const ENTROPY_BYTES = 16;
/** Minimum length of a password that the HTTP interface accepts for enabling and disabling forging. */
const PASSWORD_CHARACTERS_MIN = 5;

/**
 * @returns undefined when the node should not forge
 * @throws ProtocolError `USAGE` for contradicting flags, a misspelt passphrase or a short password; errors of
 *   `readSecret` and `Interview.ask`
 */
export async function readDelegate(
  flags: InitFlags,
  dataDirectory: string,
  interview: Interview | undefined,
): Promise<DelegatePlan | undefined> {
  if (flags.newAccount === true && flags.passphraseFile !== undefined)
    throw usageError('--new-account makes an account, --passphrase-file names one: give one of them');
  const isGiven = flags.newAccount === true || flags.passphraseFile !== undefined;
  if (!isGiven && (interview === undefined || !(await interview.isYes('Shall a delegate forge on this node?', false))))
    return undefined;
  const given = await givenPassphrase(flags, interview);
  const passphrase = given ?? entropyToMnemonic(systemRandom.bytes(ENTROPY_BYTES), wordlist);
  const password = await readPassword(flags, interview);
  const encryptedPassphrase = await encryptPassphrase(passphrase, password, {
    iterations: flags.iterations,
    salt: systemRandom.bytes(16),
    iv: systemRandom.bytes(12),
  });
  const publicKey = hexOf(keyPairOfPassphrase(passphrase).publicKey);
  const isNew = given === undefined;
  return {
    publicKey,
    address: addressOf(publicKey),
    encryptedPassphrase,
    passphraseFile: isNew ? join(dataDirectory, 'passphrase') : undefined,
    passphrase: isNew ? passphrase : undefined,
  };
}

/**
 * @returns undefined for a new account
 */
async function givenPassphrase(flags: InitFlags, interview: Interview | undefined): Promise<string | undefined> {
  if (flags.newAccount === true) return undefined;
  if (flags.passphraseFile !== undefined) {
    const source = { name: 'passphrase', flag: '--passphrase-file', variable: 'BLOOMERY_PASSPHRASE' };
    return checkPassphrase(await readSecret({ ...source, file: flags.passphraseFile }));
  }
  return interview?.ask({
    text: 'Passphrase of the delegate; nothing for a new account',
    isSecret: true,
    read: (answer) => (answer.trim() === '' ? undefined : checkPassphrase(answer)),
  });
}

/** Refuses a misspelt passphrase, because a misspelt passphrase gives the key pair of another account. */
function checkPassphrase(given: string): string {
  const passphrase = given.trim();
  if (validateMnemonic(passphrase, wordlist)) return passphrase;
  throw usageError('that is not a passphrase of BIP-39: is a word misspelt?');
}

async function readPassword(flags: InitFlags, interview: Interview | undefined): Promise<string> {
  const file = flags.passwordFile;
  const variable = 'BLOOMERY_PASSWORD';
  if (interview === undefined || file !== undefined || (process.env[variable] ?? '') !== '')
    return checkPassword(await readSecret({ name: 'password', file, flag: '--password-file', variable, twice: true }));
  const text = 'Password that unlocks it on this node';
  const password = await interview.ask({ text, isSecret: true, read: checkPassword });
  return interview.ask({
    text: `${text}, again`,
    isSecret: true,
    read: (again) => {
      if (again === password) return again;
      throw usageError('the two differ: enter the first one again');
    },
  });
}

function checkPassword(password: string): string {
  if (password.length >= PASSWORD_CHARACTERS_MIN) return password;
  throw usageError(`the password must have at least ${PASSWORD_CHARACTERS_MIN} characters`);
}
