/**
 * The marker of a signing journal: a small file beside it that is made anew, as another file, with each line. It tells which file
 * it is and which line of the journal is the newest. Files that are copied over those of a folder keep their inodes and times of
 * birth, so a journal that is put back in its place looks like itself; a marker that is put back does not, once it was renewed.
 */

import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { checkedLine, contentOf } from './checked-lines.ts';
import { isAt, placeOf, renewTimeOfChange } from './file-place.ts';
import { isPlace, type FilePlace } from './journal-lines.ts';

/** What a marker tells of the journal beside it. */
export interface JournalMarker {
  /** False in a copy. */
  readonly isInPlace: boolean;
  /** Checksum of the newest line of a delegate; undefined for a journal that tells of none. */
  readonly newest: string | undefined;
}

/** A line of any journal is longer. */
const BYTES_MAX = 1024;

/** @returns undefined where there is none that can be read: one is written without a flush, and a power cut may empty it */
export function readMarker(journalFile: string): JournalMarker | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(markerOf(journalFile), 'r+');
    const text = readFileSync(descriptor, 'utf8');
    const content = text.length > BYTES_MAX ? undefined : contentOf(text.trimEnd());
    if (typeof content !== 'object' || content === null || !isPlace(content)) return undefined;
    const { newest } = content as { readonly newest?: unknown };
    renewTimeOfChange(descriptor);
    return { isInPlace: isAt(descriptor, content), newest: typeof newest === 'string' ? newest : undefined };
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/**
 * Takes the place of the marker before, if there was one. Not flushed: after a power cut the one before tells of less, and of
 * nothing wrong. Where it cannot be written, the one before stays, too: what cannot be noticed then is told nowhere else.
 */
export function renewMarker(journalFile: string, newest: string | undefined): void {
  const file = markerOf(journalFile);
  const draft = `${file}.new`;
  try {
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      const place: FilePlace = placeOf(descriptor);
      writeSync(descriptor, checkedLine(newest === undefined ? place : { ...place, newest }));
      renameSync(draft, file);
      renewTimeOfChange(descriptor);
      // A file system that makes times of birth up would call every journal a copy.
      if (!isAt(descriptor, place)) rmSync(file, { force: true });
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // As said above.
  }
}

function markerOf(journalFile: string): string {
  return `${journalFile}.marker`;
}
