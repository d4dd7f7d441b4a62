/**
 * Writes log lines to a file or a stream. Each write to a file is synchronous, so the last lines before an exit or a
 * crash of the process are written, too.
 */

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { ProtocolError, messageOf } from '../primitives/errors.ts';

export interface LogSink {
  /** Writes one or more whole lines. `lines` contains the line feed of each line. This function never throws. */
  write(lines: string): void;
  /**
   * Number of writes that failed. A write usually contains one line, so this number is approximately equal to the
   * number of lost lines.
   */
  readonly linesLost: number;
  close(): void;
}

/** Limits on log files. If a sink has no `Rotation`, its only file grows without limit. */
export interface Rotation {
  /**
   * Maximum size of the file in bytes. Before a write that would make the file larger than this maximum, the sink
   * renames the file and starts a new file. An empty file is not renamed.
   */
  readonly bytesMax: number;
  /**
   * Number of renamed files that the sink keeps. The number must be 1 or more. The newest renamed file is `<file>.1`,
   * the second newest renamed file is `<file>.2`, and so on.
   */
  readonly filesKept: number;
}

/**
 * After a failed rotation, the sink tries again when the file has grown by `Rotation.bytesMax / RETRIES_PER_FILE`
 * bytes.
 */
const RETRIES_PER_FILE = 20;

/**
 * Creates a sink that appends lines to a file. If the file's folder is missing, the function creates the folder, but
 * not its parent. If the disk is full, lines are lost, but the node continues to run.
 *
 * @throws ProtocolError `LOG_FILE_UNUSABLE` when the folder cannot be created or the file cannot be opened
 */
export function fileSink(file: string, rotation?: Rotation): LogSink {
  let descriptor: number | undefined = openLog(file);
  let sizeBytes = fstatSync(descriptor).size;
  // Only a regular file can be renamed and replaced, so a device or a pipe is not rotated.
  const isRotated = fstatSync(descriptor).isFile();
  let linesLost = 0;
  /** After a failed rotation, the sink tries again when the file has at least this size in bytes. */
  let rotateFromBytes = 0;
  const rotate = ({ bytesMax, filesKept }: Rotation): void => {
    const full = descriptor;
    descriptor = undefined;
    try {
      if (full !== undefined) closeSync(full);
      renameAll(filesKept);
      // If the new file cannot be opened, the size 0 prevents a second rotation in the next write.
      sizeBytes = 0;
      rotateFromBytes = 0;
    } catch {
      // If the rotation fails, the file can grow beyond `bytesMax`. A large file is better than lost lines.
      rotateFromBytes = sizeBytes + bytesMax / RETRIES_PER_FILE;
    }
  };
  const renameAll = (filesKept: number): void => {
    // A failed rotation can leave a gap, for example a file `.3` without a file `.2`. The next rotation fills the gap.
    // It renames no file with a number above the gap, so that no kept file is lost.
    let oldest = 1;
    while (oldest < filesKept && existsSync(`${file}.${oldest}`)) oldest += 1;
    for (let age = oldest; age >= 1; age -= 1) {
      const from = age === 1 ? file : `${file}.${age - 1}`;
      if (existsSync(from)) renameSync(from, `${file}.${age}`);
    }
  };
  let isClosed = false;
  return {
    get linesLost() {
      return linesLost;
    },
    write(lines) {
      if (isClosed) return;
      try {
        const bytes = Buffer.from(lines, 'utf8');
        const isFull = sizeBytes > 0 && sizeBytes + bytes.length > (rotation?.bytesMax ?? Infinity);
        if (rotation !== undefined && isRotated && isFull && sizeBytes >= rotateFromBytes) rotate(rotation);
        if (descriptor === undefined) {
          descriptor = openLog(file);
          sizeBytes = fstatSync(descriptor).size;
        }
        const written = writeSync(descriptor, bytes);
        sizeBytes += written;
        if (written < bytes.length) linesLost += 1;
      } catch {
        // The write failed, so the line is lost. The sink only counts the lost line, because a log line about the loss
        // would be lost, too.
        linesLost += 1;
      }
    },
    close() {
      isClosed = true;
      const open = descriptor;
      descriptor = undefined;
      if (open !== undefined) closeSync(open);
    },
  };
}

/** A stream to which a sink writes. The interface has only the methods that the sink uses. */
export interface LineStream {
  write(text: string): unknown;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * Creates a sink that writes lines to a stream, for example the standard error output. The method `close` of the sink
 * does not close the stream.
 */
export function streamSink(stream: LineStream): LogSink {
  let linesLost = 0;
  let closed = false;
  // Without a listener for `error`, the node would end with an error when its terminal or pipe is closed.
  stream.on?.('error', () => {
    linesLost += 1;
  });
  return {
    get linesLost() {
      return linesLost;
    },
    write(lines) {
      if (!closed) stream.write(lines);
    },
    close() {
      // The listener for `error` stays on the stream, because an error of the last line can arrive after the call of
      // `close`.
      closed = true;
    },
  };
}

function openLog(file: string): number {
  try {
    const folder = path.dirname(file);
    if (!existsSync(folder)) mkdirSync(folder);
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw new ProtocolError('LOG_FILE_UNUSABLE', { file }, `cannot write the log file ${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
