/** Kills the process of a sink again and again while it fills the sink. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChainLocation } from '../../src/node/chain-tool.ts';
import { expireLease } from '../sinks/expire-lease.ts';
import { clickHouseEngine, parquetEngine, type Engine } from './engines.ts';

export interface KillsOptions {
  readonly place: ChainLocation;
  readonly kills: number;
  readonly rangeBlocks: number;
  /** Folder for the files of a Parquet sink. */
  readonly folder: string;
  /** ClickHouse server of the sink; undefined for a Parquet sink. */
  readonly server: ServerOfEngine | undefined;
}

export interface ServerOfEngine {
  readonly url: string;
  readonly cluster: string | undefined;
}

/** The message to a process (`filler.ts`), which then fills a sink. */
export interface FillerTask {
  readonly place: ChainLocation;
  readonly rangeBlocks: number;
  readonly target: FillerTarget;
  /** The process kills itself by SIGKILL after this many milliseconds; undefined to fill the sink to the end. */
  readonly killAfterMs: number | undefined;
}

export type FillerTarget =
  | { readonly kind: 'parquet'; readonly folder: string }
  | {
      readonly kind: 'clickhouse';
      readonly url: string;
      readonly database: string;
      readonly cluster: string | undefined;
    };

const FILLER = fileURLToPath(new URL('./filler.js', import.meta.url));
/** Milliseconds from the start of a process to the latest kill. A process without a kill fills the sink in 1 to 2 s. */
const KILL_SPAN_MS = 1500;

/**
 * Starts `kills` processes one after the other, each with another time until its kill. The last process is not killed,
 * and completes the sink. If a process completes the sink before its kill, the function removes the sink.
 *
 * @returns the engine of the complete sink, and the number of killed processes
 */
export async function killSink(options: KillsOptions): Promise<{ readonly engine: Engine; readonly count: number }> {
  const { place, rangeBlocks, kills } = options;
  const { engine, target, clear } = targetOf(options);
  let count = 0;
  for (let run = 0; run < kills; run += 1) {
    const killAfterMs = Math.round((KILL_SPAN_MS * (((run * 7) % kills) + 1)) / kills);
    const ended = await fill({ place, rangeBlocks, target, killAfterMs });
    if (ended === 'killed') {
      count += 1;
      // Without this call, the next process would be refused until the lease of the killed process expires after 30 s.
      if (target.kind === 'clickhouse') await expireLease(target.url, target.database);
    }
    // The next process would find a complete sink and end at once. To be killed during its work, it needs an empty
    // sink.
    else await clear();
  }
  await fill({ place, rangeBlocks, target, killAfterMs: undefined });
  return { engine, count };
}

function targetOf({ folder, server }: KillsOptions): {
  readonly engine: Engine;
  readonly target: FillerTarget;
  clear(): Promise<void>;
} {
  if (server === undefined) {
    const files = join(folder, 'killed');
    const clear = (): Promise<void> => rm(files, { recursive: true, force: true });
    const remade = { ...parquetEngine(files, process.env['BLOOMERY_TEST_CHDB'] ?? process.cwd()), remove: clear };
    return { engine: remade, target: { kind: 'parquet', folder: files }, clear };
  }
  const { url, cluster } = server;
  const database = `bloomery_killed_${process.pid}`;
  const remade = clickHouseEngine(url, database, cluster);
  return { engine: remade, target: { kind: 'clickhouse', url, database, cluster }, clear: () => remade.remove() };
}

async function fill(task: FillerTask): Promise<'ended' | 'killed'> {
  const child = fork(FILLER, { serialization: 'advanced' });
  child.send(task);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (signal === 'SIGKILL') return 'killed';
  if (code === 0) return 'ended';
  throw new Error(`the process of the sink ended with ${code ?? signal ?? 'nothing'}`);
}
