/**
 * Benchmarks of running nodes: the start of a devnet, the time from the start of a slot until its block is on the disk,
 * forging with many event subscribers or with busy reading processes, and repeated snapshots of a devnet, each followed
 * by a revert to the snapshot.
 */

import { packageDirectory } from '../../src/config/package.ts';
import { measureDevnet } from './devnet.ts';
import { measureEventSubscribers } from './event-subscribers.ts';
import { measureForgingBesideReaders } from './forging-beside-readers.ts';
import { measureSlots } from './slots.ts';
import { runCycles } from './snapshot-cycles.ts';
import { figure, middle, printTable } from './chains.ts';

const EVENT_SUBSCRIBERS = 1000;
const SUBSCRIBER_BLOCKS = 20;
const FORGING_READERS = 2;
const FORGING_CONNECTIONS = 48;
const SLOTS = 1000;
const CYCLES = 1000;
const CYCLE_HEIGHT = 500;
/**
 * Maximum growth of the memory in `benchCycles`, as a ratio. In each cycle, this benchmark takes a snapshot of four
 * nodes, adds blocks, and reverts the nodes to the snapshot. The benchmark divides the resident memory after the last
 * cycle by the resident memory after a tenth of the cycles. Each of the two values is that of the node with the most
 * memory. A ratio above this limit counts as a leak. Without a leak, the memory can grow by a third, because Node.js
 * sometimes collects garbage late.
 */
const LEAK_RATIO = 1.5;
/**
 * Allowed growth of the number of open file descriptors, from the end of the first tenth of the cycles to the end of
 * the last cycle. `benchCycles` does not count this growth as a leak, because some connections are perhaps open only at
 * the end.
 */
const SPARE_DESCRIPTORS = 10;

export async function benchDevnet(): Promise<void> {
  const devnet = await measureDevnet();
  printTable('Devnet of four processes', [
    ['all HTTP ports answer after', `${figure(devnet.readySeconds, 1)} s`],
    ['resident memory of a node, largest of four', `${figure(devnet.residentMegabytes)} MB`],
  ]);
}

export async function benchSubscribers(): Promise<void> {
  const { blocks, missedSlots, lastReceivedMs, missing } = await measureEventSubscribers(
    EVENT_SUBSCRIBERS,
    SUBSCRIBER_BLOCKS,
  );
  printTable(`Forging beside ${figure(EVENT_SUBSCRIBERS)} event subscribers`, [
    ['slots with a block', String(blocks)],
    ['slots missed', String(missedSlots)],
    ['last subscriber has the block after the start of the slot, median', `${figure(lastReceivedMs.median)} ms`],
    ['worst', `${figure(lastReceivedMs.worst)} ms`],
    ['blocks that a subscriber did not receive', String(missing)],
  ]);
}

export async function benchForging(minutes: number): Promise<void> {
  const { slots, missed, requestsPerSecond, p99Ms } = await measureForgingBesideReaders({
    processes: FORGING_READERS,
    connections: FORGING_CONNECTIONS,
    durationMs: minutes * 60_000,
  });
  printTable(`Forging every slot beside ${FORGING_READERS} reading processes at full load, ${minutes} minutes`, [
    ['slots', figure(slots)],
    ['slots missed', missed.length === 0 ? '0' : `${missed.length}: ${missed.join(', ')}`],
    ['requests/s', figure(requestsPerSecond)],
    ['99 of 100 requests within', `${figure(p99Ms, 1)} ms`],
  ]);
  if (missed.length > 0) process.exitCode = 1;
}

export async function benchSlots(): Promise<void> {
  const { slots, p50Ms, p99Ms, worstMs, missed } = await measureSlots(SLOTS);
  printTable(`From the moment to forge to the block on the disk, ${figure(slots)} slots`, [
    ['median', `${figure(p50Ms)} ms`],
    ['99 of 100 within', `${figure(p99Ms)} ms`],
    ['worst', `${figure(worstMs)} ms`],
    ['own slots that passed unused', String(missed)],
  ]);
}

export async function benchCycles(cycles = CYCLES, height = CYCLE_HEIGHT): Promise<void> {
  const { early, late, ...figures } = await runCycles({ root: packageDirectory(), cycles, height });
  const row = (name: string, all: readonly number[]) => [
    name,
    `${figure(middle(all))} ms`,
    `${figure(all.at(-1) ?? 0)} ms`,
  ];
  // The benchmark checks the memory only if it runs at least 200 cycles. In fewer cycles, a leak adds too little memory
  // to exceed `LEAK_RATIO`.
  const isLeaking = cycles >= 200 && late.residentMb > LEAK_RATIO * early.residentMb;
  if (isLeaking || late.descriptors > early.descriptors + SPARE_DESCRIPTORS) process.exitCode = 1;
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
