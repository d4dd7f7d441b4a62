/** Writes the tables of a chain as Parquet files into a folder. This sink needs no server. */

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { BlockId } from '../../protocol/types.ts';
import { identityFault } from '../identity.ts';
import { leaseLost } from '../lease.ts';
import type { HeightSpan, RangeDraft, Sink, SinkBlock, SinkIdentity, SinkPlace } from '../sink.ts';
import { rowsDraft } from '../rows-draft.ts';
import { SCHEMA_VERSION, type Rows } from '../tables.ts';
import {
  blockName,
  firstIncomplete,
  firstRangeGap,
  makeFolder,
  partsIn,
  rangeName,
  RANGES,
  removeDrafts,
  removePart,
  TAIL,
  wholeRanges,
  writePart,
  writeWhole,
  type Part,
} from './parquet-folder.ts';

const IDENTITY_FILE = 'sink.json';
/** Name of the lock on the folder of the sink. The names of the lock files begin with this name. */
const LOCK_NAME = 'sink.lock';

export interface SinkManifest {
  readonly version: number;
  readonly identity: SinkIdentity;
}

/** The methods of a folder lock that a sink needs. */
export interface FolderLock {
  isHeld(): boolean;
  release(): void;
}

/**
 * Takes a lock in a folder. If the process that held an earlier lock was killed, this lock does not count, with one
 * exception: the lock of a process in another container stays valid for up to 30 s after the process was killed.
 *
 * @throws ProtocolError `SINK_IN_USE` while another process has the lock
 */
export type TakeFolderLock = (folder: string, name: string) => FolderLock;

export class ParquetSink implements Sink {
  readonly #takeLock: TakeFolderLock;
  #lock: FolderLock | undefined;
  readonly #folder: string;
  readonly #ranges: string;
  readonly #tail: string;

  /** @param folder folder of the sink; `begin` creates the folder and the missing folders above it */
  constructor(folder: string, takeLock: TakeFolderLock) {
    this.#folder = folder;
    this.#takeLock = takeLock;
    this.#ranges = join(folder, RANGES);
    this.#tail = join(folder, TAIL);
  }

  async begin(identity: SinkIdentity): Promise<SinkPlace> {
    return this.#onDisk(async () => {
      await makeFolder(this.#folder);
      await refuseOtherFolder(this.#folder);
      this.#lock = this.#takeLock(this.#folder, LOCK_NAME);
      try {
        return await this.#open(identity);
      } catch (error) {
        await this.end();
        throw error;
      }
    });
  }

  async #open(identity: SinkIdentity): Promise<SinkPlace> {
    await this.#claim(identity);
    for (const folder of [this.#ranges, this.#tail]) {
      await makeFolder(folder);
      await removeDrafts(folder);
    }
    const ranges = await wholeRanges(this.#folder);
    const last = ranges.at(-1);
    const finalHeight = last?.height ?? 0;
    await this.#removeTail(({ height }) => height <= finalHeight);
    const parts = await partsIn(this.#tail);
    const faults = [firstRangeGap(parts, finalHeight), firstIncomplete(this.#tail, parts)];
    const faultyHeight = Math.min(...faults.map((fault) => fault?.height ?? Infinity));
    // If the tail has faults, the sink removes all blocks from the lowest faulty height on. Later, the caller reads the
    // blocks of these heights from the chain, and writes them again.
    await this.#removeTail(({ height }) => height >= faultyHeight);
    const tail = await partsIn(this.#tail);
    return {
      final: last && { height: last.height, blockId: last.blockId },
      tail: tail.map(({ height, blockId }) => ({ height, blockId })),
    };
  }

  draftRange(): RangeDraft {
    return rowsDraft((span, lastBlockId, rows) => this.#putRange(span, lastBlockId, rows));
  }

  async #putRange({ fromHeight, toHeight }: HeightSpan, lastBlockId: BlockId, rows: Rows): Promise<void> {
    const name = rangeName(fromHeight, { height: toHeight, blockId: lastBlockId });
    await this.#onDisk(async () => {
      await writePart(this.#ranges, name, rows, this.#mayWrite);
      await this.#removeTail(({ height }) => height <= toHeight);
    });
  }

  async putTail(blocks: readonly SinkBlock[]): Promise<void> {
    await this.#onDisk(async () => {
      for (const block of blocks) await writePart(this.#tail, blockName(block), block.rows, this.#mayWrite);
    });
  }

  revertTail(toHeight: number): Promise<void> {
    return this.#onDisk(() => this.#removeTail(({ height }) => height > toHeight));
  }

  end(): Promise<void> {
    this.#lock?.release();
    this.#lock = undefined;
    return Promise.resolve();
  }

  /**
   * Runs work on the folder. Replaces errors of the file system by `SINK_UNWRITABLE`, which names the sink and a
   * remedy.
   */
  async #onDisk<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw (error as NodeJS.ErrnoException).syscall === undefined ? error : unwritable(this.#folder, error);
    }
  }

  readonly #mayWrite = (): void => {
    if (this.#lock?.isHeld() !== true) throw leaseLost(this.#folder);
  };

  /** Removes parts of the tail, the highest first, so that a crash leaves no gap above the ranges. */
  async #removeTail(isToGo: (part: Part) => boolean): Promise<void> {
    for (const part of [...(await partsIn(this.#tail))].reverse()) {
      if (!isToGo(part)) continue;
      this.#mayWrite();
      await removePart(this.#tail, part.name);
    }
  }

  async #claim(identity: SinkIdentity): Promise<void> {
    if (!existsSync(join(this.#folder, IDENTITY_FILE))) {
      const manifest: SinkManifest = { version: SCHEMA_VERSION, identity };
      await writeWhole(this.#folder, IDENTITY_FILE, `${JSON.stringify(manifest, null, 2)}\n`);
      return;
    }
    const made = await readManifest(this.#folder);
    const fault = identityFault(`the sink ${this.#folder}`, made.identity, identity);
    if (fault !== undefined) throw fault;
  }
}

/**
 * Reads the manifest of a sink, which is the file `sink.json` in its folder.
 *
 * @throws ProtocolError `SINK_MISSING` when the folder is not the folder of a sink; `SINK_VERSION` for tables of
 *   another version
 */
export async function readManifest(folder: string): Promise<SinkManifest> {
  let manifest: Partial<SinkManifest> | null;
  try {
    manifest = JSON.parse(await readFile(join(folder, IDENTITY_FILE), 'utf8')) as Partial<SinkManifest> | null;
  } catch (error) {
    throw notASink(folder, `${IDENTITY_FILE}: ${messageOf(error)}`, error);
  }
  const { version, identity } = manifest ?? {};
  if (typeof version !== 'number') throw notASink(folder, `${IDENTITY_FILE} names no version`);
  if (version === SCHEMA_VERSION) {
    if (typeof identity === 'object' && (identity as unknown) !== null) return { version, identity };
    throw notASink(folder, `${IDENTITY_FILE} names no chain`);
  }
  throw new ProtocolError(
    'SINK_VERSION',
    { folder, version },
    `the files in ${folder} have version ${version} of the tables, this program writes ${SCHEMA_VERSION}: name a new folder`,
  );
}

/**
 * Refuses a folder that has no `sink.json`, but contains files of other programs.
 *
 * @throws ProtocolError `SINK_MISSING`
 */
async function refuseOtherFolder(folder: string): Promise<void> {
  if (existsSync(join(folder, IDENTITY_FILE))) return;
  const isOurs = (name: string): boolean => name.startsWith('draft-') || name.startsWith(LOCK_NAME);
  const other = (await readdir(folder)).find((name) => !isOurs(name));
  if (other !== undefined && !existsSync(join(folder, IDENTITY_FILE)))
    throw notASink(folder, `it holds other files, such as ${other}`);
}

function notASink(folder: string, why: string, cause?: unknown): ProtocolError {
  const message = `${folder} is no folder of a Parquet sink: ${why}`;
  return new ProtocolError('SINK_MISSING', { folder }, message, { cause });
}

function unwritable(folder: string, error: unknown): ProtocolError {
  const remedy =
    (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? 'make room on its disk, and start the command again; it continues where it stopped'
      : 'correct its path or its owner, or name another folder';
  const message = `the folder ${folder} cannot be written (${messageOf(error)}): ${remedy}`;
  return new ProtocolError('SINK_UNWRITABLE', { folder }, message, { cause: error });
}
