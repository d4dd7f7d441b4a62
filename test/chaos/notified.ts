/**
 * A node forges alone and sends events about missed slots to a webhook. A second process, the receiver, serves this
 * webhook and stores the events. The test repeatedly kills the node or the receiver. As a result, the node misses
 * slots, events wait for their delivery, and some deliveries are interrupted. At the end, the events that the receiver
 * has stored must report each slot without a block exactly once.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../src/primitives/errors.ts';
import type { Notice } from '../../src/node/notify/channels.ts';
import { highestHeight, lastWords, startTestDevnet, waitFor, waitForAnswer } from '../support/devnet.ts';
import type { TestDevnet } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';
import { slotStartMs } from '../../src/protocol/slots.ts';
import { chainOf, missedIn } from './hosts/judge.ts';

export interface NotifiedOptions {
  readonly kills: number;
  /** Returns a random number, uniform in [0, 1). The numbers determine the times and the victims of the kills. */
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface NotifiedReport {
  /** Slots without a block between the first and the last block. */
  readonly missed: readonly number[];
  /** Number of slots that the events report. If the same event was delivered several times, its slots count once. */
  readonly reported: number;
  /**
   * `lost`: slots without a block that no event reports. `twice`: texts about wrongly reported slots. Either more than
   * one event reports the slot, or the reported slot has a block.
   */
  readonly lost: readonly number[];
  readonly twice: readonly string[];
  /** Number of repeated deliveries: an event arrived again with the same id. */
  readonly repeated: number;
  /**
   * For each event, the time in milliseconds until it arrived. The measurement starts at the end of the last slot in
   * the report of the event. If the node or the receiver was restarted during this time, the measurement starts at the
   * end of the restart.
   */
  readonly delaysMs: readonly number[];
  readonly slotMs: number;
}

/** An event as the receiver stored it. */
interface Received extends Notice {
  /** Unix time in milliseconds. */
  readonly receivedMs: number;
}

const START_MS_MAX = 150_000;
const LIFE_MS_MAX = 6000;
/** Maximum time from a kill to the restart: three slots of two seconds. */
const DOWN_MS_MAX = 6000;
/** Share of the kills that hit the node. Kills of the receiver cause no missed slots. */
const NODE_SHARE = 0.7;
const REPORT_MS_MAX = 120_000;
const RECEIVER = fileURLToPath(new URL('receiver.js', import.meta.url));

export async function runNotified(options: NotifiedOptions): Promise<NotifiedReport> {
  const { http: port } = await freePortRanges(1);
  const devnet = await startTestDevnet({
    network: 'devnet',
    nodes: 1,
    notify: { webhook: `http://127.0.0.1:${port}/`, events: ['OWN_SLOTS_MISSED'] },
  });
  const receiver = new Receiver(port, join(devnet.directory, 'received'));
  try {
    return await notifiedOf(devnet, receiver, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await receiver.kill();
    await devnet.close();
  }
}

async function notifiedOf(
  devnet: TestDevnet,
  receiver: Receiver,
  { kills, chance, log }: NotifiedOptions,
): Promise<NotifiedReport> {
  const [node] = devnet.nodes;
  if (node === undefined) throw new Error('the devnet has no node');
  receiver.start();
  /**
   * The first entry is 0. Each further entry belongs to one kill, and is the time at which both the node and the
   * receiver were running again.
   */
  const upsMs: number[] = [0];
  for (let kill = 1; kill <= kills; kill += 1) {
    await sleep(chance() * LIFE_MS_MAX);
    if (chance() > NODE_SHARE) {
      await receiver.kill();
      await sleep(chance() * DOWN_MS_MAX);
      receiver.start();
    } else {
      await node.kill();
      await sleep(chance() * DOWN_MS_MAX);
      node.start();
      await waitForAnswer(node, START_MS_MAX);
    }
    upsMs.push(Date.now());
    if (kill % 20 === 0) log(`${kill} kills, ${receiver.events().length} events`);
  }
  const height = await highestHeight(devnet.nodes);
  // The last missed slots become visible with the next block.
  await waitFor('two more blocks', async () => (await highestHeight(devnet.nodes)) > height + 1, START_MS_MAX);
  const headers = await chainOf(node, devnet.network.params, 2);
  const missed = missedIn(headers);
  const isAllReported = (): boolean => slotsReported(receiver.events()) >= missed.length;
  await waitFor('all events', () => Promise.resolve(isAllReported()), REPORT_MS_MAX).catch(() => undefined);
  const { params } = devnet.network;
  const slotEndMs = (slot: number): number => slotStartMs(slot + 1, params);
  const delaysMs = delaysOf(receiver.events(), upsMs, slotEndMs);
  return { ...reportOf(receiver.events(), missed), delaysMs, slotMs: slotEndMs(1) - slotEndMs(0) };
}

function delaysOf(
  events: readonly Received[],
  upsMs: readonly number[],
  slotEndMs: (slot: number) => number,
): readonly number[] {
  const firsts = new Map<string, Received>();
  for (const event of events) if (!firsts.has(event.id)) firsts.set(event.id, event);
  return [...firsts.values()].map(({ receivedMs, fields }) => {
    const upMs = upsMs.findLast((each) => each <= receivedMs) ?? 0;
    return receivedMs - Math.max(upMs, slotEndMs(Number(fields['lastSlot'])));
  });
}

function slotsReported(events: readonly Notice[]): number {
  const byId = new Map(events.map((event) => [event.id, Number(event.fields['count'])]));
  return [...byId.values()].reduce((sum, count) => sum + count, 0);
}

function reportOf(events: readonly Notice[], missed: readonly number[]): Omit<NotifiedReport, 'delaysMs' | 'slotMs'> {
  const byId = new Map(events.map((event) => [event.id, event]));
  const eventsBySlot = new Map<number, number>();
  const unused = new Set(missed);
  for (const { fields } of byId.values()) {
    // Each event reports the slots of one delegate in one downtime. A downtime contains at most two slots of one
    // delegate, so each event is for one or two slots.
    for (const slot of new Set([Number(fields['firstSlot']), Number(fields['lastSlot'])]))
      eventsBySlot.set(slot, (eventsBySlot.get(slot) ?? 0) + 1);
  }
  for (const slot of eventsBySlot.keys()) unused.delete(slot);
  const untrue = [...eventsBySlot.keys()].filter((slot) => !missed.includes(slot));
  return {
    missed,
    reported: slotsReported(events),
    lost: [...unused],
    twice: [
      ...[...eventsBySlot].filter(([, count]) => count > 1).map(([slot]) => `slot ${slot} is in more than one event`),
      ...untrue.map((slot) => `slot ${slot} was reported, and has a block`),
    ],
    repeated: events.length - byId.size,
  };
}

class Receiver {
  readonly #port: number;
  readonly #file: string;
  #child: ChildProcess | undefined;

  constructor(port: number, file: string) {
    this.#port = port;
    this.#file = file;
  }

  start(): void {
    this.#child = fork(RECEIVER, [String(this.#port), this.#file]);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  events(): readonly Received[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Received);
  }
}
