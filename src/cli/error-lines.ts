/** Turns an error into one line for the user, and into an exit code for scripts. */

import { CommanderError } from 'commander';
import { printable } from './printable.ts';
import { AssertionFailed, ProtocolError, messageOf } from '../primitives/errors.ts';
import { isDamage } from '../store/disk/store-refusals.ts';

/** Exit codes of every command. */
export const EXIT = {
  ok: 0,
  /** The command line was valid, but the work of the command failed. */
  failed: 1,
  /**
   * The flags, the configuration, the network folder or an input file is wrong, or an output file exists already. The
   * command has not begun its work, and has not written anything.
   */
  usage: 2,
  /**
   * The watchdog ended a node that could no longer work. The program that supervises the node (for example systemd)
   * should then restart the node. If the main thread is blocked, a signal ends the process instead, and this code is
   * not used.
   */
  unhealthy: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface ErrorLine {
  /** One line without unsafe characters (`printable.ts`). */
  readonly line: string;
  readonly exitCode: ExitCode;
}

/** The error for wrong use of a command. */
export function usageError(message: string): ProtocolError {
  return new ProtocolError('USAGE', {}, message);
}

/**
 * Returns the line that the program prints for a thrown value of any type, and the exit code. If `shownCode` returns a
 * code that the text of the error does not contain, the line ends with this code.
 */
export function errorLineOf(error: unknown): ErrorLine {
  const text = textOf(error)
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .trim();
  const code = shownCode(error);
  const isShown = code === undefined || text.includes(code);
  return { line: printable(`bloomery: ${text}${isShown ? '' : ` (${code})`}`), exitCode: exitCodeOf(error) };
}

/**
 * Code that the line of an error shows, so that users find the error in the guides; undefined if the line shows no
 * code. Errors for wrong use (`USAGE`, and errors of Commander) show no code, because their text says what is wrong.
 */
function shownCode(error: unknown): string | undefined {
  if (error instanceof CommanderError || !(error instanceof Error) || !('code' in error)) return undefined;
  // The reason `NODE_SILENT` comes from a reading process (an extra process of the node that answers HTTP requests).
  // The node's own process did not answer the reading process.
  if (error instanceof ProtocolError && error.data['reason'] === 'NODE_SILENT') return 'NODE_SILENT';
  const { code } = error;
  return typeof code === 'string' && CODE.test(code) && code !== 'USAGE' ? code : undefined;
}

/**
 * Form of a code. `shownCode` checks the form, because the code can come from another program, for example from the
 * program at the control port of a devnet.
 */
const CODE = /^[A-Z][A-Z0-9_]{1,59}$/;

const USAGE_CODES: ReadonlySet<string> = new Set([
  'USAGE',
  'BACKUP_EXISTS',
  'CHAIN_FILE_UNUSABLE',
  'CONFIG_INVALID',
  'CONFIG_UNREADABLE',
  'FILE_EXISTS',
  'FORGING_PASSPHRASE_INVALID',
  'KEYS_FILE_EXISTS',
  'LOG_FILE_UNUSABLE',
  'NETWORK_IMPORT_INVALID',
  'NETWORK_INVALID',
  'NETWORK_UNREADABLE',
  'NETWORK_UNKNOWN',
  'PASSPHRASE_MISSPELT',
  'RESTORE_EXISTS',
  'SCENARIO_INVALID',
  'SCENARIO_UNREADABLE',
  'SECRET_UNREADABLE',
  'DOCUMENT_UNREADABLE',
  'SIGNING_RECORD_EXISTS',
  'SIGNING_RECORD_INVALID',
  'SIGNING_RECORD_OTHER',
  'SIGNING_RECORD_UNREADABLE',
  'SNAPSHOT_UNREADABLE',
  'TLS_FILE_UNREADABLE',
  'TLS_INVALID',
]);

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return EXIT.usage;
  return error instanceof ProtocolError && USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed;
}

function textOf(error: unknown): string {
  if (error instanceof CommanderError) return error.message.replace(/^error: /, '');
  if (error instanceof AssertionFailed || error instanceof TypeError || error instanceof RangeError)
    return `${error.message}: this is a defect of the program, please report it`;
  if (error instanceof ProtocolError) return error.message;
  if (error instanceof AggregateError) return withOnePrefix(error.message);
  if (isDamage(error)) return STORE_DAMAGED;
  const { code, path } = error as NodeJS.ErrnoException;
  const about = path === undefined ? '' : `${path}: `;
  const remedy = code === undefined ? undefined : DISK_REMEDIES[code];
  if (remedy !== undefined) return `${about}${remedy}`;
  return `${messageOf(error)}`;
}

/**
 * Removes all repetitions of the prefix `NOT_CLOSED` from an error text of `Closers`. The text repeats the prefix if a
 * closing step failed with an error whose own message contains the prefix.
 */
function withOnePrefix(text: string): string {
  return text.startsWith(NOT_CLOSED) ? `${NOT_CLOSED}${text.replaceAll(NOT_CLOSED, '')}` : text;
}

const NOT_CLOSED = 'not everything could be closed: ';

/** Text for errors with which LMDB reports damage, such as `MDB_CORRUPTED`. */
const STORE_DAMAGED =
  'the chain store is damaged: restore it from a backup or a snapshot, or remove the folder `chain` and let the node ' +
  'download the chain again; check the health of its disk first';

/**
 * Last part of the remedy in error messages that name a path. The path can come from any option or argument, for
 * example from the folder of a sink (`bloomery sink`). Therefore the text says that `--data-dir` is only for the data
 * of a node.
 */
const OTHER_FOLDER = 'choose another folder, for the data of a node with --data-dir';
const DISK_REMEDIES: Readonly<Record<string, string>> = {
  EACCES: `permission denied: change its owner, or ${OTHER_FOLDER}`,
  EPERM: `permission denied: change its owner, or ${OTHER_FOLDER}`,
  EROFS: `the file system is read-only: ${OTHER_FOLDER}`,
  ENOTDIR: `is not a folder: ${OTHER_FOLDER}`,
  EEXIST: `exists and is not a folder: ${OTHER_FOLDER}`,
  ENOSPC: `the disk is full: make room, or ${OTHER_FOLDER}`,
  EMFILE: 'too many open files: raise the limit of the process (ulimit -n)',
};
