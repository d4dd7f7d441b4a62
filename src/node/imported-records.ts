/**
 * Stores which signing records (`signing-record.ts`) were imported on this machine, and into which data folders. A
 * signing record may be in use on only one node. Each import is stored as an entry, which is a file in the folder of
 * the watermarks (`watermark-files.ts`). If an operator later imports a copy of the record into another data folder on
 * this machine, the entry reveals the earlier import.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../store/disk/folder.ts';
import { checkedLine, contentOf } from './checked-lines.ts';
import { idOfRecord, type SigningRecord } from './signing-record.ts';

export interface ImportedRecord {
  /** Absolute path of the data folder into which the record was imported. */
  readonly into: string;
  /** Unix time of the import in whole seconds. */
  readonly atS: number;
  /** True until the import has ended. A repetition of the same import then ends it. */
  readonly isUnfinished?: true;
}

/**
 * The name of an entry contains the first digits of the id of the signing record. This constant is the number of these
 * hexadecimal digits. 32 digits (128 bits) are enough to distinguish all records.
 */
const ID_DIGITS = 32;

export class ImportedRecords {
  readonly #folder: string;

  /**
   * @param folder folder of the watermarks
   */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the entry of a signing record; undefined when there is no entry or the entry cannot be read. */
  find(record: SigningRecord): ImportedRecord | undefined {
    let content: unknown;
    try {
      content = contentOf(readFileSync(this.#file(record), 'utf8').trimEnd());
    } catch {
      return undefined;
    }
    const { into, atS, isUnfinished } = (content ?? {}) as Partial<ImportedRecord>;
    if (typeof into !== 'string' || !Number.isSafeInteger(atS)) return undefined;
    return { into, atS: atS ?? 0, ...(isUnfinished === true ? { isUnfinished } : {}) };
  }

  /**
   * Stores an entry. If the process ends during the write, the entry stays unreadable, and `add` returns false from then
   * on.
   *
   * @returns false if there is an entry already, readable or not
   * @throws errors of the system
   */
  add(record: SigningRecord, entry: ImportedRecord): boolean {
    makeFolder(this.#folder, 0o700);
    try {
      writeEntry(this.#file(record), entry);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return false;
    }
    return true;
  }

  /**
   * Replaces the entry of an unfinished import. The content of the new file is flushed to the disk before the file gets
   * its final name.
   *
   * @throws errors of the system
   */
  finish(record: SigningRecord, { into, atS }: ImportedRecord): void {
    const file = this.#file(record);
    const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
    try {
      writeEntry(draft, { into, atS });
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  }

  #file(record: SigningRecord): string {
    return join(this.#folder, `taken-${idOfRecord(record).slice(0, ID_DIGITS)}`);
  }
}

/** Writes an entry to a new file, and flushes it. */
function writeEntry(file: string, entry: ImportedRecord): void {
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeSync(descriptor, checkedLine(entry));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
