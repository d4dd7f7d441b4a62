/** The commands that take a chain out of the node, for questions over its whole history. */

import { type Command, Option } from 'commander';
import { command, EXIT_CODES, integerFrom, onlyCommands } from './command.ts';
import type { ClickHouseFlags, QueryFlags, SinkFlags } from './flags.ts';

const HEIGHT_MAX = 2_147_483_647;

const HOW = `
Blocks come from the data folder of a node, which may run meanwhile, or with --node from a node elsewhere. The sink itself tells
where it stands, so the command may be ended and started again anywhere. docs/guides/analytics.md tells of the tables.`;

const PASSWORD = `
The password comes from --password-file, else BLOOMERY_CLICKHOUSE_PASSWORD, else the URL, where all users of the machine can read it.`;

export function addSinkCommands(program: Command): void {
  const sink = command(program, 'sink', 'write the whole chain into tables for SQL, and keep them up to date');
  onlyCommands(sink);
  source(command(sink, 'parquet', 'write the chain as Parquet files'))
    .argument('<dir>', 'folder for the files; made where there is none')
    .addHelpText('after', `${HOW}\nTo ask: bloomery query.\n${EXIT_CODES}`)
    .action(async (folder: string, options: SinkFlags) =>
      (await import('./commands/sink-parquet.ts')).sinkParquet(folder, options),
    );
  source(command(sink, 'clickhouse', 'write the chain into a ClickHouse server'))
    .requiredOption('--url <url>', 'HTTP interface of the server, with the user where it asks for one')
    .requiredOption('--database <name>', 'database for the tables; made where there is none')
    .option('--password-file <file>', 'file with the password of the user; - for the standard input')
    .addHelpText('after', `${HOW}\n${PASSWORD}\n${EXIT_CODES}`)
    .action(async (options: ClickHouseFlags) =>
      (await import('./commands/sink-clickhouse.ts')).sinkClickHouse(options),
    );
  command(program, 'query', 'ask the files of bloomery sink parquet in SQL')
    .argument('<sql>', 'one SELECT, in the words of ClickHouse')
    .requiredOption('--from <dir>', 'folder that bloomery sink parquet writes')
    .addOption(
      new Option('--format <name>', 'form of the answer, by its name in ClickHouse').default('PrettyCompactMonoBlock'),
    )
    .option('--engine <dir>', 'folder in which npm install chdb was run (else BLOOMERY_CHDB, else beside bloomery)')
    .option('--json', 'print {"meta","data","rows"}, a line')
    .addHelpText(
      'after',
      `
Needs the package chdb, which holds the engine of ClickHouse (550 MB): npm install chdb beside bloomery, or in a folder that
--engine or BLOOMERY_CHDB names. It is taken from nowhere else, as it runs with your rights.
${EXIT_CODES}`,
    )
    .action(async (sql: string, options: QueryFlags) => (await import('./commands/query.ts')).query(sql, options));
}

function source(of: Command): Command {
  return of
    .option('--data-dir <dir>', 'folder for data that the node was started with')
    .option('--network <name|dir>', 'name of a network, or path of its folder')
    .addOption(new Option('--node <url>', 'HTTP interface of a node, in place of a folder').conflicts('dataDir'))
    .option('--range-blocks <count>', 'blocks of a range; fixed when the sink is made', integerFrom(1, 100_000), 1000)
    .option(
      '--depth <blocks>',
      'generation 2: blocks below the tip from where on a block counts as final',
      integerFrom(1, HEIGHT_MAX),
      202,
    )
    .option('--once', 'end when the sink has the chain as it stands')
    .option('--json', 'print {"phase","height","finalHeight","rows"}, a line for each step');
}
