/**
 * `npm run bench`: figures of this machine, as ratios measured in this run. What a figure is compared with is always
 * measured right beside it, because machines are noisy.
 *
 * `--long` imports 10,000 and 100,000 blocks (some minutes), `--import` measures nothing else, `--http` the HTTP interface,
 * `--readers` a node that forges beside readers of its events, `--slots` how soon blocks come in their slots. `--start`
 * measures how soon a devnet forges and a node of the test kit is ready, 20 times (`--runs N`); with a folder after it
 * (`--start DIR`) the devnet of the build there as well, in turns, and the ratio. `--fork [N]` measures how soon a devnet forges that
 * begins from a chain of a million accounts, or of N. `--cycles [N] [--height H]` puts four nodes back to a snapshot a thousand times, or
 * N times.
 */

import { performance } from 'node:perf_hooks';
import { packageDirectory } from '../../src/config/package.ts';
import { createNoble, loadSodium, selectEd25519, type Ed25519 } from '../../src/crypto/ed25519.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { utf8 } from '../../src/primitives/bytes.ts';
import { createInlineVerifier, createVerifierPool } from '../../src/workers/verifier-pool.ts';
import { applyChain, figure, makeChain, printTable, TRANSFERS_PER_BLOCK } from './stage.ts';
import { measureDevnet } from './devnet.ts';
import { measureDevnetStart, type StartFigures } from './devnet-start.ts';
import { makeForkSource } from './fork-source.ts';
import { measureEventReaders } from './event-readers.ts';
import { benchHttp } from './http.ts';
import { benchImport } from './import.ts';
import { measureKitStart, type KitFigures } from './kit-start.ts';
import { runCycles } from './snapshot-cycles.ts';
import { measureSlots } from './slots.ts';

const FULL_BLOCKS = 600;
const EMPTY_BLOCKS = 3000;
const EVENT_READERS = 1000;
const READER_BLOCKS = 20;
const SLOTS = 1000;
const START_RUNS = 20;
const FORK_RUNS = 3;
const CYCLES = 1000;
const CYCLE_HEIGHT = 500;
const FORKED_ACCOUNTS = 1_000_000;
/** Room for every answer of a run, so that none is computed twice and none is remembered from another run. */
const ANSWERS_MAX = 100_000;

if (process.argv.includes('--http')) {
  await benchHttp(process.argv.slice(2));
  process.exit();
}

const isLong = process.argv.includes('--long');
const benchImports = (): Promise<void> =>
  benchImport(
    isLong
      ? { shortHeight: 10_000, longHeight: 100_000, fullHeight: 20_000 }
      : { shortHeight: 2000, longHeight: 8000, fullHeight: 20_000 },
  );
if (process.argv.includes('--import')) {
  await benchImports();
  process.exit();
}

if (process.argv.includes('--readers')) {
  await benchReaders();
  process.exit();
}

if (process.argv.includes('--slots')) {
  await benchSlots();
  process.exit();
}

if (process.argv.includes('--cycles')) {
  await benchCycles();
  process.exit();
}

if (process.argv.includes('--fork')) {
  await benchFork();
  process.exit();
}

if (process.argv.includes('--start')) {
  await benchStart();
  process.exit();
}

const backends = [loadSodium(), createNoble()].filter((backend): backend is Ed25519 => backend !== undefined);
const rates = new Map(backends.map((backend) => [backend.backend, checksPerSecond(backend)]));
const fastest = selectEd25519().backend;
const limit = rates.get(fastest) ?? 0;
printTable('Signature checks on one thread', [
  ['back end', 'checks/s', 'ratio'],
  ...[...rates].map(([name, rate]) => [name, figure(rate), figure(rate / limit, 2)]),
]);

const full = makeChain(FULL_BLOCKS, TRANSFERS_PER_BLOCK);
const empty = makeChain(EMPTY_BLOCKS, 0);
const oneThread = await applyChain(full, createInlineVerifier(selectEd25519(), ANSWERS_MAX));
const pool = createVerifierPool({ threads: 2, cacheEntriesMax: ANSWERS_MAX });
const threads = await applyChain(full, pool);
await pool.close();
const emptyRun = await applyChain(empty, createInlineVerifier(selectEd25519(), ANSWERS_MAX));

const signaturesPerFullBlock = TRANSFERS_PER_BLOCK + 1;
const limitBlocks = limit / signaturesPerFullBlock;
const row = (name: string, blocks: number, seconds: number, transfers: number) => [
  name,
  figure(blocks / seconds),
  figure((blocks * transfers) / seconds),
  figure(blocks / seconds / (transfers === 0 ? limit : limitBlocks), 2),
];
printTable('Blocks verified and applied, durable', [
  ['chain', 'blocks/s', 'transactions/s', 'of one core’s signature limit'],
  row(`${FULL_BLOCKS} full blocks, one thread`, FULL_BLOCKS, oneThread.seconds, TRANSFERS_PER_BLOCK),
  row(`${FULL_BLOCKS} full blocks, two verify threads`, FULL_BLOCKS, threads.seconds, TRANSFERS_PER_BLOCK),
  row(`${EMPTY_BLOCKS} empty blocks, one thread`, EMPTY_BLOCKS, emptyRun.seconds, 0),
]);

const perEmptyBlock = emptyRun.storeBytes / EMPTY_BLOCKS;
const perTransaction = (oneThread.storeBytes / FULL_BLOCKS - perEmptyBlock) / TRANSFERS_PER_BLOCK;
printTable('Bytes on disk, indexes and undo records included', [
  ['per empty block', figure(perEmptyBlock)],
  ['per transfer', figure(perTransaction)],
]);

await benchImports();

if (!process.argv.includes('--no-devnet')) {
  const devnet = await measureDevnet();
  printTable('Devnet of four processes', [
    ['all HTTP ports answer after', `${figure(devnet.readySeconds, 1)} s`],
    ['resident memory of a node, largest of four', `${figure(devnet.residentMegabytes)} MB`],
  ]);
  await benchReaders();
}

async function benchReaders(): Promise<void> {
  const { blocks, missedSlots, lastToldMs, untold } = await measureEventReaders(EVENT_READERS, READER_BLOCKS);
  printTable(`Forging beside ${figure(EVENT_READERS)} readers of events`, [
    ['slots with a block', String(blocks)],
    ['slots missed', String(missedSlots)],
    ['last reader told after the slot began, median', `${figure(lastToldMs.median)} ms`],
    ['worst', `${figure(lastToldMs.worst)} ms`],
    ['blocks that a reader was not told of', String(untold)],
  ]);
}

async function benchSlots(): Promise<void> {
  const { slots, p50Ms, p99Ms, worstMs, missed } = await measureSlots(SLOTS);
  printTable(`From the moment to forge to the block on the disk, ${figure(slots)} slots`, [
    ['median', `${figure(p50Ms)} ms`],
    ['99 of 100 within', `${figure(p99Ms)} ms`],
    ['worst', `${figure(worstMs)} ms`],
    ['own slots that passed unused', String(missed)],
  ]);
}

async function benchStart(): Promise<void> {
  const other = process.argv[process.argv.indexOf('--start') + 1];
  const runs = process.argv.includes('--runs') ? Number(process.argv[process.argv.indexOf('--runs') + 1]) : START_RUNS;
  const roots = [packageDirectory(), ...(other === undefined || other.startsWith('--') ? [] : [other])];
  await benchKit(runs);
  const figures = new Map(roots.map((root) => [root, [] as StartFigures[]]));
  for (let run = 0; run < runs; run += 1)
    for (const root of roots) figures.get(root)?.push(await measureDevnetStart(root));
  const rows = roots.map((root) => {
    const all = figures.get(root) ?? [];
    const seconds = all.map((each) => each.seconds).sort((a, b) => a - b);
    const processor = all.map((each) => each.processorSeconds).sort((a, b) => a - b);
    return { root, median: middle(seconds), worst: seconds.at(-1) ?? 0, processor: middle(processor) };
  });
  const [own] = rows;
  printTable(`From bloomery devnet to a forged block on four nodes, ${runs} runs`, [
    ['build', 'median', 'longest', 'processor time, median', 'time for one of ours'],
    ...rows.map(({ root, median, worst, processor }) => [
      root === packageDirectory() ? 'this one' : root,
      `${figure(median, 2)} s`,
      `${figure(worst, 2)} s`,
      `${figure(processor, 2)} s`,
      figure(median / (own?.median ?? 1), 2),
    ]),
  ]);
}

async function benchCycles(): Promise<void> {
  const cycles = numberAfter('--cycles', CYCLES);
  const height = numberAfter('--height', CYCLE_HEIGHT);
  const { early, late, ...figures } = await runCycles({ root: packageDirectory(), cycles, height });
  const row = (name: string, all: readonly number[]) => [
    name,
    `${figure(middle(all))} ms`,
    `${figure(all.at(-1) ?? 0)} ms`,
  ];
  printTable(`Snapshots of four nodes at height ${figures.height}: ${cycles} cycles, digests equal each time`, [
    ['', 'median', 'longest'],
    row('snapshot', figures.snapshotMs),
    row('revert', figures.revertMs),
  ]);
  console.log(
    `the greatest node: ${early.residentMb} MB and ${early.descriptors} descriptors after a tenth of the cycles, ` +
      `${late.residentMb} MB and ${late.descriptors} at the end; no process is left`,
  );
}

/** What a flag is given; what it is otherwise, where it stands alone or not at all. */
function numberAfter(flag: string, otherwise: number): number {
  const given = Number(process.argv[process.argv.indexOf(flag) + 1]);
  return process.argv.includes(flag) && Number.isInteger(given) ? given : otherwise;
}

async function benchFork(): Promise<void> {
  const source = await makeForkSource(numberAfter('--fork', FORKED_ACCOUNTS));
  const runs = numberAfter('--runs', FORK_RUNS);
  try {
    const rows: string[][] = [];
    for (const nodes of [1, 2, 4]) {
      const all: StartFigures[] = [];
      const args = ['--fork', source.dataDirectory, '--network', source.network];
      for (let run = 0; run < runs; run += 1)
        all.push(await measureDevnetStart(packageDirectory(), { nodes, args, height: source.height + 1 }));
      const seconds = all.map((each) => each.seconds).sort((a, b) => a - b);
      const processor = middle(all.map((each) => each.processorSeconds).sort((a, b) => a - b));
      rows.push([
        `${nodes}`,
        `${figure(middle(seconds), 2)} s`,
        `${figure(seconds.at(-1) ?? 0, 2)} s`,
        `${figure(processor, 2)} s`,
      ]);
    }
    const megabytes = Math.round(source.bytes / 1e6);
    printTable(
      `From bloomery devnet --fork to a new block, ${source.accounts} accounts, ${megabytes} MB, ${runs} runs`,
      [['nodes', 'median', 'longest', 'processor time, median'], ...rows],
    );
  } finally {
    source.dispose();
  }
}

async function benchKit(runs: number): Promise<void> {
  const figures: KitFigures[] = [];
  for (let run = 0; run < runs; run += 1) figures.push(await measureKitStart(packageDirectory()));
  const row = (name: string, all: readonly StartFigures[]): readonly string[] => {
    const seconds = all.map((each) => each.seconds * 1000).sort((a, b) => a - b);
    const processor = all.map((each) => each.processorSeconds * 1000).sort((a, b) => a - b);
    return [
      name,
      `${figure(middle(seconds))} ms`,
      `${figure(seconds.at(-1) ?? 0)} ms`,
      `${figure(middle(processor))} ms`,
    ];
  };
  printTable(`Until a node of the test kit is ready, ${runs} processes`, [
    ['devnet', 'median', 'longest', 'processor time, median'],
    [
      ...row(
        'first of a process',
        figures.map(({ first }) => first),
      ),
    ],
    [
      ...row(
        'next one',
        figures.map(({ next }) => next),
      ),
    ],
  ]);
}

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Different keys and messages, as a chain has them. */
function checksPerSecond(ed25519: Ed25519): number {
  const checks = Array.from({ length: 200 }, (_, index) => {
    const keyPair = ed25519.keyPairOfSeed(sha256(utf8(`bench ${index}`)));
    const message = sha256(utf8(`message ${index}`));
    return { publicKey: keyPair.publicKey, message, signature: ed25519.sign(message, keyPair.privateKey) };
  });
  let done = 0;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 1500) {
    for (const check of checks) if (!ed25519.verify(check)) throw new Error('a good signature was refused');
    done += checks.length;
  }
  return (done * 1000) / (performance.now() - startedMs);
}
