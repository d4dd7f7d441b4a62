/**
 * `npm run bench -- --scale`: measures which costs grow with the length of the chain. Imports one chain of full blocks
 * in parts. After each part, starts a node with one reading process. Measures how long the node takes to answer HTTP
 * requests, and how much memory the two processes use.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { NETWORK_NAME, writeNetworkFolder } from '../support/chain-folder.ts';
import { addressOfPair, keyPairOf } from '../support/chain-maker.ts';
import { runImport, type ImportRun } from './import-run.ts';
import { load } from './load.ts';
import { ACCOUNTS, shareOf, writeLongChain, type Activity } from './long-chain.ts';
import { pagesByDepth, type List, type PageTimes } from './pages.ts';
import { memoryOfProcess, startServedNode, type Memory, type ServedNode } from './served-node.ts';
import { figure, printTable, TRANSFERS_PER_BLOCK } from './chains.ts';

export interface ScaleOptions {
  /** Chain sizes in millions of transactions at which the measurements run, ascending. */
  readonly millions: readonly number[];
  readonly accounts: number;
  readonly activity: Activity;
  /**
   * Folder of the chain files. The benchmark uses existing files again. Without this option, the folder is temporary.
   */
  readonly chain?: string;
}

/** The content of `chain.json`. The program writes `chain.json` beside the chain files when the files are complete. */
type MadeChain = Pick<ScaleOptions, 'millions' | 'accounts' | 'activity'>;

interface Served {
  readonly firstAnswerMs: number;
  readonly opened: { readonly node: Memory; readonly reader: Memory };
  readonly used: { readonly node: Memory; readonly reader: Memory };
  readonly pages: readonly PageTimes[];
}

interface Measured extends Served {
  readonly million: number;
  readonly run: ImportRun;
  readonly bytesPerTransaction: number;
}

const RANDOM_REQUESTS = 10_000;
const PAGE_MS = 400;

export async function benchScale({ chain, ...wanted }: ScaleOptions): Promise<void> {
  const made = chain ?? mkdtempSync(join(tmpdir(), 'bloomery-bench-chain-'));
  const dataDir = mkdtempSync(join(tmpdir(), 'bloomery-bench-scale-'));
  try {
    await makeChain(made, wanted);
    const network = join(made, 'network');
    const measured: Measured[] = [];
    for (const million of wanted.millions) {
      const run = await runImport({ network, dataDir, file: partFile(made, million) });
      const file = statSync(join(dataDir, NETWORK_NAME, 'chain', 'data.mdb'));
      // The file perhaps has holes (parts that use no space on the disk). The length of the file is then greater than
      // its size on the disk.
      const bytesPerTransaction = (file.blocks * 512) / (million * 1_000_000);
      const served = await serve(network, dataDir, listsOf(million, wanted), wanted.accounts);
      measured.push({ million, run, bytesPerTransaction, ...served });
      print(measured, wanted);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
    if (chain === undefined) rmSync(made, { recursive: true, force: true });
  }
}

function partFile(directory: string, million: number): string {
  return join(directory, `${million}.ndjson`);
}

async function makeChain(directory: string, { millions, accounts, activity }: MadeChain): Promise<void> {
  const description = join(directory, 'chain.json');
  if (existsSync(description)) {
    const found = JSON.parse(readFileSync(description, 'utf8')) as MadeChain;
    const isSame = found.accounts === accounts && found.activity === activity;
    const isWanted = isSame && millions.every((million, at) => found.millions[at] === million);
    if (!isWanted) throw new Error(`${description} is of another chain: ${JSON.stringify(found)}`);
    return;
  }
  mkdirSync(directory, { recursive: true });
  const startedMs = performance.now();
  const { network, transactions } = await writeLongChain({
    parts: millions.map((million) => ({
      file: partFile(directory, million),
      height: Math.round((million * 1_000_000) / TRANSFERS_PER_BLOCK) + 1,
    })),
    fullEvery: 1,
    addresses: accounts,
    activity,
  });
  writeNetworkFolder(join(directory, 'network'), network);
  writeFileSync(description, JSON.stringify({ accounts, activity, millions }));
  console.log(`${figure(transactions)} transactions made in ${figure((performance.now() - startedMs) / 1000)} s`);
}

function listsOf(million: number, { accounts, activity }: MadeChain): readonly List[] {
  const transactions = million * 1_000_000;
  const busiest = addressOfPair(keyPairOf(`address ${accounts - ACCOUNTS - 1}`));
  const blocks = Math.round(transactions / TRANSFERS_PER_BLOCK);
  return [
    ...['amount', 'fee', 'timestamp', 'type'].map((sort) => ({
      path: `/api/transactions?sort=${sort}`,
      total: transactions,
    })),
    ...['amount', 'fee', 'timestamp'].map((sort) => ({
      path: `/api/transactions?type=8&sort=${sort}`,
      total: transactions,
    })),
    ...['height', 'timestamp', 'totalAmount', 'totalFee'].map((sort) => ({
      path: `/api/blocks?sort=${sort}`,
      total: blocks,
    })),
    { path: '/api/accounts?sort=balance', total: accounts },
    ...(activity === 'equal' ? [] : ['senderId', 'recipientId', 'senderIdOrRecipientId']).map((filter) => ({
      path: `/api/transactions?${filter}=${busiest}&sort=amount`,
      // `busiest` is the address that is expected to send and receive the most transactions. The number of its
      // transactions is random, and `total` must not exceed this number. So `total` is 90 % of the expected number. The
      // real number is seldom below this value.
      total: Math.floor(transactions * shareOf(accounts - 1, accounts) * 0.9),
    })),
  ];
}

/**
 * Starts a node with the chain and one reading process, measures the times of answers and the memory of both processes,
 * and stops the node.
 */
async function serve(network: string, dataDir: string, lists: readonly List[], accounts: number): Promise<Served> {
  const node = await startServedNode({ network, dataDir, processes: 1 });
  const { port } = node;
  try {
    const opened = memoryOf(node);
    const addresses = Array.from({ length: 1_000 }, (_, index) => {
      return addressOfPair(keyPairOf(`address ${(index * 7919) % Math.max(1, accounts - ACCOUNTS)}`));
    });
    const targetOf = (request: number): string | undefined =>
      request > RANDOM_REQUESTS ? undefined : randomTarget(request, lists, addresses);
    await load(port, targetOf, 1, Number.POSITIVE_INFINITY);
    const used = memoryOf(node);
    const pages = await pagesByDepth(port, lists, PAGE_MS);
    return { firstAnswerMs: node.firstAnswerMs, opened, used, pages };
  } finally {
    await node.stop();
  }
}

function memoryOf(node: ServedNode): { readonly node: Memory; readonly reader: Memory } {
  return { node: memoryOfProcess(node.pid), reader: memoryOfProcess(node.readers()[0]) };
}

/**
 * Every second request is for a page at any depth of a list. The other requests are for an account or its transactions.
 */
function randomTarget(request: number, lists: readonly List[], addresses: readonly string[]): string {
  // The multiplication mixes the high bits well, but not the low bits, on which the remainders below depend. To
  // compute `drawn`, the code therefore mixes the high bits into the low bits.
  const mixed = Math.imul(request, 0x9e3779b1) >>> 0;
  const drawn = (mixed ^ (mixed >>> 15)) >>> 0;
  const address = addresses[drawn % addresses.length] as string;
  if (request % 4 === 1) return `/api/accounts?address=${address}`;
  if (request % 4 === 3) return `/api/transactions?senderId=${address}&sort=timestamp:desc`;
  const { path, total } = lists[drawn % lists.length] as List;
  return `${path}:desc&offset=${drawn % (total - 10)}`;
}

function print(measured: readonly Measured[], { accounts, activity }: MadeChain): void {
  const [first] = measured;
  const row = (name: string, valueOf: (each: Measured) => number, digits = 0): string[] => {
    const base = first === undefined ? 1 : valueOf(first);
    return [name, ...measured.flatMap((each) => [figure(valueOf(each), digits), figure(valueOf(each) / base, 2)])];
  };
  printTable(`A chain of full blocks among ${figure(accounts)} accounts of ${activity} activity`, [
    ['', ...measured.flatMap(({ million }) => [`${million} million`, 'ratio'])],
    row('import of this part, transactions/s', ({ run }) => run.transactions / run.seconds),
    row('processor time per block, ms', ({ run }) => (run.cpuSeconds * 1000) / run.blocks, 2),
    row('of it in the main thread, ms', ({ run }) => (run.mainThreadSeconds * 1000) / run.blocks, 2),
    row('own memory of the import, largest, MB', ({ run }) => Math.max(...run.quartersMegabytes)),
    row('bytes per transaction with all indexes', (each) => each.bytesPerTransaction),
    row('start to the first answer, ms', (each) => each.firstAnswerMs),
    row('node, own memory after opening, MB', (each) => each.opened.node.own),
    row('node, own memory after 10,000 random requests, MB', (each) => each.used.node.own),
    row('reader, own memory after opening, MB', (each) => each.opened.reader.own),
    row('reader, own memory after 10,000 random requests, MB', (each) => each.used.reader.own),
    row('node, resident with mapped files, MB', (each) => each.used.node.resident),
    row('reader, resident with mapped files, MB', (each) => each.used.reader.resident),
  ]);
  const last = measured.at(-1);
  printTable(`Pages of ten at ${last?.million ?? 0} million, p50 / p99 in ms`, [
    ['list', 'first', 'middle', 'last', 'slowest p50 of that at the first size'],
    ...(last?.pages ?? []).map(({ list, depths }, at) => {
      const early = first?.pages[at]?.depths ?? depths;
      const ratios = depths.map(({ p50Ms }, depth) => p50Ms / (early[depth]?.p50Ms ?? p50Ms));
      const times = depths.map(({ p50Ms, p99Ms }) => `${figure(p50Ms, 2)} / ${figure(p99Ms, 1)}`);
      return [list, ...times, figure(Math.max(...ratios), 2)];
    }),
  ]);
}
