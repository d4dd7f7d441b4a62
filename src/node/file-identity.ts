/**
 * Identifies an open file by its inode and birth time, so that the node recognises a copy of the file. If a file is
 * renamed, or moved within its file system, the file keeps its identity.
 */

import { fchmodSync, fstatSync } from 'node:fs';
import type { FileIdentity } from './journal-lines.ts';

const FILE_MODE = 0o600;

/**
 * Sets the access rights of a file to `FILE_MODE`, so that the file system sets the change time of the file to the
 * current time. If the file system stores birth times, the birth time of the file is then earlier than its change time,
 * unless the file is only milliseconds old. If the file system stores no birth time, `fstat` returns the change time or
 * 0 as birth time. `isSameFile` compares the two times to detect this case.
 */
export function renewTimeOfChange(descriptor: number): void {
  fchmodSync(descriptor, FILE_MODE);
}

export function identityOf(descriptor: number): FileIdentity {
  const { ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return { inode: String(ino), bornNs: String(birthtimeNs) };
}

/**
 * True when an open file is the file that a `FileIdentity` describes. If the file system stores birth times, the
 * function compares the birth times, because a copy of the file has a different birth time. Without stored birth times,
 * the function compares the inodes. An inode proves less than a birth time, because file systems reuse inodes, and some
 * file systems assign new inodes at each mount.
 */
export function isSameFile(descriptor: number, { inode, bornNs }: FileIdentity): boolean {
  const { ino, birthtimeNs, ctimeNs } = fstatSync(descriptor, { bigint: true });
  const isBirthKept = birthtimeNs > 0n && birthtimeNs < ctimeNs;
  return isBirthKept ? String(birthtimeNs) === bornNs : String(ino) === inode;
}
