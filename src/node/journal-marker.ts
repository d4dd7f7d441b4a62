/**
 * Reads and writes the marker of a signing journal. The marker is a small file beside the journal. The node replaces
 * the marker after each new line of the journal. The marker contains its own file identity and the checksum of the
 * newest line of the journal. Copying a backup over existing files keeps the inodes and birth times of these files, so
 * the restored journal looks genuine. However, the restored marker reveals the backup if the node replaced its marker
 * after the backup.
 */

import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { checkedLine, contentOf } from './checked-lines.ts';
import { isSameFile, identityOf, renewTimeOfChange } from './file-identity.ts';
import { isFileIdentity, type FileIdentity } from './journal-lines.ts';

/** Content of the marker beside a journal. */
export interface JournalMarker {
  /** False when the marker is a copy. */
  readonly isSameFile: boolean;
  /** Checksum of the newest line of a delegate; undefined for a journal without such a line. */
  readonly newest: string | undefined;
}

/** Maximum size of a marker. Every valid marker is smaller. */
const BYTES_MAX = 1024;

/**
 * Returns the content of the marker; undefined when there is no readable marker. A marker is written without a flush,
 * so a power cut may leave it empty.
 */
export function readMarker(journalFile: string): JournalMarker | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(markerOf(journalFile), 'r+');
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
 * Replaces the marker. The new marker is not flushed to the disk. A power cut may bring the old marker back. The old
 * marker names an earlier line of the journal, so it does not make the journal look like a backup. If the new marker
 * cannot be written, the old marker stays and no error is reported.
 */
export function renewMarker(journalFile: string, newest: string | undefined): void {
  const file = markerOf(journalFile);
  const draft = `${file}.new`;
  try {
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      const identity: FileIdentity = identityOf(descriptor);
      writeSync(descriptor, checkedLine(newest === undefined ? identity : { ...identity, newest }));
      renameSync(draft, file);
      renewTimeOfChange(descriptor);
      // On some file systems, the reported birth time changes when the file changes. Every journal would then look like
      // a copy, so no marker is kept.
      if (!isSameFile(descriptor, identity)) rmSync(file, { force: true });
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // After an error, the old marker stays.
  }
}

function markerOf(journalFile: string): string {
  return `${journalFile}.marker`;
}
