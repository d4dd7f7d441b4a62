/**
 * `npm run bench -- --http`: measures how many requests the HTTP server of a node answers per second, and whether a
 * page with a large offset takes more time than the first page.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { addressOf } from '../../src/crypto/keys.ts';
import { publicKeyOf } from '../support/chain-maker.ts';
import { benchKey, benchNetwork, fillStore } from './filled-store.ts';
import { load } from './load.ts';
import { pagesByDepth, type List } from './pages.ts';
import { figure, printTable } from './chains.ts';

const CONNECTIONS = [1, 16, 64];

export interface HttpBenchOptions extends Sizes {
  /**
   * Folder of the store that `fillStore` writes. The benchmark does not remove the folder, and the next run uses the
   * store again. Without this option, the store is in a temporary folder, which the benchmark removes when it ends.
   */
  readonly store?: string;
  readonly seconds: number;
}

export async function benchHttp({ store, seconds, ...sizes }: HttpBenchOptions): Promise<void> {
  const directory = store ?? mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
  if (!existsSync(join(directory, 'data.mdb'))) {
    const startedMs = performance.now();
    await fillStore({ directory, ...sizes });
    console.log(
      `filled with ${figure(sizes.transactions)} transactions in ${figure((performance.now() - startedMs) / 1000)} s`,
    );
  }
  const { child, port } = await startServer(directory);
  try {
    await measure(port, sizes, seconds * 1000);
  } finally {
    child.disconnect();
    await new Promise((resolve) => child.once('exit', resolve));
    if (store === undefined) rmSync(directory, { recursive: true, force: true });
  }
}

interface Sizes {
  readonly transactions: number;
  readonly accounts: number;
}

async function measure(port: number, { transactions, accounts }: Sizes, durationMs: number): Promise<void> {
  const address = addressOf(benchKey(31));
  const rows = [['request', ...CONNECTIONS.flatMap((count) => [`${count}: requests/s`, 'p99 ms'])]];
  for (const target of [
    '/api/node/status',
    '/api/blocks?limit=10',
    '/api/transactions?limit=10',
    `/api/accounts?address=${address}`,
    '/api/delegates?limit=101',
    `/api/transactions?senderId=${address}&sort=timestamp:desc`,
  ]) {
    const row = [target.replace(address, 'A')];
    for (const count of CONNECTIONS) {
      await load(port, () => target, count, durationMs / 6);
      const { requestsPerSecond, p99Ms } = await load(port, () => target, count, durationMs);
      row.push(figure(requestsPerSecond), figure(p99Ms, 1));
    }
    rows.push(row);
  }
  // Within a call of `load`, each request is different, so that the server does not answer from its cache.
  for (const [name, targetOf] of [
    ['/api/transactions?limit=10&offset=n', (n: number) => `/api/transactions?limit=10&offset=${n % transactions}`],
    [
      '/api/accounts?address=n',
      (n: number) => `/api/accounts?address=${addressOf(benchKey(n % accounts))}&limit=${1 + (n % 100)}`,
    ],
  ] as const) {
    const row: string[] = [name];
    for (const count of CONNECTIONS) {
      const { requestsPerSecond, p99Ms } = await load(port, targetOf, count, durationMs);
      row.push(figure(requestsPerSecond), figure(p99Ms, 1));
    }
    rows.push(row);
  }
  printTable('Requests', rows);

  const delegate = publicKeyOf(benchNetwork().network.delegates[0]!);
  const blocks = Math.ceil(transactions / 25) + Math.ceil(accounts / 1000);
  const lists: readonly List[] = [
    ...['amount', 'fee', 'timestamp', 'type'].map((sort) => ({
      path: `/api/transactions?sort=${sort}`,
      total: transactions,
    })),
    { path: '/api/transactions?minAmount=450000&sort=amount', total: Math.floor(transactions / 2.1) },
    ...['height', 'timestamp', 'totalAmount', 'totalFee'].map((sort) => ({
      path: `/api/blocks?sort=${sort}`,
      total: blocks,
    })),
    { path: '/api/accounts?sort=balance', total: accounts },
    ...['amount', 'fee', 'timestamp'].map((sort) => ({
      path: `/api/transactions?type=8&sort=${sort}`,
      total: Math.floor(transactions * 0.99),
    })),
    { path: `/api/blocks?generatorPublicKey=${delegate}&sort=totalAmount`, total: Math.floor(blocks / 102) },
    ...['publicKey', 'balance', 'username'].map((sort) => ({
      path: `/api/voters?publicKey=${delegate}&sort=${sort}`,
      total: Math.floor(accounts / 10),
    })),
  ];
  const deep = await pagesByDepth(port, lists, durationMs / 5);
  printTable('Pages of ten by depth', [
    ['list', 'first, p50 ms', 'middle', 'last', 'largest ratio'],
    ...deep.map(({ list, depths }) => {
      const p50s = depths.map(({ p50Ms }) => p50Ms);
      const ratio = Math.max(...p50s) / Math.min(...p50s);
      return [list.replace(delegate, 'D'), ...p50s.map((ms) => figure(ms, 2)), figure(ratio, 1)];
    }),
  ]);
}

function startServer(directory: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(fileURLToPath(new URL('./http-server.js', import.meta.url)), [directory]);
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve({ child, port: (message as { port: number }).port }));
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
