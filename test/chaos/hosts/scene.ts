/**
 * Nodes on hosts far from one another under load: a region is cut off and healed, a node is killed and started again, another is
 * alone for a while. Every accepted transaction must get into a block, every slot without one must be theirs and be explained,
 * and nobody may charge anybody.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  waitFor,
  waitForAnswer,
  waitForCommonBlock,
  waitForCommonDigest,
  highestHeight,
} from '../../support/devnet.ts';
import type { TestNode } from '../../support/devnet.ts';
import { MachineWatch } from '../../support/machine.ts';
import { isConfirmed, postTransaction, transfer } from '../transfers.ts';
import { wrongsOf } from '../wrongs.ts';
import { startHostDevnet, type HostDevnet } from './host-devnet.ts';
import { chainOf, explain, growthMb, lateness, type Event, type MemorySample, missedIn } from './judge.ts';

export interface HostsOptions {
  readonly hosts: number;
  readonly minutes: number;
  readonly perSecond: number;
  readonly generation: 2 | 3;
  readonly say: (line: string) => void;
}

/** Parts of the time at which things happen; the last half is quiet. */
const PARTS = { cut: [0.06, 0.18], killed: [0.24, 0.28], alone: [0.34, 0.42] } as const;
/** Share of the nodes that are a region. */
const REGION = 0.3;
const START_MS_MAX = 180_000;
const CONFIRM_MS_MAX = 240_000;
/** A connection that stood still is given up after 20 s, and dialled again within ten. */
const AFTER_CUT_MS = 45_000;
/** A node that was started again signs when peers have shown it the tip. */
const AFTER_KILL_MS = 30_000;
const LOOKS_AT_ONCE = 8;
const MEMORY_LOOK_MS = 5_000;
/** Memory is judged over half an hour alone. */
const MEMORY_MINUTES_MIN = 60;
const GROWTH_MB_MAX = 3;

/** @returns what was wrong, in words; empty when all is well */
export async function runHosts(options: HostsOptions): Promise<readonly string[]> {
  const devnet = await startHostDevnet(options.hosts, options.generation);
  try {
    return await runOn(devnet, options);
  } finally {
    await devnet.close();
  }
}

async function runOn(devnet: HostDevnet, options: HostsOptions): Promise<readonly string[]> {
  const { hosts, minutes, say } = options;
  const { nodes, network } = devnet;
  const machine = new MachineWatch();
  await waitForCommonBlock(nodes, 3, START_MS_MAX);
  await waitFor('connections of all with all', async () => await areAllConnected(nodes), START_MS_MAX);
  const fromHeight = await highestHeight(nodes);
  say(`${hosts} nodes run, at height ${fromHeight}`);

  const endMs = Date.now() + minutes * 60_000;
  const [events, accepted, memory] = await Promise.all([
    happen(devnet, options, endMs),
    load(devnet, options, endMs),
    watchMemory(nodes, endMs),
  ]);
  const lost = await unconfirmed(nodes, accepted);
  const digest = await waitForCommonDigest(nodes, CONFIRM_MS_MAX);
  say(
    `${accepted.length - lost.size} of ${accepted.length} transactions in blocks, all nodes have the state ${digest}`,
  );

  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  const headers = await chainOf(first, network.params);
  const missed = missedIn(headers, fromHeight);
  const explained = [];
  for (const slot of missed) explained.push(await explain(devnet, slot, events));
  const outside = explained.filter(({ event }) => event === undefined);
  const unright = explained.filter(({ isRight }) => !isRight);
  say(
    `${missed.length} slots passed unused, ${outside.length} of them without a reason, ${unright.length} explained wrongly`,
  );
  for (const { slot, event, reasons } of explained.slice(0, 3).concat(unright.slice(0, 10)))
    say(`  slot ${slot} (${event ?? 'no event'}): ${reasons.join(' | ').slice(0, 600)}`);

  const times = lateness(devnet, headers, events);
  const isQuick = await machine.wasQuick();
  say(
    `of ${times.blocks} blocks 99 % came within ${times.p99Ms} ms of their moment, the last after ${times.worstMs} ms`,
  );
  const growths = memory.map((samples) => growthMb(samples));
  say(`memory of each node grew by ${growths.map((mb) => mb.toFixed(1)).join(', ')} MB in the last quarter`);
  const wrongs = await wrongsOf(nodes);
  say(`frames without room at the switch: ${devnet.wires.dropped}`);

  const isHour = minutes >= MEMORY_MINUTES_MIN;
  const grown = growths.filter((mb) => mb > GROWTH_MB_MAX).length;
  if (!isQuick) say('the machine had other work to do: times of blocks are not judged');
  return [
    ...[...lost].map((id) => `transaction ${id} is in no block`),
    ...outside.map(({ slot }) => `slot ${slot} passed unused without a reason`),
    ...unright.map(({ slot }) => `why missed is wrong of slot ${slot}`),
    ...Object.entries(wrongs).map(([figure, value]) => `${figure}: ${value}`),
    ...(isQuick ? times.late.map(({ slot, lateMs }) => `the block of slot ${slot} came ${lateMs} ms late`) : []),
    ...(isHour && grown > 0 ? [`the memory of ${grown} nodes grew by more than ${GROWTH_MB_MAX} MB`] : []),
  ];
}

async function areAllConnected(nodes: readonly TestNode[]): Promise<boolean> {
  const counts = await Promise.all(nodes.map((node) => node.client.connectedPeers()));
  return counts.every((count) => count === nodes.length - 1);
}

async function happen(
  { nodes, wires }: HostDevnet,
  { minutes, hosts, say }: HostsOptions,
  endMs: number,
): Promise<readonly Event[]> {
  const startMs = endMs - minutes * 60_000;
  const until = (part: number): Promise<void> => sleep(Math.max(0, startMs + part * minutes * 60_000 - Date.now()));
  const events: Event[] = [];
  const note = (name: string, of: readonly number[], fromMs: number, afterMs: number): void => {
    const toMs = Date.now();
    events.push({ name, nodes: of, fromMs, toMs, overMs: toMs + afterMs });
    say(`${name}: ${Math.round((toMs - fromMs) / 1000)} s`);
  };
  const cutOff = async (name: string, of: readonly number[], [from, to]: readonly [number, number]): Promise<void> => {
    await until(from);
    const fromMs = Date.now();
    wires.cut(of);
    await until(to);
    wires.heal();
    note(name, of, fromMs, AFTER_CUT_MS);
  };

  const region = Array.from({ length: Math.max(1, Math.round(hosts * REGION)) }, (_, node) => node + 1);
  await cutOff(`cut off (nodes ${region.join(', ')})`, region, PARTS.cut);

  await until(PARTS.killed[0]);
  const victim = nodes[hosts - 1];
  if (victim === undefined) throw new Error('there is no node to kill');
  const killedMs = Date.now();
  await victim.kill();
  await until(PARTS.killed[1]);
  victim.start();
  await waitForAnswer(victim, START_MS_MAX);
  note(`killed (node ${hosts - 1})`, [hosts - 1], killedMs, AFTER_KILL_MS);

  await cutOff('alone (node 0)', [0], PARTS.alone);
  return events;
}

/** @returns ids of transactions that were accepted */
async function load(
  { nodes, network }: HostDevnet,
  { perSecond, minutes, say }: HostsOptions,
  endMs: number,
): Promise<readonly string[]> {
  const accepted: string[] = [];
  const startMs = endMs - minutes * 60_000;
  for (let number = 0; Date.now() < endMs; number += 1) {
    await sleep(Math.max(0, startMs + (number / perSecond) * 1000 - Date.now()));
    const running = nodes.filter((node) => node.isRunning());
    const node = running[number % running.length];
    if (node === undefined) continue;
    const transaction = transfer(network, number);
    const isAccepted = await postTransaction(node.url, network, transaction).then(
      () => true,
      // It was killed meanwhile, or is not up yet: nothing was promised.
      (error: unknown) => {
        if (node.isRunning() && String(error).includes('refused')) throw error;
        return false;
      },
    );
    if (isAccepted) accepted.push(transaction.id);
    if (number % (perSecond * 60) === 0) say(`${accepted.length} transactions accepted`);
  }
  return accepted;
}

async function unconfirmed(nodes: readonly TestNode[], accepted: readonly string[]): Promise<ReadonlySet<string>> {
  const waiting = new Set(accepted);
  const [node] = nodes;
  if (node === undefined) throw new Error('there is no node');
  const look = async (id: string): Promise<void> => {
    if (await isConfirmed(node.url, id)) waiting.delete(id);
  };
  const isDone = async (): Promise<boolean> => {
    const ids = [...waiting];
    while (ids.length > 0) await Promise.all(ids.splice(0, LOOKS_AT_ONCE).map(look));
    return waiting.size === 0;
  };
  await waitFor('all transactions in blocks', isDone, CONFIRM_MS_MAX).catch(() => undefined);
  return waiting;
}

/** What the processes take of the memory, node by node, from their last start on. */
async function watchMemory(nodes: readonly TestNode[], endMs: number): Promise<readonly (readonly MemorySample[])[]> {
  const samples = nodes.map((): MemorySample[] => []);
  while (Date.now() < endMs) {
    for (const [index, node] of nodes.entries()) {
      const bytes = residentBytes(node.pid());
      if (bytes !== undefined) samples[index]?.push({ timeMs: Date.now(), bytes });
    }
    await sleep(MEMORY_LOOK_MS);
  }
  return samples;
}

function residentBytes(pid: number | undefined): number | undefined {
  try {
    // In pages of 4 KiB; what is its own alone, as the mapped chain is not.
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ').map(Number);
    return (resident - shared) * 4096;
  } catch {
    return undefined;
  }
}
