/** Engines that answer the questions of the guide, each over a sink that a test has filled. */

import { systemClock } from '../../src/node/system.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { embeddedEngine } from '../../src/cli/sink/embedded-engine.ts';
import { takeSinkLock, thisHolder } from '../../src/cli/sink/sink-lock.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { ParquetSink } from '../../src/sinks/parquet/parquet-sink.ts';
import { withSnapshot } from '../../src/sinks/parquet/snapshot.ts';
import { viewStatements } from '../../src/sinks/parquet/views.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { dropDatabase } from '../sinks/drop-database.ts';

export interface Engine {
  readonly name: string;
  /** A sink over the same place each time. */
  open(): Sink;
  /** Opens what was filled for questions. */
  ask(): Promise<Answers>;
  /** Removes what was filled. */
  remove(): Promise<void>;
}

export interface Answers {
  /** Rows as JSON of ClickHouse, integers of 64 bits as text. */
  rows(sql: string): Promise<readonly object[]>;
  close(): Promise<void>;
}

/** Folder in which the package chdb is installed: this one, or one that a variable names; undefined where it is not. */
export function chdbFolder(): string | undefined {
  const folders = [process.cwd(), process.env['BLOOMERY_TEST_CHDB'] ?? process.cwd()];
  return folders.find((folder) => existsSync(join(folder, 'node_modules', 'chdb', 'package.json')));
}

/** @param folder for the files, made by the sink */
export function parquetEngine(folder: string, chdb: string): Engine {
  return {
    name: 'parquet',
    open: () => new ParquetSink(folder, takeSinkLock),
    async ask() {
      const engine = embeddedEngine(chdb);
      engine.run('SET output_format_json_quote_64bit_integers = 1', 'CSV');
      await withSnapshot(folder, (snapshot) => {
        for (const statement of viewStatements(folder, snapshot)) engine.run(statement, 'CSV');
      });
      return {
        rows: (sql) => Promise.resolve((JSON.parse(engine.run(sql, 'JSON')) as { data: object[] }).data),
        close: () => Promise.resolve(engine.close()),
      };
    },
    remove: () => Promise.resolve(),
  };
}

/** @param cluster over which the final tables are spread; undefined for tables on one server */
export function clickHouseEngine(url: string, database: string, cluster?: string): Engine {
  return {
    name: cluster === undefined ? 'clickhouse' : 'clickhouse cluster',
    open: () => new ClickHouseSink(openServer(url, database, systemClock), systemClock, thisHolder(), cluster),
    ask: () => {
      const server = openServer(url, database, systemClock);
      // Questions of the guide name no database.
      const tables = /\b(FROM|IN) (blocks|transactions|balance_changes|votes|rounds|signatures|balances|flows)\b/g;
      const views = /\b(FROM) ((?:volume|active_addresses|delegate_productivity|balance_changes)_per_day)\b/g;
      const within = (sql: string): string =>
        sql.replace(tables, `$1 ${database}.$2`).replace(views, `$1 ${database}.$2`);
      return Promise.resolve({
        rows: (sql) => server.rows<object>(within(sql)),
        close: () => server.close(),
      });
    },
    remove: () => dropDatabase(url, database, cluster),
  };
}
