/**
 * Lists the parts of a Parquet sink at one moment. The parts are the folders of the ranges, and the folders of the
 * blocks of the tail. With this list, a query can read the parts while another process writes to the sink.
 */

import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import {
  firstIncomplete,
  firstRangeGap,
  incompletePart,
  partOf,
  partsIn,
  RANGES,
  TAIL,
  wholeRanges,
  type Part,
  type RangeGap,
} from './parquet-folder.ts';

export interface Snapshot {
  readonly ranges: readonly Part[];
  /** The parts of the blocks above the last range. */
  readonly tail: readonly Part[];
}

/**
 * Maximum number of attempts in a call of `withSnapshot`. An attempt fails if the sink removes a block of the snapshot
 * during the attempt.
 */
const ATTEMPTS = 5;

/**
 * Runs work that reads the parts of a snapshot. The sink never removes a range. If the sink removes a block of the tail
 * while the work runs, the work can miss rows. In this case, the function drops the result or error of the work, and
 * runs the work again with a new snapshot.
 *
 * @param folder folder of the sink
 * @throws ProtocolError `SINK_DAMAGED` when the snapshot lacks rows or has rows twice; `SINK_OVERTAKEN` when the sink
 *   removed blocks during each attempt; the errors of `work`
 */
export async function withSnapshot<T>(folder: string, work: (snapshot: Snapshot) => T | Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const snapshot = await snapshotOf(folder);
    const before = changeTimes(folder, snapshot);
    const result = await settled(() => {
      checkTail(folder, snapshot);
      return work(snapshot);
    });
    const after = changeTimes(folder, snapshot);
    if (before.every((time, index) => time !== undefined && time === after[index])) return result();
  }
  throw new ProtocolError(
    'SINK_OVERTAKEN',
    { folder },
    `the sink replaced blocks in ${folder} during each of ${ATTEMPTS} attempts: repeat the query, or stop the sink first`,
  );
}

async function snapshotOf(folder: string): Promise<Snapshot> {
  // This function lists the tail before the ranges. If the function listed the ranges first, the sink could move blocks
  // from the tail to a new range before the function lists the tail. These blocks would be in neither list.
  const tail = await partsIn(join(folder, TAIL));
  const ranges = await wholeRanges(folder);
  // The views (`views.ts`) look for files in all folders whose names begin with a digit. If a folder with such a name
  // does not belong to the sink, the files of this folder could add rows to the views. If there is such a folder, this
  // function therefore throws an error.
  for (const kind of [RANGES, TAIL]) {
    const other = (await readdir(join(folder, kind))).find((name) => /^[0-9]/.test(name) && partOf(name).length === 0);
    if (other !== undefined) throw foreign(join(folder, kind, other));
  }
  const finalHeight = ranges.at(-1)?.height ?? 0;
  return { ranges, tail: tail.filter(({ height }) => height > finalHeight) };
}

/**
 * Returns, for each folder of the tail, the time of its last change; undefined for a removed folder. The caller
 * compares these times before and after the work. A comparison of the names would not be enough, because it is possible
 * that the sink has removed a block and written the same block again.
 */
function changeTimes(folder: string, { tail }: Snapshot): readonly (number | undefined)[] {
  return tail.map(({ name }) => statSync(join(folder, TAIL, name), { throwIfNoEntry: false })?.ctimeMs);
}

/** @returns a function that returns the result of the work, or throws the error of the work */
async function settled<T>(work: () => T | Promise<T>): Promise<() => T> {
  try {
    const result = await work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function checkTail(folder: string, { ranges, tail }: Snapshot): void {
  const gap = firstRangeGap(tail, ranges.at(-1)?.height ?? 0);
  if (gap !== undefined) throw faultyTail(join(folder, TAIL), gap);
  const incomplete = firstIncomplete(join(folder, TAIL), tail);
  if (incomplete !== undefined)
    throw incompletePart(incomplete, 'run bloomery sink parquet, which writes the block again');
}

function faultyTail(folder: string, { height, repeated }: RangeGap): ProtocolError {
  const message =
    repeated === undefined
      ? `no block of height ${height} is in ${folder}: run bloomery sink parquet, which writes the block again`
      : `two blocks of height ${height} are in ${folder}: run bloomery sink parquet, which removes the wrong one`;
  return new ProtocolError('SINK_DAMAGED', { folder, height }, message);
}

function foreign(path: string): ProtocolError {
  return new ProtocolError(
    'SINK_DAMAGED',
    { path },
    `${path} is not of the sink, and its rows would count twice: move it to another folder`,
  );
}
