/**
 * The folder of a Parquet sink. This folder holds one folder for each range and for each block of the tail. Each folder
 * of a range or block holds one file for each table with rows. A folder is written under another name and renamed when
 * it is complete, so a reader never sees an incomplete folder. The position of the sink follows from the names of the
 * folders alone.
 */

import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import type { BlockPlace } from '../sink.ts';
import { SINK_TABLE_NAMES, type Rows } from '../tables.ts';
import { parquetFile } from './parquet-file.ts';

export const RANGES = 'ranges';
export const TAIL = 'tail';
const DRAFT = 'draft-';
/** File that each part has, because each part has a block. A part without this file was copied or changed by hand. */
const BLOCKS_FILE = 'blocks.parquet';

/** Number of digits of a height in a name. Leading zeros make names sort in the order of heights. */
const HEIGHT_DIGITS = 10;

/** A range or a block of the tail, read from the name of its folder; the name ends with the last block. */
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
 * Creates a folder if it does not exist. The folder above it must exist: the recursive `mkdir` of Node never returns
 * below `/proc`.
 */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

/** Lists the parts in a folder, ascending. */
export async function partsIn(folder: string): Promise<readonly Part[]> {
  const names = await readdir(folder);
  return names.flatMap((name) => partOf(name)).sort((a, b) => a.fromHeight - b.fromHeight);
}

/**
 * Lists the ranges of a sink, ascending.
 *
 * @throws ProtocolError `SINK_DAMAGED` when a range is missing or has no blocks, or two ranges have the same heights
 */
export async function wholeRanges(folder: string): Promise<readonly Part[]> {
  const ranges = await partsIn(join(folder, RANGES));
  const fault = firstFault(ranges, 0);
  if (fault !== undefined) throw damaged(join(folder, RANGES), fault);
  const empty = firstWithoutBlocks(join(folder, RANGES), ranges);
  if (empty !== undefined) throw withoutBlocks(join(folder, RANGES, empty.name), REWRITE);
  return ranges;
}

/** @returns the lowest part without blocks; undefined when all parts have blocks */
export function firstWithoutBlocks(folder: string, parts: readonly Part[]): Part | undefined {
  return parts.find(({ name }) => !existsSync(join(folder, name, BLOCKS_FILE)));
}

/**
 * Checks the folder for a reader, which reads all folders whose names begin with a digit.
 *
 * @returns the last height of the ranges; 0 when there are none
 * @throws ProtocolError `SINK_DAMAGED` when a reader would miss rows of the ranges or count rows twice
 */
export async function checkedFinalHeight(folder: string): Promise<number> {
  const finalHeight = (await wholeRanges(folder)).at(-1)?.height ?? 0;
  for (const kind of [RANGES, TAIL]) {
    const other = (await readdir(join(folder, kind))).find((name) => /^[0-9]/.test(name) && partOf(name).length === 0);
    if (other !== undefined) throw foreign(join(folder, kind, other));
  }
  const tail = (await partsIn(join(folder, TAIL))).filter(({ height }) => height > finalHeight);
  const twice = tail.find(({ height }, index) => tail[index - 1]?.height === height);
  if (twice !== undefined) throw repeatedBlock(join(folder, TAIL), twice);
  const empty = firstWithoutBlocks(join(folder, TAIL), tail);
  if (empty !== undefined)
    throw withoutBlocks(join(folder, TAIL, empty.name), 'run bloomery sink parquet, which writes it again');
  return finalHeight;
}

/** A place in a list of parts where a part is missing, or where two parts have the same heights. */
export interface Fault {
  /** Lowest height at which the parts are wrong. */
  readonly height: number;
  /** Second part of the same heights; undefined when a part is missing. */
  readonly repeated: Part | undefined;
}

/** @returns undefined when all parts follow one another */
export function firstFault(parts: readonly Part[], below: number): Fault | undefined {
  let next = below + 1;
  for (const part of parts) {
    if (part.fromHeight > next) return { height: next, repeated: undefined };
    if (part.fromHeight < next) return { height: part.fromHeight, repeated: part };
    next = part.height + 1;
  }
  return undefined;
}

/**
 * Writes the files of a part and then renames its folder to `name`. Does nothing when the part already exists.
 *
 * @param mayWrite throws when this process has lost the right to write to the folder
 */
export async function writePart(folder: string, name: string, rows: Rows, mayWrite: () => void): Promise<void> {
  mayWrite();
  if ((await readdir(folder)).includes(name)) return;
  const draft = join(folder, `${DRAFT}${name}`);
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft);
  for (const table of SINK_TABLE_NAMES)
    if (rows[table].length > 0) await writeDurably(join(draft, `${table}.parquet`), parquetFile(table, rows[table]));
  await syncFolder(draft);
  mayWrite();
  await rename(draft, join(folder, name));
  await syncFolder(folder);
}

/** Renames the folder of a part first, so that readers do not see a part with missing files, and then removes it. */
export async function removePart(folder: string, name: string): Promise<void> {
  const draft = join(folder, `${DRAFT}gone-${name}`);
  await rename(join(folder, name), draft);
  await rm(draft, { recursive: true, force: true });
}

/** Removes unfinished folders, which a process left when it ended while writing or removing them. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Writes a file so that it is either complete or missing. */
export async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const draft = join(folder, `${DRAFT}${name}`);
  await writeDurably(draft, Buffer.from(text, 'utf8'));
  await rename(draft, join(folder, name));
  await syncFolder(folder);
}

function partOf(name: string): readonly Part[] {
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

function damaged(folder: string, { height, repeated }: Fault): ProtocolError {
  const what =
    repeated === undefined
      ? `the range that begins at height ${height} is missing in ${folder}`
      : `${join(folder, repeated.name)} has heights that another range has, too`;
  return new ProtocolError('SINK_DAMAGED', { folder, height }, `${what}: ${REWRITE}`);
}

function withoutBlocks(path: string, remedy: string): ProtocolError {
  return new ProtocolError('SINK_DAMAGED', { path }, `${path} has no ${BLOCKS_FILE}: ${remedy}`);
}

function repeatedBlock(folder: string, { height }: Part): ProtocolError {
  return new ProtocolError(
    'SINK_DAMAGED',
    { folder, height },
    `two blocks of height ${height} are in ${folder}: run bloomery sink parquet, which removes the wrong one`,
  );
}

function foreign(path: string): ProtocolError {
  return new ProtocolError(
    'SINK_DAMAGED',
    { path },
    `${path} is not of the sink, and its rows would count twice: move it to another folder`,
  );
}

function digits(height: number): string {
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
