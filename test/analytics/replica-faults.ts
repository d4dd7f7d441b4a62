/**
 * Tests a sink on a ClickHouse cluster in which one shard has two replicas. While the sink writes, one replica is down,
 * lacks rows or is killed. After each fault, the test stops each replica in turn, and reads the tables from the other
 * replica. The tables must then contain each written row of the chain exactly once. The view `balance_changes_per_day`
 * must contain the sums of these rows.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/primitives/errors.ts';
import { runSink } from '../../src/sinks/run.ts';
import { expireLease } from '../sinks/expire-lease.ts';
import { fullChain } from '../sinks/full-chain.ts';
import { listSource } from '../sinks/list-source.ts';
import { clickHouseEngine, type Engine } from './engines.ts';
import { sameTables } from './same-tables.ts';
import { CLUSTER, startCluster, type TestServer } from './servers.ts';

export interface ReplicaFaultsReport {
  /** For each kind of fault, the number of times that the test caused the fault. */
  readonly faults: Readonly<Record<Fault, number>>;
  /**
   * Number of times that the sink ended with an error. Each time, the test starts the sink again.
   */
  readonly restarts: number;
  /**
   * During a `lags` fault, the replica that lacks rows runs alone for some time. Then the test restarts the other
   * replica. This member counts the `lags` faults in which the sink had not yet written all blocks of this fault before
   * this restart. During each fault, the sink writes until its number of blocks is the next
   * multiple of `STEP_BLOCKS`.
   */
  readonly waits: number;
  /** For each comparison after a fault: a text for each table that differs from the rows of the chain. */
  readonly differences: readonly string[];
}

/**
 * Number of replicas of each shard. The only server of the first shard stores the markers of the sink (rows that show
 * which groups of rows the sink has inserted completely). The test never stops this server.
 */
export const SHARDS_WITH_REPLICA: readonly number[] = [1, 2];

const FAULTS = ['down', 'lags', 'killed'] as const;
type Fault = (typeof FAULTS)[number];

const HEIGHT = 103;
const RANGE_BLOCKS = 4;
/**
 * During each fault, the sink writes until its number of blocks is the next multiple of this number. After five faults,
 * the sink contains 100 blocks.
 */
const STEP_BLOCKS = 20;
const LAG_MS = 2_000;
const RUNS_MAX = 60;
const RETRY_MS = 500;
const CATCH_UP_MS = 60_000;
const POLL_MS = 100;

/**
 * Fills `rounds` sinks one after the other. The test causes five faults while it fills each sink.
 *
 * @param folder folder for the data of the servers
 */
export async function runReplicaFaults(
  folder: string,
  rounds: number,
  say: (line: string) => void,
): Promise<ReplicaFaultsReport> {
  const cluster = await startCluster(folder, SHARDS_WITH_REPLICA);
  try {
    const [first, ...replicas] = cluster.servers;
    if (first === undefined) throw new Error('the cluster has no servers');
    const trial = new ReplicaTrial(first, replicas);
    for (let round = 1; round <= rounds; round += 1) {
      await trial.run(round);
      const { differences, ...report } = trial.report();
      say(`replicas, round ${round} of ${rounds}: ${JSON.stringify(report)}, ${differences.length} tables differ`);
    }
    return trial.report();
  } finally {
    await cluster.stop();
  }
}

class ReplicaTrial {
  readonly #first: TestServer;
  readonly #replicas: readonly TestServer[];
  readonly #chain = fullChain(3, HEIGHT);
  readonly #faults: Record<Fault, number> = { down: 0, lags: 0, killed: 0 };
  readonly #differences: string[] = [];
  #restarts = 0;
  #waits = 0;
  #turn = 0;
  #database = '';
  #engine: Engine;

  constructor(first: TestServer, replicas: readonly TestServer[]) {
    this.#first = first;
    this.#replicas = replicas;
    this.#engine = clickHouseEngine(first.url, this.#database, CLUSTER);
  }

  report(): ReplicaFaultsReport {
    return {
      faults: { ...this.#faults },
      restarts: this.#restarts,
      waits: this.#waits,
      differences: [...this.#differences],
    };
  }

  async run(round: number): Promise<void> {
    this.#database = `bloomery_replicas_${process.pid}_${round}`;
    this.#engine = clickHouseEngine(this.#first.url, this.#database, CLUSTER);
    // The first call of `#fill` creates the tables. The creation needs all servers, so the test causes no fault during
    // this call.
    await this.#fill(RANGE_BLOCKS);
    for (let height = STEP_BLOCKS; height < HEIGHT; height += STEP_BLOCKS) {
      const fault = FAULTS[this.#turn % FAULTS.length] ?? 'down';
      await this.#fillDuring(fault, height, this.#turn % 2);
      this.#turn += 1;
      this.#faults[fault] += 1;
      await this.#compare(`round ${round}, ${fault}, height ${height}`, height);
    }
    await this.#engine.remove();
  }

  /**
   * Runs the sink up to a height while a replica has a fault.
   *
   * @param index index of the replica with the fault
   */
  async #fillDuring(fault: Fault, height: number, index: number): Promise<void> {
    const [ill, healthy] = [this.#replicas[index], this.#replicas[1 - index]];
    if (ill === undefined || healthy === undefined) throw new Error('the shard has two replicas');
    switch (fault) {
      case 'down':
        await ill.kill();
        await this.#fill(height);
        return ill.start();
      case 'lags': {
        // While `ill` is down, the sink writes the first half of the blocks, so only `healthy` gets the rows of these
        // blocks. While `healthy` is down, the sink tries to write the second half to `ill`, which lacks the rows of
        // the first half.
        await ill.kill();
        await this.#fill(height - STEP_BLOCKS / 2);
        await healthy.kill();
        await ill.start();
        let isFilled = false;
        const filled = this.#fill(height).finally(() => (isFilled = true));
        await sleep(LAG_MS);
        if (!isFilled) this.#waits += 1;
        await healthy.start();
        return filled;
      }
      case 'killed': {
        const filled = this.#fill(height);
        await sleep(20 + ((this.#turn * 37) % 400));
        await ill.kill();
        await ill.start();
        return filled;
      }
    }
  }

  /**
   * Runs the sink until it has all blocks up to `finalHeight`. If a run ends with an error, the method starts another
   * run. It starts at most `RUNS_MAX` runs in total.
   */
  async #fill(finalHeight: number): Promise<void> {
    const { maker, blocks } = this.#chain;
    for (let run = 1; ; run += 1) {
      const source = listSource(maker.rules, { blocks: blocks.slice(0, finalHeight), finalHeight });
      const sink = this.#engine.open();
      try {
        const { signal } = new AbortController();
        await runSink({ source, sink, rangeBlocks: RANGE_BLOCKS, signal, follows: false });
        return;
      } catch (error) {
        if (run === RUNS_MAX) throw error;
        this.#restarts += 1;
        await sleep(RETRY_MS);
      } finally {
        await sink.end();
        await expireLease(this.#first.url, this.#database);
      }
    }
  }

  /** Compares the rows of each replica with the rows of the chain, while the other replica is down. */
  async #compare(name: string, height: number): Promise<void> {
    await this.#waitForReplication();
    const { maker, blocks } = this.#chain;
    for (const [index, stopped] of this.#replicas.entries()) {
      await stopped.stop();
      for (const difference of await sameTables(this.#engine, maker.rules, blocks.slice(0, height)))
        this.#differences.push(`${name}, without replica ${index + 1}: ${difference}`);
      await stopped.start();
    }
  }

  async #waitForReplication(): Promise<void> {
    const endMs = performance.now() + CATCH_UP_MS;
    const stored =
      `SELECT table, sum(rows) FROM system.parts WHERE active AND database = '${this.#database}' ` +
      'GROUP BY table ORDER BY table';
    for (;;) {
      const answers = await Promise.all(this.#replicas.map(({ url }) => textOf(url, stored)));
      if (new Set(answers).size === 1) return;
      if (performance.now() > endMs) throw new Error(`the replicas did not catch up: ${answers.join(', ')}`);
      await sleep(POLL_MS);
    }
  }
}

async function textOf(url: string, sql: string): Promise<string> {
  try {
    const response = await fetch(url, { method: 'POST', body: sql });
    return await response.text();
  } catch (error) {
    return messageOf(error);
  }
}
