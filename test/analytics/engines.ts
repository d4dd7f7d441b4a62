/** Creates sinks (Parquet or ClickHouse), and runs the queries of `docs/guides/analytics.md` on the filled sinks. */

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
  /** Makes a new sink object for the folder or database of this engine. */
  open(): Sink;
  /** Opens the filled sink for queries. */
  ask(): Promise<Answers>;
  /**
   * For a ClickHouse sink, removes the database. For a Parquet sink, removes the folder if `killSink` created the
   * engine, and otherwise does nothing.
   */
  remove(): Promise<void>;
}

export interface Answers {
  /** Runs the query, and returns its rows, parsed from the JSON of ClickHouse. Integers of 64 bits are strings. */
  rows(sql: string): Promise<readonly object[]>;
  close(): Promise<void>;
}

/**
 * Folder in which the package chdb is installed: the working folder, or the folder that `BLOOMERY_TEST_CHDB` names.
 * Undefined if neither folder contains the package.
 */
export function chdbFolder(): string | undefined {
  const folders = [process.cwd(), process.env['BLOOMERY_TEST_CHDB'] ?? process.cwd()];
  return folders.find((folder) => existsSync(join(folder, 'node_modules', 'chdb', 'package.json')));
}

/**
 * @param folder folder of the sink; the sink creates this folder
 * @param chdb folder in which the package chdb is installed
 */
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

/** @param cluster name of the cluster over which the sink spreads the tables; undefined for tables on one server */
export function clickHouseEngine(url: string, database: string, cluster?: string): Engine {
  return {
    name: cluster === undefined ? 'clickhouse' : 'clickhouse cluster',
    open: () => new ClickHouseSink(openServer(url, database, systemClock), systemClock, thisHolder(), cluster),
    ask: () => {
      const server = openServer(url, database, systemClock);
      // The queries of the guide name no database, so `within` puts the database before the name of each table and
      // view.
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
