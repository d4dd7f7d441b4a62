/** Waits, after the start or a pause of a devnet node, until the node answers its supervisor. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ProtocolError } from '../../primitives/errors.ts';
import type { SupervisedNode } from './supervised-node.ts';

/**
 * Time limit until a node answers, in milliseconds. A node is usually ready within seconds, but needs much longer on a
 * busy machine.
 */
const AGENT_WAIT_MS_MAX = 120_000;
const POLL_MS = 20;

/**
 * Resolves when the node answers its supervisor, so that the next operation can use the node. Resolves immediately
 * for a node that has no process, or whose process runs no agent (`node-agent.ts`).
 *
 * @param timeoutMs time limit by the machine's clock, in milliseconds
 * @throws ProtocolError `DEVNET_NODE_ENDED` when the process ends before the node answers; `DEVNET_NODE_SILENT` when
 *   the time limit is reached
 */
export async function waitForAgent(supervised: SupervisedNode, timeoutMs = AGENT_WAIT_MS_MAX): Promise<void> {
  const { node, process } = supervised;
  const { index, logFile } = node;
  const link = process?.link;
  if (process === undefined || link === undefined) return;
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    if (!process.isRunning()) {
      const { reason } = await process.ended;
      throw new ProtocolError('DEVNET_NODE_ENDED', { index }, `node ${index} ended: ${reason}: its log is ${logFile}`);
    }
    // After a pause, `isUsable` can still be true from the time before the pause. Therefore the node must also answer a
    // request.
    if (link.isUsable && (await answers(link, endMs - performance.now()))) return;
    if (performance.now() >= endMs) {
      const message = `node ${index} runs, but does not answer after ${timeoutMs / 1000} s: its log is ${logFile}`;
      throw new ProtocolError('DEVNET_NODE_SILENT', { index }, message);
    }
    await sleep(POLL_MS);
  }
}

type Link = NonNullable<NonNullable<SupervisedNode['process']>['link']>;

async function answers(link: Link, withinMs: number): Promise<boolean> {
  const deadline = new AbortController();
  const asked = link.ask({ op: 'state' }).then(
    () => true,
    () => false,
  );
  const late = sleep(Math.max(0, withinMs), false, { signal: deadline.signal }).catch(() => false);
  try {
    return await Promise.race([asked, late]);
  } finally {
    deadline.abort();
  }
}
