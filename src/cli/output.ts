/**
 * Writes all output of commands, except log lines, questions to the user, and warnings about what the user entered.
 * Results go to standard output; messages (such as errors) and progress go to standard error output. A function that
 * writes to standard output returns only after the operating system has taken all bytes of the text. Failures to write
 * to standard error output are ignored.
 */

import { fstatSync, fsyncSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { ProtocolError, messageOf } from '../primitives/errors.ts';
import { escapedJson, printable, printableText } from './printable.ts';

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
/** Pause before the next attempt to write to a full pipe, in milliseconds. */
const FULL_PIPE_PAUSE_MS = 5;

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left where it goes',
  EDQUOT: 'the disk quota is used up where it goes',
  EPIPE: 'the reading program ended before all output was written (a closed pipe)',
  EBADF: 'it is closed',
};

/**
 * Prints one line. Unsafe characters (`printable.ts`), such as control characters and line breaks, are replaced by `?`,
 * because parts of the line can come from untrusted sources.
 *
 * @throws ProtocolError `OUTPUT_UNWRITABLE`, like all functions of this file that print to the standard output
 */
export function printLine(line: string): void {
  print(`${printable(line)}\n`);
}

export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) print(lines.map((line) => `${printable(line)}\n`).join(''));
}

/** Prints one line of JSON, with unsafe characters escaped. */
export function printJson(value: unknown): void {
  print(`${escapedJson(JSON.stringify(value))}\n`);
}

/**
 * Prints text of several lines. If the standard output is a terminal, line breaks and tabs are kept, and other unsafe
 * characters are replaced by `?`. Otherwise prints the text unchanged.
 */
export function printText(text: string): void {
  print(outputIsTerminal() ? printableText(text) : text);
}

/**
 * Prints JSON documents, one on each line. Escapes unsafe characters if the standard output is a terminal. Otherwise
 * prints the text unchanged.
 */
export function printDocuments(text: string): void {
  print(outputIsTerminal() ? escapedJson(text) : text);
}

/**
 * Redraws a part of the terminal. The function does not replace control sequences, so the text must come from this
 * program.
 */
export function drawOnTerminal(text: string): void {
  print(text);
}

/**
 * Calls `write`, which prints the result of a finished action. If the printing fails, adds `done` to the error message.
 * Without this addition, the user could believe that the action failed, and could then repeat the action or delete its
 * result.
 *
 * @param done a clause, for example `the backup was made`
 */
export function report(done: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new ProtocolError(error.code, error.data, `${error.message}; ${done}`, { cause: error });
  }
}

/**
 * If standard output is a file, waits until the printed text is on the disk. Call `flushOutput` before an action that
 * must not happen if the output is lost.
 *
 * @throws ProtocolError `OUTPUT_UNWRITABLE`
 */
export function flushOutput(): void {
  try {
    if (fstatSync(STANDARD_OUTPUT).isFile()) fsyncSync(STANDARD_OUTPUT);
  } catch (error) {
    throw unwritable(error);
  }
}

export function outputIsTerminal(): boolean {
  return isatty(STANDARD_OUTPUT);
}

/** Writes a line to the standard error output. The function ignores a failure to write the line. */
export function printStderr(line: string): void {
  writeStderr(`${printable(line)}\n`);
}

export function printStderrLines(lines: readonly string[]): void {
  writeStderr(lines.map((line) => `${printable(line)}\n`).join(''));
}

/**
 * Writes text to the standard error output. The function does not replace control sequences, so the text must come from
 * this program. A failure to write is ignored.
 */
export function writeStderr(text: string): void {
  try {
    writeAll(STANDARD_ERROR, text);
  } catch {
    // Ignores the failure to write, because the exit code still shows how the command ended.
  }
}

function print(text: string): void {
  try {
    writeAll(STANDARD_OUTPUT, text);
  } catch (error) {
    throw unwritable(error);
  }
}

function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      // `EAGAIN` means that the output is a full pipe, and that another process made the pipe non-blocking. The command
      // waits until the reader takes data. A write to a blocking pipe waits in the same way.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_PAUSE_MS);
    }
  }
}

function unwritable(error: unknown): ProtocolError {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = REASONS[code] ?? messageOf(error);
  return new ProtocolError('OUTPUT_UNWRITABLE', { code }, `the standard output cannot be written: ${reason}`, {
    cause: error,
  });
}

/** Returns the count and the noun as text, for example `1 slot` or `2 slots`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
