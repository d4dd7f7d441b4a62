/** How much memory the process has of its own. */

import { readFileSync } from 'node:fs';

const KIB = 1024;

/**
 * Bytes that the process itself needs: not the pages of the store's file, which the system maps into the process and takes
 * back when somebody else needs room. Where the system does not tell them apart, all resident bytes.
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
