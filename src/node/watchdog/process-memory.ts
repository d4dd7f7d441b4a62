/** Measures the process's own memory. */

import { readFileSync } from 'node:fs';

const KIB = 1024;

/**
 * Returns the own memory of the process in bytes, including swapped memory. The pages of the store's file do not count:
 * the system maps them into the process and takes them back when memory is needed. If the system does not report these
 * pages separately, the result is all resident memory.
 */
export function ownMemoryBytes(): number {
  const own = ownOfLinux();
  return own ?? process.memoryUsage.rss();
}

function ownOfLinux(): number | undefined {
  let text: string;
  try {
    text = readFileSync('/proc/self/status', 'latin1');
  } catch {
    return undefined;
  }
  const anonymous = kibOf(text, 'RssAnon');
  return anonymous === undefined ? undefined : (anonymous + (kibOf(text, 'VmSwap') ?? 0)) * KIB;
}

function kibOf(status: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return value === undefined ? undefined : Number(value);
}
