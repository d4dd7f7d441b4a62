/**
 * Functions that evaluate a run on simulated hosts. For every slot without a block, the nodes must have a correct
 * explanation. Each block must be on time, and the memory of the nodes must not grow.
 */

import { nodeAsker } from '../../../src/cli/ask-node.ts';
import { missedSlots } from '../../../src/cli/commands/why-missed.ts';
import type { ChainParams } from '../../../src/protocol/params.ts';
import { slotAt, slotStartMs } from '../../../src/protocol/slots.ts';
import type { TestNode } from '../../support/devnet.ts';
import type { HostDevnet } from './host-devnet.ts';
import type { MemorySample } from './memory-probe.ts';

/** A period in which nodes were cut off or down. */
export interface Event {
  readonly kind: 'cut' | 'killed';
  readonly name: string;
  readonly nodes: readonly number[];
  /** Unix time in milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Time until which the effects of the event are perhaps still visible. */
  readonly overMs: number;
}

export interface Header {
  readonly id: string;
  readonly height: number;
  readonly slot: number;
}

const BLOCKS_PER_PAGE = 100;
const BLOCK_LATE_MS = 200;

/** Reads the headers of a node's chain from the height `fromHeight` to the tip, in ascending order of height. */
export async function chainOf({ url }: TestNode, params: ChainParams, fromHeight: number): Promise<readonly Header[]> {
  const { ask } = nodeAsker(url, { timeoutMs: 60_000 });
  const headers: Header[] = [];
  for (;;) {
    const path = `blocks?sort=height:asc&limit=${BLOCKS_PER_PAGE}&offset=${fromHeight - 1 + headers.length}`;
    const page = await ask<{ id: string; height: number; timestamp: number }[]>(path);
    headers.push(...page.map(({ id, height, timestamp }) => ({ id, height, slot: slotAt(timestamp, params) })));
    if (page.length < BLOCKS_PER_PAGE) return headers;
  }
}

/** Returns the slots without a block between the first and the last block. */
export function missedIn(headers: readonly Header[]): readonly number[] {
  const slots = headers.map(({ slot }) => slot);
  const filled = new Set(slots);
  const [first = 0, last = 0] = [slots[0], slots.at(-1)];
  return Array.from({ length: last - first }, (_, index) => first + index).filter((slot) => !filled.has(slot));
}

export interface Explained {
  readonly slot: number;
  /** Names of the events that have perhaps affected the slot. */
  readonly events: readonly string[];
  /** The nodes' answers to the question why the slot has no block, except the answers that the test ignores. */
  readonly reasons: readonly string[];
  readonly isRight: boolean;
}

/** The answer of a node about a slot whose delegate forges on another node. The test ignores this answer. */
const NOT_OURS = 'no block arrived here: ask the delegate';
/** The answer of a node that got no processor time for a whole slot on a busy machine. The test ignores this answer. */
const ABSENT = 'this node did nothing in the slot';
const NOTHING_RECORDED = 'nothing is recorded';
/** Matches an answer that states what the node did in the slot, or why the node did not forge. */
const FACT = /this node forged|was on a branch that it left|was reverted|paused|did not sign|refused|has not begun/;

/** Asks all nodes why a slot has no block, and compares their answers with the faults that the test caused. */
export async function explain(devnet: HostDevnet, slot: number, events: readonly Event[]): Promise<Explained> {
  const startMs = slotStartMs(slot, devnet.network.params);
  const slotMs = devnet.network.params.blockTimeS * 1000;
  const near = events.filter(({ fromMs, overMs }) => startMs + slotMs > fromMs && startMs < overMs);
  const outcomes = await Promise.all(
    devnet.nodes.map(async ({ plan, url }) => {
      const [missed] = await missedSlots(slot, nodeAsker(url, { timeoutMs: 60_000 }));
      return { node: plan.index, reason: missed?.reason ?? '' };
    }),
  );
  const relevant = outcomes.filter(({ reason }) => reason !== NOT_OURS && !reason.startsWith(ABSENT));
  // A cut can affect every node: the cut separates the nodes into two sides, and the branch of either side can be the
  // one that the nodes abandon later.
  const isOfEvent = (node: number): boolean => near.some(({ kind, nodes }) => kind === 'cut' || nodes.includes(node));
  const isOfKill = (node: number): boolean => near.some(({ kind, nodes }) => kind === 'killed' && nodes.includes(node));
  // A killed node has no record of the time before its last start. Its answer about this time begins with
  // `NOTHING_RECORDED`.
  const wasDown = (node: number): boolean =>
    events.some(({ kind, nodes, toMs }) => kind === 'killed' && nodes.includes(node) && startMs < toMs);
  const isCaused = relevant.some(({ node, reason }) =>
    reason.startsWith(NOTHING_RECORDED) ? isOfKill(node) : isOfEvent(node) && FACT.test(reason),
  );
  const isTrue = relevant.every(({ node, reason }) =>
    reason.startsWith(NOTHING_RECORDED) ? wasDown(node) : FACT.test(reason),
  );
  return {
    slot,
    events: near.map(({ name }) => name),
    reasons: relevant.map(({ node, reason }) => `node ${node}: ${reason}`),
    isRight: isCaused && isTrue,
  };
}

export interface Lateness {
  readonly blocks: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** Blocks with a delay above `BLOCK_LATE_MS`, each with its slot and delay. */
  readonly late: readonly { readonly slot: number; readonly lateMs: number }[];
}

/**
 * Measures the delay of each block: the time from the earliest possible moment until the delegate forged the block. The
 * earliest possible moment is the start of the slot. If the previous slot has no block, the delegate first waits for a
 * late block of that slot. The earliest possible moment is then the end of this wait. Blocks of slots that events have
 * perhaps affected do not count.
 */
export function lateness(devnet: HostDevnet, headers: readonly Header[], events: readonly Event[]): Lateness {
  const { params } = devnet.network;
  const waitMs = Math.min(2000, (params.blockTimeS * 1000) / 2);
  const forgedMs = new Map<string, number>();
  for (const node of devnet.nodes) {
    for (const { code, timeMs, data } of devnet.logOf(node)) {
      if (code === 'BLOCK_FORGED') forgedMs.set(String(data['blockId']), timeMs);
    }
  }
  const slots = new Set(headers.map(({ slot }) => slot));
  const delays = headers.flatMap(({ id, slot }) => {
    const startMs = slotStartMs(slot, params);
    const timeMs = forgedMs.get(id);
    const isInEvent = events.some(({ fromMs, overMs }) => startMs >= fromMs && startMs < overMs);
    if (timeMs === undefined || isInEvent) return [];
    return [{ slot, lateMs: timeMs - startMs - (slots.has(slot - 1) ? 0 : waitMs) }];
  });
  const ascending = delays.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
  return {
    blocks: delays.length,
    p99Ms: ascending[Math.floor(ascending.length * 0.99)] ?? 0,
    worstMs: ascending.at(-1) ?? 0,
    late: delays.filter(({ lateMs }) => lateMs > BLOCK_LATE_MS),
  };
}

/**
 * Returns the growth of a node's memory in MB (2^20 bytes): the minimum in the last quarter of the samples' period,
 * minus the minimum in the quarter before.
 */
export function growthMb(samples: readonly Pick<MemorySample, 'timeMs' | 'bytes'>[]): number {
  const [first, last] = [samples[0]?.timeMs ?? 0, samples.at(-1)?.timeMs ?? 0];
  const at = (share: number): number => first + (last - first) * share;
  const least = (from: number, to: number): number =>
    Math.min(...samples.filter(({ timeMs }) => timeMs >= from && timeMs <= to).map(({ bytes }) => bytes));
  return (least(at(0.75), last) - least(at(0.5), at(0.75))) / 2 ** 20;
}
