/**
 * The commands that copy the chain of a node into tables (`sink`), and the command that queries such tables in Parquet
 * files (`query`).
 */

import { type Command, Option } from 'commander';
import { command, EXIT_CODES, integerFrom, onlyCommands } from './command.ts';
import type { ClickHouseFlags, SqlQueryFlags, SinkFlags } from './flags.ts';

const HEIGHT_MAX = 2_147_483_647;

const HOW = `
The blocks come from the data folder of a running or stopped node, or with --node from a node on another machine. The sink
stores its own position, so you can stop and restart the command at any moment. docs/guides/analytics.md describes the tables.
With --node: BLOOMERY_NODE_TIMEOUT_S is the time limit for an answer of the node, in seconds (default: 5).`;

const PASSWORD = `
The password comes from --password-file, else BLOOMERY_CLICKHOUSE_PASSWORD, else the URL, where all users of the machine can read it.`;

export function addSinkCommands(program: Command): void {
  const sink = command(program, 'sink', 'write the whole chain into tables for SQL, and keep them up to date');
  onlyCommands(sink);
  source(command(sink, 'parquet', 'write the chain as Parquet files'))
    .argument('<dir>', 'folder for the files; created if missing')
    .addHelpText('after', `${HOW}\nTo query the files: bloomery query.\n${EXIT_CODES}`)
    .action(async (folder: string, options: SinkFlags) =>
      (await import('./commands/sink-parquet.ts')).sinkParquet(folder, options),
    );
  source(command(sink, 'clickhouse', 'write the chain into a ClickHouse server'))
    .requiredOption('--url <url>', 'HTTP interface of the server, with the user if it requires one')
    .requiredOption('--database <name>', 'database for the tables; created if missing')
    .option(
      '--cluster <name>',
      'cluster of the server; its shards share the final blocks; cannot change after the sink is created',
    )
    .option('--password-file <file>', 'file with the password of the user; - for the standard input')
    .addHelpText('after', `${HOW}\n${PASSWORD}\n${EXIT_CODES}`)
    .action(async (options: ClickHouseFlags) =>
      (await import('./commands/sink-clickhouse.ts')).sinkClickHouse(options),
    );
  command(program, 'query', 'query the files of bloomery sink parquet in SQL')
    .argument('<sql>', 'one SELECT in the dialect of ClickHouse')
    .requiredOption('--from <dir>', 'folder that bloomery sink parquet writes')
    .option('--format <name>', 'text format, by its ClickHouse name (default: PrettyCompactMonoBlock)')
    .option('--engine <dir>', 'folder in which npm install chdb was run (else BLOOMERY_CHDB, else beside bloomery)')
    .option('--json', 'print {"meta","data","rows"} on one line')
    .addHelpText(
      'after',
      `
Needs the package chdb with the ClickHouse engine (550 MB): npm install chdb beside bloomery, or in a folder that --engine or
BLOOMERY_CHDB names. Without --engine and BLOOMERY_CHDB, Node.js also searches the folders in NODE_PATH. The command does not search
the working folder, because the package runs with your rights. Therefore put no relative path into NODE_PATH.
${EXIT_CODES}`,
    )
    .action(async (sql: string, options: SqlQueryFlags) => (await import('./commands/query.ts')).query(sql, options));
}

function source(of: Command): Command {
  return of
    .option('--data-dir <dir>', 'folder for data that the node was started with')
    .option('--network <name|dir>', 'name of a network, or path of its folder')
    .addOption(new Option('--node <url>', 'HTTP interface of a node, instead of a folder').conflicts('dataDir'))
    .option(
      '--range-blocks <count>',
      'blocks per range; cannot change after the sink is created',
      integerFrom(1, 100_000),
      1000,
    )
    .option(
      '--depth <blocks>',
      'generation 2: depth below the tip at which a block counts as final, in blocks (default: 202)',
      integerFrom(1, HEIGHT_MAX),
    )
    .option('--once', 'end when the sink has all present blocks')
    .option('--json', 'print {"phase","height","finalHeight","rows"}, one line for each step');
}
