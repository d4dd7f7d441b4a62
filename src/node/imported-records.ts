/**
 * Stores which signing records (`signing-record.ts`) were imported on this machine, and into which data folders. Only
 * one node is allowed to use a signing record, because two nodes could sign contradicting headers. Each import is
 * stored as an entry, which is a file in the folder of the watermarks (`watermark-files.ts`). If an operator later
 * imports a copy of the record into another data folder on this machine, the entry reveals the earlier import.
 */

import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../store/disk/folder.ts';
import { checkedLine, contentOf } from './checked-lines.ts';
import { idOfRecord, type SigningRecord } from './signing-record.ts';

export interface ImportedRecord {
  /** Absolute path of the data folder into which the record was imported. */
  readonly into: string;
  /** Unix time of the import in whole seconds. */
  readonly atS: number;
}

/**
 * Number of hexadecimal digits of a signing record's id in the name of its entry. The name contains the first digits of
 * the id. 32 digits (128 bits) are enough to distinguish all records.
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
    const { into, atS } = (content ?? {}) as Partial<ImportedRecord>;
    return typeof into === 'string' && Number.isSafeInteger(atS) ? { into, atS: atS ?? 0 } : undefined;
  }

  /**
   * Stores an entry, and flushes it. If the process ends during the write, the entry stays unreadable, and later calls
   * of `add` for this record return false.
   *
   * @returns false if there is an entry already, readable or not
   * @throws errors of the system
   */
  add(record: SigningRecord, { into, atS }: ImportedRecord): boolean {
    const file = this.#file(record);
    makeFolder(this.#folder, 0o700);
    let descriptor: number;
    try {
      descriptor = openSync(file, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return false;
    }
    try {
      writeSync(descriptor, checkedLine({ into, atS }));
      fsyncSync(descriptor);
      return true;
    } catch (error) {
      rmSync(file, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  #file(record: SigningRecord): string {
    return join(this.#folder, `taken-${idOfRecord(record).slice(0, ID_DIGITS)}`);
  }
}
