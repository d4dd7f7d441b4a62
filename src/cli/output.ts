/**
 * The one place where commands write. Lines and data go to the standard output, notes to the standard error output. Writing
 * is synchronous: when a function here returns, the system has taken every byte, and a command may act on that.
 */

import { fstatSync, fsyncSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { ProtocolError, messageOf } from '../primitives/errors.ts';
import { escapedJson, printable, printableText } from './printable.ts';

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
/** Pause before a pipe whose reader is slow is tried again. */
const FULL_PIPE_PAUSE_MS = 5;

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left where it goes',
  EDQUOT: 'the disk quota is used up where it goes',
  EPIPE: 'what reads it has ended before everything was written (a closed pipe)',
  EBADF: 'it is closed',
};

/**
 * Prints one line. A control character in it, a line break too, shows as `?`: parts of it may come from strangers.
 *
 * @throws ProtocolError `OUTPUT_UNWRITABLE`, as all functions here that print
 */
export function printLine(line: string): void {
  print(`${printable(line)}\n`);
}

export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) print(lines.map((line) => `${printable(line)}\n`).join(''));
}

/** Prints one line of JSON that holds no control character. */
export function printJson(value: unknown): void {
  print(`${escapedJson(JSON.stringify(value))}\n`);
}

/** Prints text of several lines that the program itself has made; line breaks and tabs stay. */
export function printText(text: string): void {
  print(printableText(text));
}

/** Prints JSON documents, a line each, byte for byte; on a terminal with control characters escaped. */
export function printDocuments(text: string): void {
  print(outputIsTerminal() ? escapedJson(text) : text);
}

/** Redraws a part of the terminal: the one way for control sequences, for text that the program itself has made. */
export function drawOnTerminal(text: string): void {
  print(text);
}

/**
 * Reports what has been done already. Where the report cannot be written, the error says what was done: nobody should do it
 * twice, or lose what is shown once.
 *
 * @param done a clause such as `the blocks were taken over`
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
 * Makes sure that what was printed is on the disk, where the standard output is a file: before something is done that must
 * not be done unless the output was kept.
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

/** Writes a line to the standard error output. A failure to write it is ignored. */
export function note(line: string): void {
  noteText(`${printable(line)}\n`);
}

export function noteLines(lines: readonly string[]): void {
  noteText(lines.map((line) => `${printable(line)}\n`).join(''));
}

/** Writes text of the program itself, control sequences included, to the standard error output. */
export function noteText(text: string): void {
  try {
    writeAll(STANDARD_ERROR, text);
  } catch {
    // The exit code still says how the command ended.
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
      // A pipe that somebody else made non-blocking is full. Its reader may rest as long as it likes, as with any pipe.
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

/** `1 slot`, `2 slots`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
