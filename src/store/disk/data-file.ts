/**
 * Examines the data file of a database before LMDB maps the file into memory. If LMDB mapped a truncated file, or a
 * file of another program, a signal would end the process.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export const DATA_FILE = 'data.mdb';

/**
 * The result of the examination. `none`: the file is missing or empty. For example, a file is empty if a process
 * created the file and was killed immediately after that. `whole`: both meta pages (the first two pages) are valid, and
 * the file contains all root pages that the newer meta page names. `damaged`: the file has bytes, but is not `whole`;
 * `why` describes the fault.
 */
export type DataFile =
  { readonly kind: 'none' } | { readonly kind: 'whole' } | { readonly kind: 'damaged'; readonly why: string };

/** The file to examine. Another process is allowed to write to the file during the examination. */
export interface FileToExamine {
  sizeBytes(): number;
  /**
   * Reads `lengthBytes` bytes, beginning at an offset. The returned buffer is shorter if the file ends earlier.
   */
  read(offset: number, lengthBytes: number): Buffer;
}

// Positions of fields in the first two pages of an LMDB data file, for lmdb 3.5 on 64-bit machines.
const MAGIC_AT = 24;
const MAGIC = 0xbeefc0de;
const PAGE_BYTES_AT = 48;
const ROOTS_AT = [88, 136] as const;
const TRANSACTION_AT = 152;
const META_BYTES = 160;
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 65_536;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

/**
 * Maximum number of times that the function `examine` reads a file that changes between the reads. A process commits at
 * most a few thousand times a second. A read takes less time than a commit, so two successive reads soon find the same
 * bytes.
 */
const LOOKS_MAX = 100;

/** @throws Error of the operating system if the file cannot be read */
export function examineDataFile(path: string): DataFile {
  const file = openIfPresent(path);
  if (file === undefined) return { kind: 'none' };
  try {
    return examine({
      sizeBytes: () => fstatSync(file).size,
      read: (offset, lengthBytes) => {
        const bytes = Buffer.alloc(lengthBytes);
        return bytes.subarray(0, readSync(file, bytes, 0, lengthBytes, offset));
      },
    });
  } finally {
    closeSync(file);
  }
}

function openIfPresent(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    // An error with any code except `ENOENT` and `ENOTDIR` does not show that the file is missing. For example, perhaps
    // this process has no right to open the file.
    throw error;
  }
}

/**
 * Examines a file in the same way as `examineDataFile`. If a process writes to the file during a read, the read can
 * return a mixture of old and new bytes. The function therefore reports damage only if two successive reads find the
 * same damaged bytes, or if all `LOOKS_MAX` reads find damage.
 */
export function examine(file: FileToExamine): DataFile {
  let before: Buffer | undefined;
  for (let look = 1; ; look += 1) {
    const metas = readMetas(file);
    // The function first reads the meta pages, and then the size of the file. LMDB writes a meta page only after LMDB
    // has written all pages that the meta page names. The size therefore includes these pages.
    const sizeBytes = file.sizeBytes();
    if (sizeBytes === 0) return { kind: 'none' };
    const why = damageOf(metas, sizeBytes);
    if (why === undefined) return { kind: 'whole' };
    const seen = Buffer.concat(metas);
    if (before?.equals(seen) === true || look === LOOKS_MAX) return { kind: 'damaged', why };
    before = seen;
  }
}

/**
 * Reads the contents of the two meta pages, which are the first two pages of the file. The second result is empty if
 * the first meta page is invalid, because only a valid first page contains the page size.
 */
function readMetas(file: FileToExamine): readonly [Buffer, Buffer] {
  const first = file.read(0, META_BYTES);
  return [first, isMeta(first) ? file.read(first.readUInt32LE(PAGE_BYTES_AT), META_BYTES) : Buffer.alloc(0)];
}

function damageOf([first, second]: readonly [Buffer, Buffer], sizeBytes: number): string | undefined {
  if (!isMeta(first)) return `${DATA_FILE} is not an LMDB file`;
  const pageBytes = first.readUInt32LE(PAGE_BYTES_AT);
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX) {
    return `${DATA_FILE} is damaged (page size ${pageBytes})`;
  }
  if (!isMeta(second)) return `${DATA_FILE} is cut off`;
  const isFirstNewer = first.readBigUInt64LE(TRANSACTION_AT) > second.readBigUInt64LE(TRANSACTION_AT);
  const newest = isFirstNewer ? first : second;
  for (const at of ROOTS_AT) {
    const root = newest.readBigUInt64LE(at);
    if (root !== NO_PAGE && (root + 1n) * BigInt(pageBytes) > BigInt(sizeBytes)) return `${DATA_FILE} is cut off`;
  }
  return undefined;
}

function isMeta(bytes: Buffer): boolean {
  return bytes.length === META_BYTES && bytes.readUInt32LE(MAGIC_AT) === MAGIC;
}
