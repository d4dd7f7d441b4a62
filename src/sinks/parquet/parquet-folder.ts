/**
 * The folders of a Parquet sink. The folder of the sink contains two folders: `ranges` contains a folder for each
 * range, and `tail` contains a folder for each block of the tail (see `../sink.ts`). A part is the folder of a range or
 * of a block. A part contains a Parquet file for each table that has rows in the part, and a file with the sizes of the
 * Parquet files. The sink writes a part under a temporary name, and renames the part when it is complete. Therefore
 * readers never see an incomplete part. Only the names of the parts state which blocks the sink has.
 */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import type { BlockPlace } from '../sink.ts';
import { SINK_TABLE_NAMES, type Rows, type SinkTable } from '../tables.ts';
import { parquetFile } from './parquet-file.ts';

export const RANGES = 'ranges';
export const TAIL = 'tail';
const DRAFT = 'draft-';
/**
 * File with the size of each Parquet file of a part, in bytes. If the size of a Parquet file differs from the size in
 * `files.json`, somebody copied the part incompletely or changed the Parquet file by hand. Old versions of Bloomery
 * wrote parts without this file.
 */
const SIZES_FILE = 'files.json';

/** Number of digits of a height in the name of a part. Leading zeros make the names sort in the order of heights. */
const HEIGHT_DIGITS = 10;

/** Description of a part, read from its name; `height` and `blockId` belong to the last block of the part. */
export interface Part extends BlockPlace {
  readonly name: string;
  readonly fromHeight: number;
}

export function rangeName(fromHeight: number, { height, blockId }: BlockPlace): string {
  return `${digits(fromHeight)}-${digits(height)}-${blockId}`;
}

export function blockName({ height, blockId }: BlockPlace): string {
  return `${digits(height)}-${blockId}`;
}

/**
 * Creates a folder and the missing folders above it. The function does not use the recursive `mkdir` of Node.js,
 * because the recursive `mkdir` never returns for a path below `/proc`.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isMade(folder)) return;
  await makeFolder(dirname(folder));
  // This second call of `isMade` creates the folder, or finds that another process has created the folder since the
  // first call. If `isMade` returns false again (for example below `/proc`), `mkdir` throws an error with the reason.
  if (!(await isMade(folder))) await mkdir(folder);
}

/**
 * Creates a folder, and returns true. If the folder exists already, the function only returns true. If the parent
 * folder is missing, the function returns false.
 */
async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code !== 'ENOENT') throw error;
    return false;
  }
}

/**
 * Lists the parts in a folder, in ascending order of height. Skips unfinished parts and files of other programs.
 *
 * @throws ProtocolError `SINK_DAMAGED` when the folder does not exist
 */
export async function partsIn(folder: string): Promise<readonly Part[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? withoutFolder(folder, error) : error;
  });
  return names.flatMap((name) => partOf(name)).sort((a, b) => a.fromHeight - b.fromHeight);
}

/**
 * Lists the ranges of a sink, ascending, and checks them.
 *
 * @param folder folder of the sink
 * @throws ProtocolError `SINK_DAMAGED` when a range is missing or incomplete, when two ranges have a height in common,
 *   or when the folder of the ranges is missing
 */
export async function wholeRanges(folder: string): Promise<readonly Part[]> {
  const ranges = await partsIn(join(folder, RANGES));
  const gap = firstRangeGap(ranges, 0);
  if (gap !== undefined) throw damaged(join(folder, RANGES), gap);
  const incomplete = firstIncomplete(join(folder, RANGES), ranges);
  if (incomplete !== undefined) throw incompletePart(incomplete, REWRITE);
  return ranges;
}

export interface IncompletePart {
  /** First height of the part. */
  readonly height: number;
  /** The first part of an error message. It says which file is missing, damaged or changed. */
  readonly fault: string;
}

/** @returns the lowest part with a missing or changed file; undefined when all parts are complete */
export function firstIncomplete(folder: string, parts: readonly Part[]): IncompletePart | undefined {
  for (const { name, fromHeight } of parts) {
    const fault = fileFault(join(folder, name));
    if (fault !== undefined) return { height: fromHeight, fault };
  }
  return undefined;
}

function fileFault(part: string): string | undefined {
  const sizes = sizesIn(part);
  if (sizes === 'damaged') return `${join(part, SIZES_FILE)} is damaged`;
  // If the part has no file with sizes, this function can notice only one fault: a missing Parquet file of the table
  // `blocks`. Each part must have this Parquet file, because each part contains at least one block.
  if (sizes === 'missing')
    return existsSync(join(part, fileOf('blocks'))) ? undefined : `${part} has no ${fileOf('blocks')}`;
  for (const file of SINK_TABLE_NAMES.map(fileOf)) {
    const size = statSync(join(part, file), { throwIfNoEntry: false })?.size;
    if (size === sizes[file]) continue;
    return size === undefined
      ? `${part} has no ${file}`
      : `${join(part, file)} has ${size} bytes instead of ${sizes[file] ?? 0}`;
  }
  return undefined;
}

type Sizes = Readonly<Record<string, number>>;

function sizesIn(part: string): Sizes | 'missing' | 'damaged' {
  const path = join(part, SIZES_FILE);
  if (!existsSync(path)) return 'missing';
  const text = readFileSync(path, 'utf8');
  try {
    return (JSON.parse(text) as Sizes | null) ?? 'damaged';
  } catch {
    return 'damaged';
  }
}

/** A fault in a list of parts: a part is missing, or two parts have a height in common. */
export interface RangeGap {
  /** Lowest height that is in no part or in two parts. */
  readonly height: number;
  /** The second of two parts with a common height; undefined when a part is missing. */
  readonly repeated: Part | undefined;
}

/**
 * Finds the first gap or repetition in a list of parts.
 *
 * @param parts ascending by first height
 * @param below last height before the parts: the first part must begin at `below + 1`
 * @returns undefined if each height from `below + 1` to the end of the last part is in exactly one part
 */
export function firstRangeGap(parts: readonly Part[], below: number): RangeGap | undefined {
  let next = below + 1;
  for (const part of parts) {
    if (part.fromHeight > next) return { height: next, repeated: undefined };
    if (part.fromHeight < next) return { height: part.fromHeight, repeated: part };
    next = part.height + 1;
  }
  return undefined;
}

/**
 * Writes the files of a part into a temporary folder, and then renames this folder to `name`. Writes nothing if the
 * part already exists.
 *
 * @param mayWrite throws `SINK_LEASE_LOST` if this process no longer has the lock of the sink
 */
export async function writePart(folder: string, name: string, rows: Rows, mayWrite: () => void): Promise<void> {
  mayWrite();
  if ((await readdir(folder)).includes(name)) return;
  const draft = join(folder, `${DRAFT}${name}`);
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft);
  const sizes: Record<string, number> = {};
  for (const table of SINK_TABLE_NAMES) {
    if (rows[table].length === 0) continue;
    const bytes = parquetFile(table, rows[table]);
    await writeDurably(join(draft, fileOf(table)), bytes);
    sizes[fileOf(table)] = bytes.length;
  }
  await writeDurably(join(draft, SIZES_FILE), Buffer.from(JSON.stringify(sizes), 'utf8'));
  await syncFolder(draft);
  mayWrite();
  await rename(draft, join(folder, name));
  await syncFolder(folder);
}

/**
 * Removes a part. Before the removal, the function renames the part to a temporary name, so that readers never see a
 * part with missing files.
 */
export async function removePart(folder: string, name: string): Promise<void> {
  const draft = join(folder, `${DRAFT}gone-${name}`);
  await rename(join(folder, name), draft);
  await rm(draft, { recursive: true, force: true });
}

/** Removes temporary folders that an earlier process left when it ended during a write or a removal of a part. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Writes a text file. After a crash, the file is either complete or missing. */
export async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const draft = join(folder, `${DRAFT}${name}`);
  await writeDurably(draft, Buffer.from(text, 'utf8'));
  await rename(draft, join(folder, name));
  await syncFolder(folder);
}

/** @returns a list with the part, if `name` is the name of a part; otherwise an empty list */
export function partOf(name: string): readonly Part[] {
  const range = /^([0-9]{10})-([0-9]{10})-([0-9]{1,20})$/.exec(name);
  const block = /^([0-9]{10})-([0-9]{1,20})$/.exec(name);
  if (range !== null) {
    const [, from, to, blockId = ''] = range;
    return [{ name, fromHeight: Number(from), height: Number(to), blockId }];
  }
  if (block === null) return [];
  const [, height, blockId = ''] = block;
  return [{ name, fromHeight: Number(height), height: Number(height), blockId }];
}

const REWRITE = 'remove the folder of the sink and let the sink write it again';

function withoutFolder(folder: string, cause: unknown): ProtocolError {
  const message = `the folder ${folder} of the sink is missing: copy the whole folder again, or run bloomery sink parquet`;
  return new ProtocolError('SINK_DAMAGED', { folder }, message, { cause });
}

function damaged(folder: string, { height, repeated }: RangeGap): ProtocolError {
  const what =
    repeated === undefined
      ? `the range that begins at height ${height} is missing in ${folder}`
      : `${join(folder, repeated.name)} has heights that another range has, too`;
  return new ProtocolError('SINK_DAMAGED', { folder, height }, `${what}: ${REWRITE}`);
}

export function incompletePart({ height, fault }: IncompletePart, remedy: string): ProtocolError {
  return new ProtocolError('SINK_DAMAGED', { height }, `${fault}: ${remedy}`);
}

export function fileOf(table: SinkTable): string {
  return `${table}.parquet`;
}

/** Writes a height with leading zeros, as in the names of parts. */
export function digits(height: number): string {
  return height.toString().padStart(HEIGHT_DIGITS, '0');
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
