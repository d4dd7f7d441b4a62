/**
 * `npm run analytics`: tests the sinks with the database engines of this machine (chdb and ClickHouse). The program
 * fills a sink of each engine with a chain of each generation, and runs all queries of docs/guides/analytics.md. All
 * engines must return the same rows. The query of each panel in docs/deploy/grafana-analytics.json must return the same
 * rows as the matching query of the guide. The program also runs the tests of the ClickHouse sink that `npm test` skips
 * if there is no ClickHouse server. The program installs no engine. If an engine is missing, the program says how to
 * install it.
 *
 * `--help` lists the options. With an option that is marked "instead", the program does another run instead of the run
 * above.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';
import { bloomeryHome, findNetworkDirectory, loadNetwork } from '../../src/config/network.ts';
import { openStoreSource } from '../../src/node/sink-source.ts';
import { runSink } from '../../src/sinks/run.ts';
import { locationIn, storeChain } from '../support/chain-folder.ts';
import { fullChain } from '../sinks/full-chain.ts';
import { listSource } from '../sinks/list-source.ts';
import { makeChain, TRANSFERS_PER_BLOCK } from '../bench/chains.ts';
import { positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { runBackfill } from './backfill.ts';
import { goldenChain, goldenDifferences } from './golden.ts';
import { chdbFolder, clickHouseEngine, parquetEngine, type Engine } from './engines.ts';
import { exampleValues, questionsOfGuide, withExamples } from './questions.ts';
import { sameTables } from './same-tables.ts';
import { askPanels } from './panels.ts';
import { killSink, type ServerOfEngine } from './kills.ts';
import { fillFromStore } from './stored-chain.ts';
import { runLag } from './lag.ts';
import { runLiveKills } from './live-kills.ts';
import { runReplicaFaults } from './replica-faults.ts';
import { passServerTests } from './server-tests.ts';
import { TRANSACTIONS_PER_BLOCK, unsignedChain } from './unsigned-chain.ts';
import { CLUSTER, missingForCluster, startCluster } from './servers.ts';

const RANGE_BLOCKS = 20;
const BACKFILL_RUNS = 3;
/** The default of the option `--range-blocks` of `bloomery sink`. */
const BACKFILL_RANGE_BLOCKS = 1_000;
const HEIGHT = 103;
const DIFFERENCES_SAID = 20;
const GENERATED_ADDRESSES = 100_000;
const GENERATED_RANGE_BLOCKS = 1_000;
/** With `--store` or `--generated`: number of runs of each query. Later runs are faster if the data is in memory. */
const QUESTION_TURNS = 3;
/**
 * With `--golden`, the chain source of the sink reports this number of newest blocks as not final, so that the sink has
 * not only ranges of final blocks, but also a tail (blocks that the node can still revert).
 */
const GOLDEN_TAIL_BLOCKS = 15;
const GOLDEN_RANGE_BLOCKS = 10;

interface Flags {
  readonly liveKills?: number;
  readonly store?: string;
  readonly replicaFaults?: number;
  readonly lag?: number;
  readonly generated?: number;
  readonly backfill?: number;
  readonly minutes: number;
  readonly network: string;
  readonly spread?: true;
  readonly golden?: string;
  readonly kills: number;
}

/** Options that each select another run. The program refuses a command line with two such options. */
const RUNS = ['liveKills', 'store', 'replicaFaults', 'lag', 'generated', 'backfill'];

const flags = testProgram(
  'analytics',
  'Tests the sinks with the database engines of this machine (chdb and ClickHouse). All engines must return the same rows ' +
    'for the queries of docs/guides/analytics.md. Each option marked "instead" selects another run.',
)
  .addOption(
    run(
      '--live-kills <number>',
      'a devnet with reorgs and a ClickHouse sink, of which the sink, the node that it follows, and the ClickHouse server ' +
        'are each killed so often',
    ).argParser(wholeNumber(1)),
  )
  .option('--minutes <number>', 'length of --live-kills', positiveNumber, 20)
  .addOption(
    run(
      '--store <directory>',
      'copy the chain of a data folder to ClickHouse, run the queries three times, and compare sums and balances',
    ),
  )
  .option('--network <name|dir>', 'network of --store', 'mainnet')
  .addOption(
    run(
      '--replica-faults <number>',
      'fill so many sinks on a cluster in which one shard has two replicas, and kill each replica several times',
    ).argParser(wholeNumber(1)),
  )
  .addOption(
    run(
      '--lag <minutes>',
      'measure how long it takes until the tables of a ClickHouse sink contain a new block of a devnet',
    ).argParser(positiveNumber),
  )
  .addOption(
    run(
      '--generated <blocks>',
      'write a generated chain of so many full blocks and 100,000 accounts to ClickHouse, and run the queries three times',
    ).argParser(wholeNumber(1)),
  )
  .addOption(
    run(
      '--backfill <blocks>',
      'measure three times how fast a sink writes so many full blocks, beside the inserts of clickhouse-client from files',
    ).argParser(wholeNumber(1)),
  )
  .option('--spread', 'have the tables of the runs above on a cluster of three servers, too')
  .option(
    '--golden <directory>',
    'also fill the sinks with these chains, which were recorded from the reference, and compare sums of accounts',
  )
  .option('--kills <number>', 'also fill each sink by processes of which up to so many are killed', wholeNumber(0), 0)
  .parse()
  .opts<Flags>();
const isSpread = flags.spread === true;
const folder = mkdtempSync(join(tmpdir(), 'bloomery-analytics-'));
const namedUrl = process.env['BLOOMERY_TEST_CLICKHOUSE_URL'];
const chdb = chdbFolder();
let faults = 0;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fault(line: string): void {
  faults += 1;
  say(`FAULT ${line}`);
}

if (chdb === undefined)
  say(
    'skipped: parquet with chdb; install it with `npm install --no-save chdb`, or name its folder in BLOOMERY_TEST_CHDB',
  );
const missing = missingForCluster();
if (missing !== undefined) say(`skipped: a cluster of three shards; ${missing}`);
if (missing !== undefined && namedUrl === undefined)
  say(
    'skipped: clickhouse; install `clickhouse-server`, or name a server in BLOOMERY_TEST_CLICKHOUSE_URL, for example http://127.0.0.1:8123',
  );
// With `--replica-faults`, `runReplicaFaults` starts its own cluster, so this file starts none.
const cluster = missing === undefined && flags.replicaFaults === undefined ? await startCluster(folder) : undefined;
const clusterUrl = cluster?.servers[0]?.url;
const url = namedUrl ?? clusterUrl;

try {
  if (flags.liveKills !== undefined) await tryLiveKills(flags.liveKills);
  else if (flags.backfill !== undefined) await tryBackfill(flags.backfill);
  else if (flags.replicaFaults !== undefined) await tryReplicaFaults(flags.replicaFaults);
  else if (flags.lag !== undefined) await tryLag(flags.lag);
  else if (flags.generated !== undefined) await tryGenerated(flags.generated);
  else if (flags.store !== undefined) await tryStore(flags.store, flags.network);
  else {
    for (const generation of [2, 3] as const) {
      await tryGeneration(generation);
      if (flags.golden !== undefined) await tryGolden(generation, flags.golden);
    }
    const clusterName = clusterUrl === undefined || clusterUrl !== url ? undefined : CLUSTER;
    if (url !== undefined && !(await passServerTests(url, clusterName))) fault('a test of the ClickHouse sink fails');
  }
} finally {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
}
say(faults === 0 ? 'all agreed' : `${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;

function run(flagsOfIt: string, description: string): Option {
  const option = new Option(flagsOfIt, `instead: ${description}`);
  return option.conflicts(RUNS.filter((name) => name !== option.attributeName()));
}

interface TriedEngine {
  readonly engine: Engine;
  readonly server: ServerOfEngine | undefined;
}

function enginesOf(name: string): readonly TriedEngine[] {
  const tried: TriedEngine[] = [];
  if (chdb !== undefined) tried.push({ engine: parquetEngine(join(folder, `${name}-files`), chdb), server: undefined });
  const servers = [
    { at: url, cluster: undefined },
    { at: clusterUrl, cluster: CLUSTER },
  ];
  for (const { at, cluster: spread } of servers) {
    if (at === undefined) continue;
    const database = `bloomery_analytics_${process.pid}_${name}${spread === undefined ? '' : '_spread'}`;
    tried.push({ engine: clickHouseEngine(at, database, spread), server: { url: at, cluster: spread } });
  }
  return tried;
}

async function tryLiveKills(kills: number): Promise<void> {
  if (missing !== undefined) return say(`skipped: kills beside a devnet; ${missing}`);
  const servers = (cluster?.servers ?? []).slice(0, isSpread ? undefined : 1);
  const { differences, ...report } = await runLiveKills({
    kills,
    minutes: flags.minutes,
    servers,
    cluster: isSpread ? CLUSTER : undefined,
    say,
  });
  for (const difference of differences) fault(`killed beside a devnet: ${difference}`);
  say(`killed beside a devnet: ${JSON.stringify(report)}, ${differences.length} tables differ`);
}

async function tryReplicaFaults(rounds: number): Promise<void> {
  if (missing !== undefined) return say(`skipped: faults of replicas; ${missing}`);
  const { differences, ...report } = await runReplicaFaults(join(folder, 'replicas'), rounds, say);
  for (const difference of differences) fault(`replicas: ${difference}`);
  say(`replicas: ${JSON.stringify(report)}, ${differences.length} tables differ`);
}

async function tryBackfill(blockCount: number): Promise<void> {
  if (clusterUrl === undefined) return say(`skipped: speed of a backfill; ${missing ?? ''}`);
  const { network, blocks } = makeChain(blockCount, TRANSFERS_PER_BLOCK);
  const place = locationIn(join(folder, 'backfill'), network);
  await storeChain(place, [network.genesis, ...blocks]);
  for (let run = 0; run < BACKFILL_RUNS; run += 1) {
    const spread = isSpread ? CLUSTER : undefined;
    const report = await runBackfill({
      place,
      url: clusterUrl,
      cluster: spread,
      rangeBlocks: BACKFILL_RANGE_BLOCKS,
      folder,
    });
    say(`backfill: ${JSON.stringify(report)}`);
  }
}

async function tryLag(minutes: number): Promise<void> {
  if (url === undefined) return say('skipped: lag of a sink; there is no server');
  const report = await runLag(url, minutes, folder);
  say(`lag: ${JSON.stringify(report)}`);
  if (report.missedSlots > 0) fault(`lag: ${report.missedSlots} slots have no block`);
}

async function tryStore(dataFolder: string, networkName: string): Promise<void> {
  const network = loadNetwork(findNetworkDirectory(networkName, bloomeryHome(process.env)));
  const place = { network, dataDirectory: join(dataFolder, network.name) };
  const answers = new Map<string, string>();
  for (const { engine, server } of enginesOf('store')) {
    if (server === undefined || (server.cluster !== undefined && !isSpread)) continue;
    try {
      const { differences, ...report } = await fillFromStore(engine, place);
      for (const difference of differences.slice(0, DIFFERENCES_SAID)) fault(`${engine.name}: ${difference}`);
      say(`${engine.name}: ${JSON.stringify(report)}, ${differences.length} differences`);
      await askInTurns(engine, answers);
    } finally {
      await engine.remove();
    }
  }
}

async function tryGenerated(blockCount: number): Promise<void> {
  const answers = new Map<string, string>();
  for (const { engine, server } of enginesOf('generated')) {
    if (server === undefined || (server.cluster !== undefined && !isSpread)) continue;
    try {
      const startedMs = performance.now();
      const source = unsignedChain(blockCount, GENERATED_ADDRESSES);
      const sink = engine.open();
      const { signal } = new AbortController();
      await runSink({ source, sink, rangeBlocks: GENERATED_RANGE_BLOCKS, signal, follows: false });
      await sink.end();
      const fillS = Math.round((performance.now() - startedMs) / 1000);
      say(`${engine.name}: ${blockCount * TRANSACTIONS_PER_BLOCK} transactions made and written in ${fillS} s`);
      await askInTurns(engine, answers);
    } finally {
      await engine.remove();
    }
  }
}

async function askInTurns(engine: Engine, answers: Map<string, string>): Promise<void> {
  for (let turn = 1; turn <= QUESTION_TURNS; turn += 1) {
    const times = await askAll(engine, `${engine.name}, time ${turn}`, answers, true);
    const sumMs = [...times.values()].reduce((sum, ms) => sum + ms, 0);
    const [slowest] = [...times].sort(([, one], [, other]) => other - one);
    say(`${engine.name}, time ${turn}: all in ${sumMs} ms, the slowest ${slowest?.[0]} in ${slowest?.[1]} ms`);
  }
}

async function tryGolden(generation: 2 | 3, goldenFolder: string): Promise<void> {
  const chain = goldenChain(generation, join(goldenFolder, `gen${generation}`));
  const differences = goldenDifferences(chain);
  for (const difference of differences) fault(`golden, generation ${generation}: ${difference}`);
  say(
    `golden, generation ${generation}: ${chain.accounts.length} accounts of the reference, ${differences.length} differ`,
  );
  const answers = new Map<string, string>();
  for (const { engine } of enginesOf(`golden${generation}`)) {
    try {
      const { rules, blocks } = chain;
      const source = listSource(rules, { blocks, finalHeight: blocks.length - GOLDEN_TAIL_BLOCKS });
      const sink = engine.open();
      await runSink({
        source,
        sink,
        rangeBlocks: GOLDEN_RANGE_BLOCKS,
        signal: new AbortController().signal,
        follows: false,
      });
      await sink.end();
      const name = `golden, generation ${generation}, ${engine.name}`;
      const found = await sameTables(engine, rules, blocks);
      for (const difference of found) fault(`${name}: ${difference}`);
      say(`${name}: ${blocks.length} blocks, ${found.length} tables differ`);
      await askAll(engine, name, answers, true);
    } finally {
      await engine.remove();
    }
  }
}

async function tryGeneration(generation: 2 | 3): Promise<void> {
  const { network, blocks, maker } = fullChain(generation, HEIGHT);
  const place = locationIn(join(folder, `gen${generation}`), network);
  await storeChain(place, blocks);
  const answers = new Map<string, string>();
  for (const { engine, server } of enginesOf(`made${generation}`)) {
    try {
      const source = openStoreSource(place, { depth: 20, pollMs: 10 });
      const sink = engine.open();
      const { signal } = new AbortController();
      await runSink({ source, sink, rangeBlocks: RANGE_BLOCKS, signal, follows: false });
      await sink.end();
      await source.close();
      const name = `generation ${generation}, ${engine.name}`;
      await askAll(engine, name, answers);
      const { asked, differences } = await askPanels(engine, answers);
      for (const difference of differences) fault(`${name}, dashboard: ${difference}`);
      say(`${name}: ${asked} queries of the dashboard`);
      for (const difference of await sameTables(engine, maker.rules, blocks)) fault(`${name}: ${difference}`);
      const { kills } = flags;
      if (kills === 0) continue;
      await engine.remove();
      const killed = await killSink({ server, place, kills, rangeBlocks: RANGE_BLOCKS, folder });
      for (const difference of await sameTables(killed.engine, maker.rules, blocks))
        fault(`${name}, killed: ${difference}`);
      say(`${name}: killed ${killed.count} times, all rows there once`);
      await killed.engine.remove();
    } finally {
      await engine.remove();
    }
  }
}

/**
 * Runs all queries of docs/guides/analytics.md. Reports each query that fails, and each query whose rows differ from
 * its rows in `answers`.
 *
 * @param answers rows from earlier calls as JSON, by title of the query; the function adds the rows of this call
 * @param mayBeEmpty false if a query that returns no rows is a fault
 * @returns time in milliseconds of each query that succeeded, by title of the query
 */
async function askAll(
  engine: Engine,
  name: string,
  answers: Map<string, string>,
  mayBeEmpty = false,
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  const questions = questionsOfGuide();
  const asked = await engine.ask();
  const examples = await exampleValues((sql) => asked.rows(sql));
  for (const { title, sql } of questions) {
    const startMs = performance.now();
    try {
      const rows = await asked.rows(withExamples(sql, examples));
      const ms = Math.round(performance.now() - startMs);
      times.set(title, ms);
      const text = JSON.stringify(rows);
      const known = answers.get(title);
      if (known !== undefined && known !== text) fault(`${name}: ${title}: ${text} instead of ${known}`);
      answers.set(title, text);
      say(`${name}: ${title} ${rows.length} rows, ${ms} ms`);
      if (rows.length === 0 && !mayBeEmpty) fault(`${name}: ${title}: no rows`);
    } catch (error) {
      fault(`${name}: ${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  await asked.close();
  return times;
}
