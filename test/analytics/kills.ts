/**
 * Fills a sink with a sequence of processes. Each process except the last kills itself after a given time, unless it
 * has completed the sink before.
 */

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
  /** Parent folder of the folder of a Parquet sink. */
  readonly folder: string;
  /** ClickHouse server of the sink; undefined for a Parquet sink. */
  readonly server: ServerOfEngine | undefined;
}

export interface ServerOfEngine {
  readonly url: string;
  readonly cluster: string | undefined;
}

/** The message that tells a process (`filler.ts`) which sink to fill. */
export interface FillerTask {
  readonly place: ChainLocation;
  readonly rangeBlocks: number;
  readonly target: FillerTarget;
  /** The process kills itself with SIGKILL after this time. Undefined if the process is to fill the sink completely. */
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
/** Largest value of `killAfterMs`. A process that is not killed fills the sink in 1 to 2 s. */
const KILL_SPAN_MS = 1500;

/**
 * Starts `kills` processes one after the other. Each process kills itself after its time `killAfterMs`. These times are
 * spread evenly up to `KILL_SPAN_MS`, so that the kills interrupt different steps of the work. If `kills` is a multiple
 * of 7, several processes have the same time, because the function computes the time from the remainder of 7 times the
 * number of the process, divided by `kills`. Each process continues to fill the sink of the previous process. If a
 * process completes the sink before its kill, the function removes the sink, so that the next process starts with an
 * empty sink. At the end, one more process runs without a kill and completes the sink.
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
      // Without this call, the next process would fail, because the lease of the killed process lasts up to 30 s.
      if (target.kind === 'clickhouse') await expireLease(target.url, target.database);
    }
    // The process has completed the sink. The test removes the sink, because otherwise the next process would find
    // nothing to write and would end before it kills itself.
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
