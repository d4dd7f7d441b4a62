/** Which file an open one is: a copy of it is another one, wherever it lies and whatever it is called. */

import { fchmodSync, fstatSync } from 'node:fs';
import type { FilePlace } from './journal-lines.ts';

const FILE_MODE = 0o600;

/** To be called before `isAt`: a new time of change tells a time of birth that the file system keeps from one that it makes up. */
export function renewTimeOfChange(descriptor: number): void {
  fchmodSync(descriptor, FILE_MODE);
}

export function placeOf(descriptor: number): FilePlace {
  const { ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return { inode: String(ino), bornNs: String(birthtimeNs) };
}

/**
 * Whether an open file is the one of a line. Inodes are used again and some file systems make new ones up at each mount, so
 * the time of birth decides where there is one: it is another in each copy. Elsewhere it is none, or the time of the change.
 */
export function isAt(descriptor: number, { inode, bornNs }: FilePlace): boolean {
  const { ino, birthtimeNs, ctimeNs } = fstatSync(descriptor, { bigint: true });
  const isBirthKept = birthtimeNs > 0n && birthtimeNs < ctimeNs;
  return isBirthKept ? String(birthtimeNs) === bornNs : String(ino) === inode;
}
