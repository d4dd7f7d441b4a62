/**
 * Counts the log lines of nodes by the code of the line (the JSON member `code`). Each count of a log file reads only
 * the lines that were added to the file since the last count.
 */

import { closeSync, openSync, readSync } from 'node:fs';

const READ_BYTES = 256 * 1024;

export class LogCodes {
  readonly #read = new Map<string, { offset: number; rest: string; counts: Map<string, number> }>();

  /**
   * Returns how many lines of the whole file have one of the codes. The number includes the lines that earlier calls
   * have read. The number is 0 for a file that cannot be opened, for example because the file does not exist yet.
   */
  count(file: string, codes: readonly string[]): number {
    const state = this.#read.get(file) ?? { offset: 0, rest: '', counts: new Map<string, number>() };
    this.#read.set(file, state);
    let descriptor: number;
    try {
      descriptor = openSync(file, 'r');
    } catch {
      return 0;
    }
    try {
      const bytes = Buffer.alloc(READ_BYTES);
      for (;;) {
        const length = readSync(descriptor, bytes, 0, bytes.length, state.offset);
        if (length === 0) break;
        state.offset += length;
        // Each byte is read as one character, because a chunk can end inside a UTF-8 character. Codes are ASCII, so
        // they stay intact.
        const lines = (state.rest + bytes.toString('latin1', 0, length)).split('\n');
        state.rest = lines.pop() ?? '';
        for (const line of lines) {
          const code = /^\{.*?"code":"([A-Z0-9_]+)"/.exec(line)?.[1];
          if (code !== undefined) state.counts.set(code, (state.counts.get(code) ?? 0) + 1);
        }
      }
    } finally {
      closeSync(descriptor);
    }
    return codes.reduce((sum, code) => sum + (state.counts.get(code) ?? 0), 0);
  }
}
