/**
 * Measures how fast a sink fills an empty ClickHouse database from the store of a node. Then measures how fast
 * clickhouse-client inserts the rows of the tables `transactions` and `balance_changes` from files. Both speeds count
 * only the rows of these two tables. To compare two machines, compare the ratio of the first speed to the second on
 * each machine.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openStoreSource } from '../../src/node/sink-source.ts';
import type { ChainLocation } from '../../src/node/chain-tool.ts';
import { runSink } from '../../src/sinks/run.ts';
import { clickHouseEngine } from './engines.ts';

export interface BackfillOptions {
  readonly place: ChainLocation;
  readonly url: string;
  readonly cluster: string | undefined;
  readonly rangeBlocks: number;
  /** Folder to which `runBackfill` writes the rows of the tables in `TABLES`, one file for each table. */
  readonly folder: string;
}

export interface BackfillReport {
  /** Number of rows in the tables `transactions` and `balance_changes` together. */
  readonly rows: number;
  /**
   * Processor time of this process while the sink filled the database. Does not contain the processor time of the
   * ClickHouse server.
   */
  readonly cpuMs: number;
  readonly ms: number;
  readonly rowsPerS: number;
  /** Rows per second when clickhouse-client inserts the rows of `transactions` and `balance_changes` from files. */
  readonly fileRowsPerS: number;
}

const TABLES = ['transactions', 'balance_changes'] as const;

export async function runBackfill(options: BackfillOptions): Promise<BackfillReport> {
  const { place, url, cluster, rangeBlocks, folder } = options;
  const database = `bloomery_backfill_${process.pid}`;
  const engine = clickHouseEngine(url, database, cluster);
  try {
    const source = openStoreSource(place, { depth: 1, pollMs: 10 });
    const sink = engine.open();
    const startedMs = performance.now();
    const before = process.cpuUsage();
    await runSink({ source, sink, rangeBlocks, signal: new AbortController().signal, follows: false });
    const ms = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(before);
    await sink.end();
    await source.close();
    let rows = 0;
    let fileMs = 0;
    for (const table of TABLES) {
      const file = join(folder, `${table}.tsv`);
      const answer = await fetch(url, {
        method: 'POST',
        body: `SELECT * FROM ${database}.${table} FORMAT TabSeparated`,
      });
      if (answer.body === null) throw new Error('the server answered nothing');
      await pipeline(answer.body, createWriteStream(file));
      const copy = `${database}.${table}_copy`;
      await ask(url, `CREATE TABLE ${copy} AS ${database}.${table}_final`);
      fileMs += await insertFile(url, copy, file);
      rows += Number(await ask(url, `SELECT count() FROM ${copy}`));
    }
    const perS = (forMs: number): number => Math.round((rows / forMs) * 1000);
    return {
      rows,
      cpuMs: Math.round((user + system) / 1000),
      ms: Math.round(ms),
      rowsPerS: perS(ms),
      fileRowsPerS: perS(fileMs),
    };
  } finally {
    await engine.remove();
  }
}

/** @returns the duration of the insertion, in milliseconds */
async function insertFile(url: string, table: string, file: string): Promise<number> {
  // Each server from `servers.ts` accepts connections of clickhouse-client on the port after its HTTP port.
  const port = Number(new URL(url).port) + 1;
  const query = `INSERT INTO ${table} FORMAT TabSeparated`;
  const startedMs = performance.now();
  const client = spawn('clickhouse-client', ['--port', `${port}`, '--query', query], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(client, 'exit');
  await pipeline(createReadStream(file), client.stdin);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`clickhouse-client ended with ${code ?? 'a signal'}`);
  return performance.now() - startedMs;
}

async function ask(url: string, sql: string): Promise<string> {
  const answer = await fetch(url, { method: 'POST', body: sql });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.text();
}
