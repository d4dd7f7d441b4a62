/** Measures the memory of the process, without files that are mapped into memory. */

import { openSync, readSync } from 'node:fs';

const KIB = 1024;
const STATUS_FILE = '/proc/self/status';
/** Size in bytes of the buffer for the content of `STATUS_FILE`. The content usually has about 1,500 bytes. */
const STATUS_BYTES_MAX = 16_384;

/** Descriptor of `STATUS_FILE`; `undefined` while the file is not yet open, `null` if the system has no such file. */
let status: number | null | undefined;
let last = 0;
const buffer = Buffer.alloc(STATUS_BYTES_MAX);

/**
 * Returns the memory of the process in bytes, including swapped memory. The result excludes pages of mapped files, such
 * as the data file of the store, because the system can drop these pages when it needs memory. If the system does not
 * report mapped pages separately, the result is the whole resident memory, including mapped pages.
 *
 * The file `/proc/self/status` stays open after the first call, because a process that has too many open files cannot
 * open another file. If a measurement fails, the function returns the result of the last successful measurement, or 0
 * if there was none. The function never throws.
 */
export function ownMemoryBytes(): number {
  try {
    last = ownOfLinux() ?? process.memoryUsage.rss();
  } catch {
    // A failed measurement must end neither the process nor the watchdog.
  }
  return last;
}

function ownOfLinux(): number | undefined {
  status ??= openStatus();
  if (status === null) return undefined;
  const text = buffer.toString('latin1', 0, readSync(status, buffer, 0, STATUS_BYTES_MAX, 0));
  const anonymous = kibOf(text, 'RssAnon');
  return anonymous === undefined ? undefined : (anonymous + (kibOf(text, 'VmSwap') ?? 0)) * KIB;
}

/** @throws Error if the file exists, but cannot be opened; the next measurement tries to open it again */
function openStatus(): number | null {
  try {
    return openSync(STATUS_FILE, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function kibOf(text: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}
