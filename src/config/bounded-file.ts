/**
 * Reading files that somebody names: with a bound on their bytes, and never waiting for a pipe or device that is meant to be
 * a file.
 */

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

const STANDARD_INPUT = 0;
const READ_BYTES = 64 * 1024;
/** Somebody may type a password that unlocks what is piped in. */
const PIPE_WAIT_MS_MAX = 60_000;
const PIPE_PAUSE_MS = 5;

export interface BoundedRead {
  readonly bytesMax: number;
  /** Whether a pipe will do, as `<(command)` of a shell gives; nothing is waited for longer than a minute. Default no. */
  readonly allowPipe?: boolean;
}

/**
 * The bytes of a file.
 *
 * @throws Error saying what is wrong with it, as `is a folder` or `is longer than 10 bytes`; of the system, as `ENOENT`
 */
export function readBounded(file: string, { bytesMax, allowPipe = false }: BoundedRead): Buffer {
  // Without O_NONBLOCK opening a pipe waits until somebody writes to it.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    const isPipe = stats.isFIFO() || stats.isSocket();
    if (!stats.isFile() && !(allowPipe && isPipe)) throw notRegular(stats);
    if (stats.size > bytesMax) throw tooLong(bytesMax);
    return readAll(descriptor, bytesMax, isPipe ? PIPE_WAIT_MS_MAX : 0);
  } finally {
    closeSync(descriptor);
  }
}

/** As `readBounded`, from the standard input, whatever it is: until its end, which may be typed at a terminal. */
export function readStandardInput(bytesMax: number): Buffer {
  return readAll(STANDARD_INPUT, bytesMax, Infinity);
}

/** @throws Error for what is no regular file; of the system, as `ENOENT` */
export function checkRegularFile(file: string): { readonly bytes: number } {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw notRegular(stats);
    return { bytes: stats.size };
  } finally {
    closeSync(descriptor);
  }
}

/** @param waitMsMax how long to wait for the first byte, and for the next */
function readAll(descriptor: number, bytesMax: number, waitMsMax: number): Buffer {
  const parts: Buffer[] = [];
  let bytes = 0;
  let waitedMs = 0;
  for (;;) {
    const part = Buffer.alloc(Math.min(READ_BYTES, bytesMax + 1));
    const count = readSome(descriptor, part);
    if (count !== undefined && count > 0) {
      waitedMs = 0;
      bytes += count;
      if (bytes > bytesMax) throw tooLong(bytesMax);
      parts.push(part.subarray(0, count));
      continue;
    }
    // A pipe that nobody has opened for writing yet looks as one at its end.
    const isAtEnd = count === 0 && (bytes > 0 || waitMsMax === 0 || waitMsMax === Infinity);
    if (isAtEnd) return Buffer.concat(parts);
    if (waitedMs >= waitMsMax) throw new Error(`nothing came through the pipe for ${waitMsMax / 1000} s`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_PAUSE_MS);
    waitedMs += PIPE_PAUSE_MS;
  }
}

/** @returns undefined when nothing is there yet */
function readSome(descriptor: number, into: Buffer): number | undefined {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return undefined;
    // The end of some kinds of standard input.
    if (code === 'EOF') return 0;
    throw error;
  }
}

function notRegular(stats: Stats): Error {
  const kind = stats.isDirectory()
    ? 'a folder'
    : stats.isFIFO()
      ? 'a pipe'
      : stats.isSocket()
        ? 'a socket'
        : 'a device';
  return new Error(`it is ${kind}, not a file`);
}

function tooLong(bytesMax: number): Error {
  return new Error(`it is longer than ${bytesMax} bytes`);
}

/** Why a file that was named cannot be read, in words. @param missing what to do when there is none */
export function whyUnreadable(error: unknown, missing: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR' ? `does not exist: ${missing}` : message;
}
