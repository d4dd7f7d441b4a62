/**
 * Measures the time until a devnet forges, both on a new chain and on a fork of an existing chain. Also measures the
 * time that the test kit (`bloomery/testing`) needs to start a devnet.
 */

import { packageDirectory } from '../../src/config/package.ts';
import { measureDevnetStart, type StartFigures } from './devnet-start.ts';
import { makeForkSource } from './fork-source.ts';
import { measureKitStart, type KitFigures } from './kit-start.ts';
import { figure, middle, printTable } from './chains.ts';

const START_RUNS = 20;
const FORK_RUNS = 3;
const FORKED_ACCOUNTS = 1_000_000;

/** @param other folder of another build for comparison. The runs of the two builds alternate. */
export async function benchStart(runs = START_RUNS, other?: string): Promise<void> {
  const roots = [packageDirectory(), ...(other === undefined ? [] : [other])];
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

export async function benchFork(runs = FORK_RUNS, accounts = FORKED_ACCOUNTS): Promise<void> {
  const source = await makeForkSource(accounts);
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
