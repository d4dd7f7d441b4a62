/**
 * Records which signing records were imported on this machine, and into which folders. These records are beside the
 * watermarks. Only one node may use a record, but an operator can copy the record's file.
 */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../store/disk/folder.ts';
import { checkedLine, contentOf } from './checked-lines.ts';
import { idOfRecord, type SigningRecord } from './signing-record.ts';

/** The folder into which a record was imported. */
export interface ImportedRecord {
  /** Data folder of a node for one network. */
  readonly into: string;
  /** Unix time in whole seconds. */
  readonly atS: number;
}

/** Number of digits of an id in file names, which is enough to distinguish records. */
const ID_DIGITS = 32;

export class ImportedRecords {
  readonly #folder: string;

  /**
   * @param folder folder of the watermarks
   */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @returns undefined when there is no readable record of an import
   */
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
   * Records an import. The file is on the disk when this function returns.
   *
   * @throws errors of the system
   */
  add(record: SigningRecord, { into, atS }: ImportedRecord): void {
    const file = this.#file(record);
    const draft = `${file}.${process.pid}.new`;
    makeFolder(this.#folder, 0o700);
    const descriptor = openSync(draft, 'w', 0o600);
    try {
      writeSync(descriptor, checkedLine({ into, atS }));
      fsyncSync(descriptor);
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  forget(record: SigningRecord): void {
    rmSync(this.#file(record), { force: true });
  }

  #file(record: SigningRecord): string {
    return join(this.#folder, `taken-${idOfRecord(record).slice(0, ID_DIGITS)}`);
  }
}
