/**
 * The folder of a Parquet sink: a folder for each range and each block of the tail, which holds a file for each table that has
 * rows. Each is written under another name and renamed when it is whole, so that a reader never sees half of it. The names alone
 * tell where the sink stands.
 */

import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlockPlace } from '../sink.ts';
import { SINK_TABLE_NAMES, type Rows } from '../tables.ts';
import { parquetFile } from './parquet-file.ts';

export const RANGES = 'ranges';
export const TAIL = 'tail';
const DRAFT = 'draft-';

/** Digits of a height in a name: names sort as heights. */
const HEIGHT_DIGITS = 10;

/** A range or a block of the tail by the name of its folder; the name ends with its last block. */
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

/** What a folder holds, ascending. */
export async function partsIn(folder: string): Promise<readonly Part[]> {
  const names = await readdir(folder);
  return names.flatMap((name) => partOf(name)).sort((a, b) => a.fromHeight - b.fromHeight);
}

/**
 * Writes the files of a part and gives it its name; nothing when it is there already.
 *
 * @param mayWrite throws when the folder is no more this process's to write to
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

/** Takes the name from a part before its files go. */
export async function removePart(folder: string, name: string): Promise<void> {
  const draft = join(folder, `${DRAFT}gone-${name}`);
  await rename(join(folder, name), draft);
  await rm(draft, { recursive: true, force: true });
}

/** Removes what was being written or removed when a process ended. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Writes a file that is whole or not there. */
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
