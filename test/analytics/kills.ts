/** Kills the process of a sink again and again while it fills the sink. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChainPlace } from '../../src/node/chain-tool.ts';
import { expireLease } from '../sinks/expire-lease.ts';
import { clickHouseEngine, parquetEngine, type Engine } from './engines.ts';

export interface KillsOptions {
  readonly place: ChainPlace;
  readonly kills: number;
  readonly rangeBlocks: number;
  /** Folder for the files of a Parquet sink. */
  readonly folder: string;
  /** The ClickHouse server; undefined for a Parquet sink. */
  readonly server: ServerOfEngine | undefined;
}

export interface ServerOfEngine {
  readonly url: string;
  readonly cluster: string | undefined;
}

/** The message that tells a process which sink to fill. */
export interface FillerTask {
  readonly place: ChainPlace;
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
/** Milliseconds over which the kills are spread. A whole run takes one to two seconds. */
const KILL_SPAN_MS = 1500;

/**
 * Starts the process `kills` times, each time with another moment of its kill, and at last lets one process fill the
 * sink to the end. When a process fills the sink before its kill, the sink is removed for the next process.
 *
 * @returns the engine over the full sink, and how many processes were killed
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
      // Without this call the next process waits half a minute until the lease of the killed process expires.
      if (target.kind === 'clickhouse') await expireLease(target.url, target.database);
    }
    // A process with a full sink ends at once, so a kill in the middle of its work needs an empty sink.
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
