/** Where log lines go. Writing is synchronous, so the last lines before an end, of any kind, are there to read. */

import { closeSync, existsSync, mkdirSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { ProtocolError, messageOf } from '../primitives/errors.ts';

export interface LogSink {
  /** Takes one or more whole lines, line feed included. Never throws. */
  write(lines: string): void;
  /** Lines that could not be written. */
  readonly linesLost: number;
  close(): void;
}

/**
 * Appends to a file, whose folder is made when only that is missing: a whole path of folders would rather be a mistake. A
 * full disk loses lines, not the node.
 *
 * @throws ProtocolError `LOG_FILE_UNUSABLE` when the file cannot be opened
 */
export function fileSink(file: string): LogSink {
  let descriptor: number | undefined = openLog(file);
  let linesLost = 0;
  return {
    get linesLost() {
      return linesLost;
    },
    write(lines) {
      if (descriptor === undefined) return;
      try {
        const bytes = Buffer.from(lines, 'utf8');
        if (writeSync(descriptor, bytes) < bytes.length) linesLost += 1;
      } catch {
        // Counted, for there is no better place to tell it: the log itself is what failed.
        linesLost += 1;
      }
    },
    close() {
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
