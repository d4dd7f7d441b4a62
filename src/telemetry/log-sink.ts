/** Where log lines go. Writing is synchronous, so the last lines before an end, of any kind, are there to read. */

import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { ProtocolError, messageOf } from '../primitives/errors.ts';

export interface LogSink {
  /** Takes one or more whole lines, line feed included. Never throws. */
  write(lines: string): void;
  /** Lines that could not be written. */
  readonly linesLost: number;
  close(): void;
}

/** When a log file is put aside, and how many are kept; for ever one file unless given. */
export interface Rotation {
  /** Size at which the file is put aside, in bytes. */
  readonly bytesMax: number;
  /** Files put aside that are kept, as `<file>.1` (the latest) and so on; at least 1. */
  readonly filesKept: number;
}

/**
 * Appends to a file, whose folders are made when missing. A full disk loses lines, not the node.
 *
 * @throws ProtocolError `LOG_FILE_UNUSABLE` when the file cannot be opened
 */
export function fileSink(file: string, rotation?: Rotation): LogSink {
  let descriptor: number | undefined = openLog(file);
  let sizeBytes = fstatSync(descriptor).size;
  // A device or a pipe is nothing to put aside.
  const isRotated = fstatSync(descriptor).isFile();
  let linesLost = 0;
  const rotate = ({ filesKept }: Rotation): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
    for (let age = filesKept; age >= 1; age -= 1) {
      const from = age === 1 ? file : `${file}.${age - 1}`;
      if (existsSync(from)) renameSync(from, `${file}.${age}`);
    }
    descriptor = openLog(file);
    sizeBytes = fstatSync(descriptor).size;
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
        if (rotation !== undefined && isRotated && isFull) rotate(rotation);
        // A file that could not be opened anew is tried again with the next line.
        descriptor ??= openLog(file);
        const written = writeSync(descriptor, bytes);
        sizeBytes += written;
        if (written < bytes.length) linesLost += 1;
      } catch {
        // Counted, for there is no better place to tell it: the log itself is what failed.
        linesLost += 1;
      }
    },
    close() {
      isClosed = true;
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** What a sink asks of a stream. */
export interface LineStream {
  write(text: string): unknown;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

/** Writes to a stream, for example the standard error output. The stream stays open. */
export function streamSink(stream: LineStream): LogSink {
  let linesLost = 0;
  let closed = false;
  // A terminal or pipe that went away must not end the node.
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
      // The listener stays: the error of a line written just now may come later.
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
