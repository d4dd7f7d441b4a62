/**
 * Functions that repeat a check until it succeeds. They throw an error with a description if no check succeeds before a
 * deadline.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { blockIdAt, statusOf, tipOf, type Tip } from './http.ts';
import type { InteropNode } from './nodes.ts';

const POLL_MS = 300;

/**
 * Calls `attempt` every 300 ms until it returns a value other than undefined and false, and returns this value.
 *
 * @throws Error with `what` and the error of the last attempt, if no attempt succeeds before the deadline
 */
export async function eventually<T>(
  what: string,
  deadlineMs: number,
  attempt: () => Promise<T | undefined | false>,
): Promise<T> {
  const startedMs = Date.now();
  for (;;) {
    let reason: unknown;
    try {
      const value = await attempt();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      reason = error;
    }
    if (Date.now() - startedMs > deadlineMs) {
      const words = reason instanceof Error ? ` (${reason.message})` : '';
      throw new Error(`${what}: not within ${Math.round(deadlineMs / 1000)} s${words}`, { cause: reason });
    }
    await sleep(POLL_MS);
  }
}

export function heightOf(node: InteropNode): Promise<number> {
  return statusOf(node.url).then(({ height }) => height);
}

/** Resolves when the node's tip has reached a height. */
export async function untilHeight(node: InteropNode | undefined, height: number, deadlineMs: number): Promise<void> {
  if (node === undefined) throw new Error('no node to wait for');
  await eventually(`${node.name} at height ${height}`, deadlineMs, async () => {
    const current = await heightOf(node);
    if (current >= height) return true;
    throw new Error(`it is at ${current}`);
  });
}

/** Resolves with the tip as soon as all nodes report the same tip. */
export function untilSameTip(nodes: readonly InteropNode[], deadlineMs: number): Promise<Tip> {
  return eventually(`one tip of ${namesOf(nodes)}`, deadlineMs, async () => {
    const tips = await Promise.all(nodes.map((node) => tipOf(node.url)));
    const [first] = tips;
    if (first !== undefined && tips.every(({ id }) => id === first.id)) return first;
    throw new Error(tips.map(({ height, id }, index) => `${nodes[index]?.name} has ${height} ${id}`).join(', '));
  });
}

/** Resolves with the block id when all nodes have the same block at a height. */
export function untilCommonBlock(nodes: readonly InteropNode[], height: number, deadlineMs: number): Promise<string> {
  return eventually(`the same block at ${height} of ${namesOf(nodes)}`, deadlineMs, async () => {
    const ids = await Promise.all(nodes.map((node) => blockIdAt(node.url, height)));
    const [first] = ids;
    if (first !== undefined && ids.every((id) => id === first)) return first;
    throw new Error(ids.map((id, index) => `${nodes[index]?.name} has ${id ?? 'none'}`).join(', '));
  });
}

export function namesOf(nodes: readonly InteropNode[]): string {
  return nodes.map(({ name }) => name).join(', ');
}
