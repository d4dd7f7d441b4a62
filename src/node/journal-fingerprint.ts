/**
 * Reads and writes the fingerprint of a signing journal. The fingerprint is a small file beside the journal. The
 * fingerprint contains the identity of its own file, and the checksum of the newest line about a delegate in the
 * journal. If the journal records its own identity, the node replaces the fingerprint by a new file after each new
 * line. When a backup is copied over existing files, these files keep their inodes and birth times. The identity in the
 * restored journal is then still the identity of the journal file, so this identity does not reveal the backup. The
 * fingerprint reveals the backup if the node has replaced the fingerprint after the backup was made. There are two
 * cases. If the backup contained the fingerprint too, the restored fingerprint contains an identity that is not the
 * identity of the present fingerprint file. If only the journal was restored, the journal lacks the line whose checksum
 * is in the fingerprint.
 */

import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { checkedLine, contentOf } from './checked-lines.ts';
import { isSameFile, identityOf, renewTimeOfChange } from './file-identity.ts';
import { isFileIdentity, type FileIdentity } from './journal-lines.ts';

/** Content of the fingerprint beside a journal. */
export interface JournalFingerprint {
  /**
   * False when the identity in the fingerprint is not the identity of the fingerprint file. The fingerprint is then a
   * copy, or comes from a backup.
   */
  readonly isSameFile: boolean;
  /** Checksum of the newest line about a delegate; undefined for a journal without such a line. */
  readonly newest: string | undefined;
}

/** Maximum size of a fingerprint in bytes. Every valid fingerprint is smaller. */
const BYTES_MAX = 1024;

/**
 * Returns the content of the fingerprint file; undefined when there is no readable fingerprint. The file is written
 * without a flush, so a power cut can leave the file empty.
 */
export function readFingerprint(journalFile: string): JournalFingerprint | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(fingerprintFileOf(journalFile), 'r+');
    const text = readFileSync(descriptor, 'utf8');
    const content = text.length > BYTES_MAX ? undefined : contentOf(text.trimEnd());
    if (typeof content !== 'object' || content === null || !isFileIdentity(content)) return undefined;
    const { newest } = content as { readonly newest?: unknown };
    renewTimeOfChange(descriptor);
    return { isSameFile: isSameFile(descriptor, content), newest: typeof newest === 'string' ? newest : undefined };
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/**
 * Replaces the fingerprint. The new fingerprint is not flushed to the disk, so a power cut can bring the old
 * fingerprint back. The old fingerprint contains the checksum of an earlier line of the journal, so the old fingerprint
 * does not make the journal look like a backup. If the new fingerprint cannot be written, the old fingerprint stays and
 * no error is reported.
 */
export function renewFingerprint(journalFile: string, newest: string | undefined): void {
  const file = fingerprintFileOf(journalFile);
  const draft = `${file}.new`;
  try {
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      const identity: FileIdentity = identityOf(descriptor);
      writeSync(descriptor, checkedLine(newest === undefined ? identity : { ...identity, newest }));
      renameSync(draft, file);
      renewTimeOfChange(descriptor);
      // On some file systems, the reported birth time changes when the file changes. On such a file system, every
      // fingerprint would look like a copy, so the function removes the fingerprint.
      if (!isSameFile(descriptor, identity)) rmSync(file, { force: true });
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // After an error, the old fingerprint stays.
  }
}

/**
 * Returns the path of the fingerprint. The name ends in `.marker`, because earlier versions called the fingerprint a
 * marker.
 */
function fingerprintFileOf(journalFile: string): string {
  return `${journalFile}.marker`;
}
