/**
 * Measures whether the only node of a devnet misses slots while its reading processes answer HTTP requests at full
 * load.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainParams } from '../../src/protocol/params.ts';
import { slotAt, slotAtMs, slotStartMs } from '../../src/protocol/slots.ts';
import { startTestDevnet, waitFor, type TestNode } from '../support/devnet.ts';
import { load } from './load.ts';

export interface ForgingFigures {
  readonly slots: number;
  /** Numbers of the slots without a block. A slot that was only partly under load does not count. */
  readonly missed: readonly number[];
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
}

export interface ForgingOptions {
  readonly processes: number;
  readonly connections: number;
  readonly durationMs: number;
}

const START_MS_MAX = 150_000;
const PAGE_LIMIT = 100;

export async function measureForgingBesideReaders(options: ForgingOptions): Promise<ForgingFigures> {
  const { processes, connections, durationMs } = options;
  const devnet = await startTestDevnet({ network: 'devnet', nodes: 1, http: { processes } });
  try {
    const [node] = devnet.nodes;
    if (node === undefined) throw new Error('the devnet has no node');
    const { params } = devnet.network;
    await waitFor('all readers', () => areReadersUp(node, processes), START_MS_MAX);
    const firstSlot = slotAtMs(Date.now(), params) + 1;
    const { requestsPerSecond, p99Ms } = await load(node.plan.httpPort, targetOf, connections, durationMs);
    const lastSlot = slotAtMs(Date.now(), params) - 1;
    // It is possible that the node forges the block of `lastSlot` just before this slot ends, and applies the block
    // later. So wait until the next slot ends.
    await sleep(Math.max(0, slotStartMs(lastSlot + 2, params) - Date.now()));
    const forged = await slotsWithBlock(node, params);
    const slots = Array.from({ length: lastSlot - firstSlot + 1 }, (_, at) => firstSlot + at);
    return { slots: slots.length, missed: slots.filter((slot) => !forged.has(slot)), requestsPerSecond, p99Ms };
  } finally {
    await devnet.close();
  }
}

/**
 * Every second request is for the newest blocks. A cache can answer this request. The other requests are for 9,797
 * different pages of transactions in turn. The chain usually gets a new block before the same page is requested again.
 * The cached page is then out of date, so the cache cannot answer.
 */
function targetOf(request: number): string {
  if (request % 2 === 0) return '/api/blocks?limit=20';
  return `/api/transactions?sort=amount:desc&limit=${(request % 97) + 1}&offset=${request % 101}`;
}

async function areReadersUp(node: TestNode, processes: number): Promise<boolean> {
  if (processes === 0) return true;
  const { readers } = await node.client.status();
  return readers?.each.filter(({ state }) => state === 'up').length === processes;
}

/** Returns the slots of all blocks of the node's chain. */
async function slotsWithBlock(node: TestNode, params: ChainParams): Promise<ReadonlySet<number>> {
  const slots = new Set<number>();
  for (let offset = 0; ; offset += PAGE_LIMIT) {
    const response = await fetch(`${node.url}/api/blocks?limit=${PAGE_LIMIT}&offset=${offset}&sort=height:asc`);
    if (!response.ok) throw new Error(`${response.url} answers ${response.status}`);
    const { data } = (await response.json()) as { readonly data: readonly { readonly timestamp: number }[] };
    for (const { timestamp } of data) slots.add(slotAt(timestamp, params));
    if (data.length < PAGE_LIMIT) return slots;
  }
}
