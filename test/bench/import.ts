/**
 * Measures how fast a node imports a chain from a file and from a peer. Compares the import from a file with the speed
 * of signature checks and of the disk. Also measures how long a node takes to start, and how much memory an idle node
 * uses.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdtempSync, openSync, closeSync, fdatasyncSync, rmSync, writeSync } from 'node:fs';
import { once } from 'node:events';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { BLOCKS_PER_COMMIT } from '../../src/node/import-chain.ts';
import { utf8 } from '../../src/primitives/bytes.ts';
import type { SignatureCheck } from '../../src/protocol/types.ts';
import { createVerifierPool } from '../../src/workers/verifier-pool.ts';
import { writeNetworkFolder } from '../support/chain-folder.ts';
import { freePortRanges } from '../support/ports.ts';
import { writeLongChain } from './long-chain.ts';
import { memoryOfProcess, startServedNode } from './served-node.ts';
import { EXECUTABLE, runImport, type ImportRun } from './import-run.ts';
import { figure, printTable, TRANSFERS_PER_BLOCK } from './chains.ts';

/** Every `FULL_EVERY`-th block of the chain `mixed` is full of transfers. Its other blocks are empty. */
const FULL_EVERY = 5;
/**
 * Height of the chain `golden`, and its share of full blocks (one in `fullEvery`). Both are as in the chains that
 * lisk-sdk nodes forged for `npm run golden`.
 */
const GOLDEN_KIND = { height: 3000, fullEvery: 3 };
/** Idle time of a started node before its memory is measured. */
const IDLE_MS = 10_000;
const SYNC_MS_MAX = 600_000;

/**
 * Number of addresses of the chain `many`. At height 20,000 of this chain, each address has sent about 25 transactions
 * and received about 25.
 */
const MANY_ADDRESSES = 20_000;

export interface ImportBenchOptions {
  readonly shortHeight: number;
  readonly longHeight: number;
  /**
   * Height of the two chains of full blocks. The chain `many` has 20,000 addresses. The chain `busy` has 500 addresses.
   * Each address has a posting list of its sent transactions and a posting list of its received transactions. In
   * `busy`, the two lists of an address together exceed `SHORT_LIST_ITEMS_MAX` near height 2,600.
   */
  readonly fullHeight: number;
}

export async function benchImport(options: ImportBenchOptions): Promise<void> {
  const { shortHeight, longHeight, fullHeight } = options;
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-import-'));
  try {
    const long = join(folder, 'long.ndjson');
    const short = createWriteStream(join(folder, 'short.ndjson'));
    const startedMs = performance.now();
    const mixed = await writeLongChain({
      parts: [{ file: long, height: longHeight }],
      fullEvery: FULL_EVERY,
      onBlock: (height, line) => {
        if (height <= shortHeight) short.write(`${line}\n`);
      },
    });
    short.end();
    await once(short, 'finish');
    const full = (name: string) => ({
      parts: [{ file: join(folder, `${name}.ndjson`), height: fullHeight }],
      fullEvery: 1,
    });
    const golden = await writeLongChain({
      parts: [{ file: join(folder, 'golden.ndjson'), height: GOLDEN_KIND.height }],
      fullEvery: GOLDEN_KIND.fullEvery,
    });
    const many = await writeLongChain({ ...full('many'), addresses: MANY_ADDRESSES });
    const busy = await writeLongChain(full('busy'));
    const blocks = [mixed, many, busy].map((chain) => chain.blocks).join(', ');
    console.log(`\nchains of ${blocks} blocks made in ${figure((performance.now() - startedMs) / 1000)} s`);
    const networks = new Map(
      Object.entries({ short: mixed, long: mixed, golden, many, busy }).map(([name, { network }]) => {
        return [name, writeNetworkFolder(join(folder, `network-${name}`), network)];
      }),
    );
    const placeOf = (name: string) => ({ network: networks.get(name) ?? '', dataDir: join(folder, `data-${name}`) });
    const importOf = (name: string): Promise<ImportRun> =>
      runImport({ ...placeOf(name), file: join(folder, `${name}.ndjson`) });
    const shortRun = await importOf('short');
    const longRun = await importOf('long');
    // The speed of a machine varies over time. The benchmark compares the imports of `many` and `busy` with the rate of
    // signature checks, so it measures this rate before and after each of these imports.
    const checks = makeChecks();
    const limits = [await signaturesPerSecond(checks)];
    const manyRun = await importOf('many');
    limits.push(await signaturesPerSecond(checks));
    const busyRun = await importOf('busy');
    limits.push(await signaturesPerSecond(checks));
    const row = (name: string, run: ImportRun): string[] => [
      name,
      figure(run.blocks / run.seconds),
      figure(run.transactions / run.seconds),
      figure(run.blocks / run.seconds / (shortRun.blocks / shortRun.seconds), 2),
      figure(run.blocks / run.cpuSeconds),
      figure(run.blocks / run.cpuSeconds / (shortRun.blocks / shortRun.cpuSeconds), 2),
      run.quartersMegabytes.map((megabytes) => figure(megabytes)).join(' '),
      run.mappedMegabytes.map((megabytes) => figure(megabytes)).join(' '),
    ];
    printTable(`Import: one block in ${FULL_EVERY} is full, the others are empty`, [
      [
        'chain',
        'blocks/s',
        'transactions/s',
        'of the first rate',
        'blocks per processor second',
        'of the first',
        'MB by quarters of the time',
        'with mapped files',
      ],
      row(`${shortRun.blocks} blocks`, shortRun),
      row(`${longRun.blocks} blocks`, longRun),
      row(`${manyRun.blocks} full blocks, ${figure(MANY_ADDRESSES)} addresses`, manyRun),
      row(`${busyRun.blocks} full blocks, 500 addresses`, busyRun),
    ]);

    const blocksPerSecond = limits.map(({ perSecond }) => perSecond / (TRANSFERS_PER_BLOCK + 1));
    const signatureMs = limits.map(({ cpuMs }) => cpuMs * (TRANSFERS_PER_BLOCK + 1));
    const diskLimit = commitsPerSecond(folder) * BLOCKS_PER_COMMIT;
    const fullRow = (name: string, run: ImportRun, index: number): string[] => {
      const rate = run.blocks / run.seconds;
      const signatureLimit = mean(blocksPerSecond.slice(index, index + 2));
      const blockMs = (run.cpuSeconds * 1000) / run.blocks;
      return [
        name,
        figure(rate),
        figure(signatureLimit),
        figure(rate / signatureLimit, 2),
        figure(rate / diskLimit, 2),
        figure(blockMs, 2),
        figure(blockMs / mean(signatureMs.slice(index, index + 2)), 2),
        figure((run.mainThreadSeconds * 1000) / run.blocks, 2),
      ];
    };
    printTable(`Import of full blocks, ${availableParallelism()} cores`, [
      [
        '',
        'blocks/s',
        'limit of signatures, all cores, before and after',
        'of it',
        'of the disk',
        'processor ms of a block',
        'times that of its signatures',
        'main thread ms of a block',
      ],
      fullRow(`${manyRun.blocks} full blocks, ${figure(MANY_ADDRESSES)} addresses`, manyRun, 0),
      fullRow(`${busyRun.blocks} full blocks, 500 addresses`, busyRun, 1),
      [`limit of durable commits of ${BLOCKS_PER_COMMIT} blocks`, figure(diskLimit), '', '', figure(1, 2), '', '', ''],
    ]);
    printTable('Signatures of a full block alone, on all cores', [
      ['', ...limits.map((_, index) => `${index + 1}.`)],
      ['blocks/s', ...blocksPerSecond.map((rate) => figure(rate))],
      ['processor ms', ...signatureMs.map((ms) => figure(ms, 2))],
    ]);

    const goldenRun = await importOf('golden');
    const syncRow = async (name: string, place: Place, run: ImportRun): Promise<string[]> => {
      const seconds = await syncFromPeer(place, run.blocks + 1);
      return [
        name,
        figure(run.seconds, 1),
        figure(seconds, 1),
        figure(seconds / run.seconds, 2),
        figure(run.transactions / seconds),
      ];
    };
    printTable('Sync of a fresh node from one peer on this machine, from the start of its process to the tip', [
      ['', 'import, s', 'sync, s', 'times the import', 'transactions/s of the sync'],
      await syncRow(`${goldenRun.blocks} blocks, one in ${GOLDEN_KIND.fullEvery} full`, placeOf('golden'), goldenRun),
      await syncRow(`${manyRun.blocks} full blocks, ${figure(MANY_ADDRESSES)} addresses`, placeOf('many'), manyRun),
    ]);

    const idle = await startServedNode({ ...placeOf('golden'), processes: 0 });
    await sleep(IDLE_MS);
    const { own, resident } = memoryOfProcess(idle.pid);
    await idle.stop();
    printTable('An idle node without reading processes', [
      ['start to the first answer, ms', 'resident MB', 'without mapped files, MB'],
      [figure(idle.firstAnswerMs), figure(resident), figure(own)],
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function makeChecks(): readonly SignatureCheck[] {
  const ed25519 = selectEd25519();
  const keyPair = ed25519.keyPairOfSeed(sha256(utf8('bench')));
  return Array.from({ length: 60_000 }, (_, index) => {
    const message = sha256(utf8(`message ${index}`));
    return { publicKey: keyPair.publicKey, message, signature: ed25519.sign(message, keyPair.privateKey) };
  });
}

/**
 * Checks signatures on all cores. Returns the checks per second and the mean processor time of a check, in
 * milliseconds.
 */
async function signaturesPerSecond(
  checks: readonly SignatureCheck[],
): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
  const pool = createVerifierPool({ threads: availableParallelism(), cacheEntriesMax: 1000 });
  await pool.verifyAll(checks.slice(0, 1000));
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const answers = await pool.verifyAll(checks.slice(1000));
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  await pool.close();
  if (!answers.every((answer) => answer)) throw new Error('a good signature was refused');
  return { perSecond: answers.length / seconds, cpuMs: (user + system) / 1000 / answers.length };
}

/**
 * Bytes that an import of full blocks writes to the disk per commit: about 32 kB for each block. In a measurement, the
 * import of 2,040 blocks wrote 66 MB.
 */
const COMMIT_BYTES = BLOCKS_PER_COMMIT * 32_000;
/**
 * The function `commitsPerSecond` writes commits one after another to a file. After this number of commits, the
 * function overwrites the file from its start.
 */
const COMMIT_PLACES = 10;

/** Measures how many durable commits of `COMMIT_BYTES` the disk makes per second. */
function commitsPerSecond(folder: string): number {
  const file = openSync(join(folder, 'commits'), 'w');
  const bytes = Buffer.alloc(COMMIT_BYTES, 7);
  let commits = 0;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 3000) {
    writeSync(file, bytes, 0, bytes.length, (commits % COMMIT_PLACES) * COMMIT_BYTES);
    fdatasyncSync(file);
    // As in LMDB, the page that makes the commit valid is written last, after all other pages are flushed.
    writeSync(file, bytes, 0, 4096, 0);
    fdatasyncSync(file);
    commits += 1;
  }
  closeSync(file);
  return (commits * 1000) / (performance.now() - startedMs);
}

interface Place {
  /** Network folder. */
  readonly network: string;
  readonly dataDir: string;
}

/**
 * Starts a node with the chain in `dataDir`, and then an empty node that syncs from the first node. Returns the seconds
 * from the start of the empty node until its tip has reached `height`.
 */
async function syncFromPeer({ network, dataDir }: Place, height: number): Promise<number> {
  const ports = await freePortRanges(2);
  const start = (index: number, data: string, extra: readonly string[] = []): ChildProcess => {
    const own = ['--http-port', `${ports.http + index}`, '--ws-port', `${ports.ws + index}`];
    const args = ['start', '--network', network, '--data-dir', data, '--no-forging', ...own, ...extra];
    return spawn(process.execPath, [EXECUTABLE, ...args], { stdio: 'ignore' });
  };
  const nodes: ChildProcess[] = [];
  try {
    nodes.push(start(0, dataDir));
    await reached(ports.http, height);
    const startedMs = performance.now();
    nodes.push(start(1, `${dataDir}-sync`, ['--peer', `127.0.0.1:${ports.ws}`]));
    await reached(ports.http + 1, height);
    return (performance.now() - startedMs) / 1000;
  } finally {
    for (const node of nodes) {
      const ended = node.exitCode === null ? once(node, 'exit') : Promise.resolve();
      node.kill('SIGTERM');
      await ended;
    }
  }
}

/** Waits until the tip of the node is at `height` or above it. */
async function reached(httpPort: number, height: number): Promise<void> {
  const deadlineMs = performance.now() + SYNC_MS_MAX;
  while (performance.now() < deadlineMs) {
    const status = await fetch(`http://127.0.0.1:${httpPort}/api/node/status`).then(
      (response) => response.json() as Promise<{ data: { height: number } }>,
      () => undefined,
    );
    if (status !== undefined && status.data.height >= height) return;
    await sleep(50);
  }
  throw new Error(`the node on port ${httpPort} does not reach height ${height}`);
}
