/**
 * `npm run bench -- --processes`: measures whether a request costs the same processor time with several readers as with
 * one. Readers are the reading processes of a node. The load generator needs a core itself, so on a machine with few
 * cores the requests per second say little. The useful result is the number of requests per second of processor time
 * that the readers use.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeNetworkFolder } from '../support/chain-folder.ts';
import { cpuSecondsOf, runImport } from './import-run.ts';
import { load } from './load.ts';
import { writeLongChain } from './long-chain.ts';
import { startServedNode, type ServedNode } from './served-node.ts';
import { figure, printTable, TRANSFERS_PER_BLOCK } from './chains.ts';

const PROCESSES = [1, 2, 3];
const BLOCKS = 4_000;
const CONNECTIONS = 48;
/** Number of runs of each measurement. One run is not enough, because the speed of the machine varies. */
const ROUNDS = 3;

interface Rate {
  readonly requestsPerSecond: number;
  readonly requestsPerProcessorSecond: number;
  readonly p99Ms: number;
}

export async function benchProcesses(seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-processes-'));
  try {
    const file = join(folder, 'chain.ndjson');
    const chain = await writeLongChain({ parts: [{ file, height: BLOCKS + 1 }], fullEvery: 1 });
    const network = writeNetworkFolder(join(folder, 'network'), chain.network);
    const dataDir = join(folder, 'data');
    await runImport({ network, dataDir, file });
    const pages = BLOCKS * TRANSFERS_PER_BLOCK - 10;
    let page = 0;
    const kinds = [
      { name: 'one page again and again', targetOf: () => '/api/transactions?limit=10' },
      {
        name: 'pages never requested before',
        targetOf: () => `/api/transactions?limit=10&sort=amount:desc&offset=${(page += 1) % pages}`,
      },
    ];
    const rates = kinds.map(() => PROCESSES.map((): Rate[] => []));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [at, processes] of PROCESSES.entries()) {
        const node = await startServedNode({ network, dataDir, processes });
        try {
          for (const [kind, { targetOf }] of kinds.entries()) {
            await load(node.port, targetOf, CONNECTIONS, 500);
            rates[kind]?.[at]?.push(await rateOf(node, targetOf, seconds * 1000));
          }
        } finally {
          await node.stop();
        }
      }
    }
    for (const [kind, { name }] of kinds.entries()) {
      const best = (rates[kind] ?? []).map((each) => middle(each));
      printTable(`${name}, ${CONNECTIONS} connections, median of ${ROUNDS} rounds`, [
        ['readers', 'requests per processor second', 'relative to one reader', 'requests/s', 'p99 ms'],
        ...PROCESSES.map((processes, at) => {
          const rate = best[at] as Rate;
          const relative = rate.requestsPerProcessorSecond / (best[0]?.requestsPerProcessorSecond ?? 1);
          return [
            String(processes),
            figure(rate.requestsPerProcessorSecond),
            figure(relative, 2),
            figure(rate.requestsPerSecond),
            figure(rate.p99Ms, 1),
          ];
        }),
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function rateOf(node: ServedNode, targetOf: () => string, durationMs: number): Promise<Rate> {
  const before = processorSeconds(node);
  const { requestsPerSecond, p99Ms } = await load(node.port, targetOf, CONNECTIONS, durationMs);
  const used = processorSeconds(node) - before;
  return { requestsPerSecond, requestsPerProcessorSecond: (requestsPerSecond * durationMs) / 1000 / used, p99Ms };
}

function processorSeconds(node: ServedNode): number {
  return node.readers().reduce((sum, pid) => sum + (cpuSecondsOf({ pid }) ?? 0), 0);
}

/** Returns the entry of `rates` whose `requestsPerProcessorSecond` is the median. */
function middle(rates: readonly Rate[]): Rate {
  const sorted = [...rates].sort((a, b) => a.requestsPerProcessorSecond - b.requestsPerProcessorSecond);
  return sorted[Math.floor(sorted.length / 2)] as Rate;
}
