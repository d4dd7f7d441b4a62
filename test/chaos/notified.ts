/**
 * A node that forges by itself and tells a receiver of the slots that it missed. Both are killed again and again, so that slots
 * are missed, events wait, and deliveries are cut off in the middle. In the end the receiver must have been told of each slot
 * without a block, and of none twice.
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
  /** Uniform in [0, 1): when who is killed. */
  readonly chance: () => number;
  readonly say: (line: string) => void;
}

export interface NotifiedReport {
  /** Slots between the first and the last block without one. */
  readonly missed: readonly number[];
  /** How many slots the receiver was told of, each event counted once by its id. */
  readonly told: number;
  /** Slots that lie in no event, and events of which two tell of one slot. */
  readonly lost: readonly number[];
  readonly twice: readonly string[];
  /** Events that came again under their own id. */
  readonly repeated: number;
  /**
   * For each event, the time to its arrival from the moment at which its last slot had passed and both processes ran, in
   * milliseconds.
   */
  readonly delaysMs: readonly number[];
  readonly slotMs: number;
}

/** An event as the receiver has it. */
interface Received extends Notice {
  /** Unix time in milliseconds. */
  readonly receivedMs: number;
}

const START_MS_MAX = 150_000;
const LIFE_MS_MAX = 6000;
/** Some slots of two seconds. */
const DOWN_MS_MAX = 6000;
/** Of the kills those of the node, as these have slots missed. */
const NODE_SHARE = 0.7;
const TELL_MS_MAX = 120_000;
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
  { kills, chance, say }: NotifiedOptions,
): Promise<NotifiedReport> {
  const [node] = devnet.nodes;
  if (node === undefined) throw new Error('the devnet has no node');
  receiver.start();
  /** Moments from which both processes ran. */
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
    if (kill % 20 === 0) say(`${kill} kills, ${receiver.events().length} events`);
  }
  const height = await highestHeight(devnet.nodes);
  // What was missed last shows with the next block.
  await waitFor('two more blocks', async () => (await highestHeight(devnet.nodes)) > height + 1, START_MS_MAX);
  const headers = await chainOf(node, devnet.network.params, 2);
  const missed = missedIn(headers);
  const isAllTold = (): boolean => slotsTold(receiver.events()) >= missed.length;
  await waitFor('all events', () => Promise.resolve(isAllTold()), TELL_MS_MAX).catch(() => undefined);
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

function slotsTold(events: readonly Notice[]): number {
  const byId = new Map(events.map((event) => [event.id, Number(event.fields['count'])]));
  return [...byId.values()].reduce((sum, count) => sum + count, 0);
}

function reportOf(events: readonly Notice[], missed: readonly number[]): Omit<NotifiedReport, 'delaysMs' | 'slotMs'> {
  const byId = new Map(events.map((event) => [event.id, event]));
  const tellers = new Map<number, number>();
  const unused = new Set(missed);
  for (const { fields } of byId.values()) {
    // An event of more than one slot names the first and the last.
    for (const slot of new Set([Number(fields['firstSlot']), Number(fields['lastSlot'])]))
      tellers.set(slot, (tellers.get(slot) ?? 0) + 1);
  }
  for (const slot of tellers.keys()) unused.delete(slot);
  const untrue = [...tellers.keys()].filter((slot) => !missed.includes(slot));
  return {
    missed,
    told: slotsTold(events),
    lost: [...unused],
    twice: [
      ...[...tellers].filter(([, count]) => count > 1).map(([slot]) => `slot ${slot} is in more than one event`),
      ...untrue.map((slot) => `slot ${slot} was told, and has a block`),
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
