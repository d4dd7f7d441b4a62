/**
 * Reads files and the standard input. If a file or the standard input is longer than `bytesMax`, the read fails. A read
 * of the standard input waits for data without a time limit. A read of any other pipe waits at most `PIPE_WAIT_MS_MAX`
 * for new data.
 */

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

const STANDARD_INPUT = 0;
const READ_BYTES = 64 * 1024;
/**
 * Maximum time in milliseconds for which a read of a pipe waits for new data. The time is long, because the program
 * that writes to the pipe can first ask a person for a password.
 */
const PIPE_WAIT_MS_MAX = 60_000;
const PIPE_PAUSE_MS = 5;

export interface BoundedRead {
  readonly bytesMax: number;
  /**
   * True to accept a pipe, such as `<(command)` of a shell. If no data arrive from the pipe for a minute, the read
   * fails. Default false.
   */
  readonly allowPipe?: boolean;
}

/**
 * Returns the bytes of a file.
 *
 * @throws Error that names the fault, for example `it is a folder, not a file` or `it is longer than 10 bytes`
 * @throws an error of the system, such as `ENOENT`
 */
export function readBounded(file: string, { bytesMax, allowPipe = false }: BoundedRead): Buffer {
  // Without O_NONBLOCK, opening a pipe blocks until another process opens the pipe for writing.
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

/**
 * Reads the standard input until its end. The standard input can be a file, a pipe or a terminal. The wait has no
 * limit, because the input can come from a person who is typing.
 *
 * @throws Error if the input is longer than `bytesMax`, or an error of the system
 */
export function readStandardInput(bytesMax: number): Buffer {
  return readAll(STANDARD_INPUT, bytesMax, Infinity);
}

/** @throws Error if `file` is not a regular file, or an error of the system, such as `ENOENT` */
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

/** @param waitMsMax maximum time in milliseconds without new data; 0 for a regular file, Infinity for no limit */
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
    // A read of a pipe returns 0 bytes at the end of the data, but also while no process has opened the pipe for
    // writing. A read of 0 bytes before the first byte therefore does not prove that the data have ended. If the
    // standard input is a pipe, a process has already opened this pipe for writing. A read of 0 bytes from the standard
    // input therefore always means the end of the data.
    const isAtEnd = count === 0 && (bytes > 0 || waitMsMax === 0 || waitMsMax === Infinity);
    if (isAtEnd) return Buffer.concat(parts);
    if (waitedMs >= waitMsMax) throw new Error(`no data arrived through the pipe for ${waitMsMax / 1000} s`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_PAUSE_MS);
    waitedMs += PIPE_PAUSE_MS;
  }
}

/**
 * @returns number of bytes read; undefined when no data has arrived yet
 */
function readSome(descriptor: number, into: Buffer): number | undefined {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return undefined;
    // On Windows, `readSync` reports the end of a pipe with this code.
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

/**
 * Returns the reason why a file cannot be read, as a text for an error message.
 *
 * @param missing what the user can do if the file does not exist
 */
export function whyUnreadable(error: unknown, missing: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES') return 'permission denied (EACCES): let the user that runs this command read it';
  return code === 'ENOENT' || code === 'ENOTDIR' ? `does not exist: ${missing}` : message;
}
