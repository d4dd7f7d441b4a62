/** Identifies an open file, so that a copy is recognised as another file, regardless of its path and name. */

import { fchmodSync, fstatSync } from 'node:fs';
import type { FilePlace } from './journal-lines.ts';

const FILE_MODE = 0o600;

/**
 * Sets the change time of a file; called before `isAt`. `isAt` can then distinguish a stored birth time from one that
 * the file system derives from the change time.
 */
export function renewTimeOfChange(descriptor: number): void {
  fchmodSync(descriptor, FILE_MODE);
}

export function placeOf(descriptor: number): FilePlace {
  const { ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return { inode: String(ino), bornNs: String(birthtimeNs) };
}

/**
 * True when an open file is the file that a `FilePlace` describes. If the file system stores birth times, the birth
 * time decides, because a copy has another birth time. Otherwise the inode decides. An inode proves less, because
 * inodes are reused, and some file systems assign new ones at each mount.
 */
export function isAt(descriptor: number, { inode, bornNs }: FilePlace): boolean {
  const { ino, birthtimeNs, ctimeNs } = fstatSync(descriptor, { bigint: true });
  const isBirthKept = birthtimeNs > 0n && birthtimeNs < ctimeNs;
  return isBirthKept ? String(birthtimeNs) === bornNs : String(ino) === inode;
}
