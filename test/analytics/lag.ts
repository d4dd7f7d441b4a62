/**
 * Measures the lag of a ClickHouse sink: the time from the arrival of a block at a devnet node until the tables of the
 * sink contain the block. During the measurement, a second sink (Parquet) copies the store of the same node again and
 * again, at full speed. With this load, the devnet must not miss a slot: `main.ts` reports missed slots as a fault.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { postTransaction, transfer } from '../chaos/transfers.ts';
import { dropDatabase } from '../sinks/drop-database.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { startTestDevnet, waitFor } from '../support/devnet.ts';

export interface LagReport {
  readonly blocks: number;
  /**
   * Median of the lags of the measured blocks. The lag of a block is the time from its arrival at the node until the
   * tables of the sink contain it.
   */
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Number of slots without a block, from the tip at the start of the measurement to the last measured block. */
  readonly missedSlots: number;
  /**
   * Number of times that the Parquet sink copied the whole chain without an error. This sink copies the store of the
   * node again and again during the measurement, as a load on the node.
   */
  readonly wholeReads: number;
}

const DATABASE = `bloomery_lag_${process.pid}`;
const START_MS_MAX = 150_000;
const LOOK_MS = 20;
const SEND_MS = 200;

/**
 * Runs a devnet, and measures the lag of a ClickHouse sink: the time from the arrival of a block at a node until the
 * tables of the sink contain the block.
 *
 * @param url HTTP address of a ClickHouse server
 */
export async function runLag(url: string, minutes: number, folder: string): Promise<LagReport> {
  const devnet = await startTestDevnet({ nodes: 2 });
  const [node] = devnet.nodes;
  if (node === undefined) throw new Error('there is no node');
  const { network } = devnet;
  const sink = spawnSink(['clickhouse', '--url', url, '--database', DATABASE, '--node', node.url], network.directory);
  const over = new AbortController();
  try {
    const shownHeight = async (): Promise<number> => {
      const answer = await fetch(url, { method: 'POST', body: `SELECT max(height) FROM ${DATABASE}.blocks` });
      return answer.ok ? Number(await answer.text()) : 0;
    };
    const isFollowing = async (): Promise<boolean> => {
      const { height } = await node.client.status();
      // `missedSlots` counts from the slot of the tip at the start of the measurement. The genesis block has no slot,
      // so wait for block 2.
      return height > 1 && (await shownHeight()) >= height;
    };
    await waitFor('the sink', isFollowing, START_MS_MAX);
    const sending = (async () => {
      for (let number = 0; !over.signal.aborted; number += 1) {
        await postTransaction(node.url, network, transfer(network, number, 50)).catch(() => undefined);
        await sleep(SEND_MS);
      }
    })();
    let wholeReads = 0;
    const reading = (async () => {
      while (!over.signal.aborted) {
        const files = join(folder, 'lag-files');
        rmSync(files, { recursive: true, force: true });
        const dataDirectory = node.plan.directory;
        const args = ['parquet', files, '--data-dir', dataDirectory, '--range-blocks', '10', '--once'];
        const [code] = (await once(spawnSink(args, network.directory), 'exit')) as [number | null];
        if (code === 0) wholeReads += 1;
      }
    })();
    const first = (await node.client.status()).height;
    const cameMs = new Map<number, number>();
    const lagsMs: number[] = [];
    let shown = first;
    let top = first;
    const endMs = performance.now() + minutes * 60_000;
    // One loop polls the node, and a second loop polls the ClickHouse server, so a slow server does not delay the polls
    // of the node.
    const looking = async (look: () => Promise<void>): Promise<void> => {
      while (performance.now() < endMs) {
        await look();
        await sleep(LOOK_MS);
      }
    };
    await Promise.all([
      looking(async () => {
        const { height } = await node.client.status();
        for (; top < height; top += 1) cameMs.set(top + 1, performance.now());
      }),
      looking(async () => {
        const height = await shownHeight();
        for (; shown < height; shown += 1) {
          // If the tables show a block that the polls of the node have not found yet, the lag of the block counts as 0.
          lagsMs.push(performance.now() - (cameMs.get(shown + 1) ?? performance.now()));
        }
      }),
    ]);
    over.abort();
    await Promise.all([sending, reading]);
    const [from, to] = await Promise.all([first, shown].map(async (height) => timestampAt(node.url, height)));
    const slots = ((to ?? 0) - (from ?? 0)) / network.params.blockTimeS;
    lagsMs.sort((a, b) => a - b);
    const at = (share: number): number => Math.round(lagsMs[Math.ceil(lagsMs.length * share) - 1] ?? NaN);
    return {
      blocks: lagsMs.length,
      medianMs: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
      missedSlots: slots - (shown - first),
      wholeReads,
    };
  } finally {
    over.abort();
    await ended(sink);
    await devnet.close();
    await dropDatabase(url, DATABASE, undefined);
  }
}

function spawnSink(args: readonly string[], network: string): ChildProcess {
  return spawn(process.execPath, [CLI_ENTRY, 'sink', ...args, '--network', network], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

async function timestampAt(url: string, height: number): Promise<number> {
  const answer = await fetch(`${url}/api/blocks?height=${height}`);
  const { data } = (await answer.json()) as { readonly data: readonly { readonly timestamp: number }[] };
  return data[0]?.timestamp ?? NaN;
}
