/**
 * Reads passphrases and passwords from a file, the environment or a hidden prompt. The code never takes a secret from
 * the command line, because other processes can read the command line.
 */

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { readBounded, readStandardInput, whyUnreadable } from '../../config/bounded-file.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { AnyPassphraseFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';

export interface SecretSource {
  /** Name of the secret in prompts and errors. */
  readonly name: string;
  /** Path of the file with the secret, from the flag `flag`. The path `-` means the standard input. */
  readonly file: string | undefined;
  readonly flag: string;
  readonly variable: string;
  /** True to ask for the secret twice on the terminal, so that the command notices a typing error. */
  readonly twice?: boolean;
}

/** Streams for questions and answers. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

const PROCESS_TERMINAL: Terminal = { input: process.stdin, output: process.stderr };
const SECRET_CHARACTERS_MAX = 1024;
/** Maximum size of a file with a secret: four bytes for each of `SECRET_CHARACTERS_MAX` characters, and a line end. */
const SECRET_FILE_BYTES_MAX = 4 * SECRET_CHARACTERS_MAX + 2;

/**
 * Reads a secret from the first of these sources that is given: `file`, the environment variable `variable`, the
 * terminal. An empty variable counts as not given. In a file, the secret is the first line that is not blank.
 *
 * @throws ProtocolError `USAGE` for an empty or too long secret, for two different entries on the terminal, and when
 *   none of the three sources exists; `SECRET_UNREADABLE` when the file cannot be read; `CANCELLED` when the input ends
 *   without an answer
 */
export async function readSecret(source: SecretSource, terminal: Terminal = PROCESS_TERMINAL): Promise<string> {
  const secret = await givenSecret(source, terminal);
  const { file, name } = source;
  if (secret === '' && file !== undefined && file !== '-')
    throw usageError(`${file} has no ${name}: every line is empty`);
  if (secret === '' || secret.length > SECRET_CHARACTERS_MAX) {
    throw usageError(`the ${name} must have 1 to ${SECRET_CHARACTERS_MAX} characters`);
  }
  return secret;
}

export interface PassphraseSource extends SecretSource {
  /**
   * Treatment of a text that is not a valid BIP-39 passphrase. A misspelt passphrase belongs to another account, so
   * commands that sign transactions refuse such a text by default. With `warn`, the wallet prints a warning and uses
   * the text without the white space around it. With `accept`, the wallet uses the text unchanged.
   */
  readonly ifMisspelt: 'refuse' | 'warn' | 'accept';
}

/** Returns how a command that signs transactions treats a misspelt passphrase. */
export function misspeltBy({ anyPassphrase }: AnyPassphraseFlags): PassphraseSource['ifMisspelt'] {
  return anyPassphrase === true ? 'accept' : 'refuse';
}

/**
 * Reads a passphrase with `readSecret`, removes the white space around the passphrase, and checks the passphrase. No
 * BIP-39 passphrase begins or ends with white space. If `source.ifMisspelt` is `accept`, the function checks nothing
 * and returns the text unchanged.
 *
 * @throws ProtocolError `PASSPHRASE_MISSPELT` for a text that is not a valid BIP-39 passphrase, if `source.ifMisspelt`
 *   is `refuse`; errors of `readSecret`
 */
export async function readPassphrase(source: PassphraseSource, terminal: Terminal = PROCESS_TERMINAL): Promise<string> {
  const given = await readSecret(source, terminal);
  if (source.ifMisspelt === 'accept') return given;
  const passphrase = given.trim();
  if (validateMnemonic(passphrase, wordlist)) return passphrase;
  const { name } = source;
  if (source.ifMisspelt === 'warn') {
    terminal.output.write(`bloomery: warning: the ${name} is not one of BIP-39; is a word misspelt?\n`);
    return passphrase;
  }
  throw new ProtocolError(
    'PASSPHRASE_MISSPELT',
    { name },
    `the ${name} is not one of BIP-39: is a word misspelt? If it is right all the same, add --any-passphrase`,
  );
}

/**
 * Asks for confirmation. Only `y` or `yes` confirms, in small or capital letters.
 *
 * @throws ProtocolError `USAGE` if there is no terminal, or `CANCELLED` if the input ends without an answer
 */
export async function confirmed(question: string, terminal: Terminal = PROCESS_TERMINAL): Promise<boolean> {
  if (terminal.input.isTTY !== true)
    throw usageError('there is no terminal for a confirmation: use --yes to continue without one');
  const answer = await answerTo(`${question} [y/N] `, terminal, true);
  return /^y(es)?$/i.test(answer.trim());
}

async function givenSecret(source: SecretSource, terminal: Terminal): Promise<string> {
  const { name, file, flag, variable, twice } = source;
  if (file !== undefined) return secretInFile(file, source);
  const value = process.env[variable];
  if (value !== undefined && value !== '') return value;
  if (terminal.input.isTTY !== true) {
    throw usageError(`there is no terminal to ask for the ${name}: give it with ${flag} or ${variable}`);
  }
  const secret = await answerTo(`${name}: `, terminal, false);
  if (twice !== true) return secret;
  const again = await answerTo(`${name}, again: `, terminal, false);
  if (secret !== again) throw usageError(`the two entries of the ${name} differ: try again`);
  return secret;
}

function secretInFile(file: string, { name, flag }: SecretSource): string {
  try {
    const bytes =
      file === '-'
        ? readStandardInput(SECRET_FILE_BYTES_MAX)
        : readBounded(file, { bytesMax: SECRET_FILE_BYTES_MAX, allowPipe: true });
    return (
      bytes
        .toString('utf8')
        .split(/\r?\n/)
        .find((line) => line.trim() !== '') ?? ''
    );
  } catch (error) {
    const from = file === '-' ? 'the standard input' : file;
    const reason = whyUnreadable(error, `correct ${flag}`);
    throw new ProtocolError('SECRET_UNREADABLE', { file }, `${from}: the ${name} cannot be read: ${reason}`, {
      cause: error,
    });
  }
}

/**
 * @param isShown true to show the text that the user types
 */
function answerTo(question: string, { input, output }: Terminal, isShown: boolean): Promise<string> {
  output.write(question);
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: isShown ? output : silence, terminal: true });
  return new Promise((resolve, reject) => {
    let answer: string | undefined;
    lines.once('line', (line) => {
      answer = line;
      lines.close();
    });
    lines.once('close', () => {
      if (!isShown || answer === undefined) output.write('\n');
      if (answer === undefined) reject(new ProtocolError('CANCELLED', {}, 'nothing was answered: nothing was done'));
      else resolve(answer);
    });
  });
}
