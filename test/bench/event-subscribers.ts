/**
 * Starts a devnet of one node with many subscribers to its event stream. Measures how long after the start of a slot
 * the subscribers get its block, and how many slots the node misses.
 */

import { get, type ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { momentMs, slotAt, slotAtMs } from '../../src/protocol/slots.ts';
import { EventParser } from '../http/event-subscribers.ts';
import { startTestDevnet } from '../support/devnet.ts';

export interface SubscriberFigures {
  readonly blocks: number;
  /**
   * Number of slots without a block. The count begins with the first slot that starts after all subscribers are
   * connected, and ends with the slot of the last received block.
   */
  readonly missedSlots: number;
  /**
   * Time from the start of a block's slot until the last subscriber has the block: the median and the maximum over all
   * blocks.
   */
  readonly lastReceivedMs: { readonly median: number; readonly worst: number };
  /**
   * Number of missing deliveries. Each subscriber that did not receive a block counts as one missing delivery of this
   * block. Blocks that no subscriber received do not count.
   */
  readonly missing: number;
}

const DEADLINE_MS = 10_000;

interface ReceivedBlock {
  readonly timestamp: number;
  /** Times at which the subscribers got the block, Unix time in milliseconds. */
  readonly receivedMs: number[];
}

export async function measureEventSubscribers(subscribers: number, blocks: number): Promise<SubscriberFigures> {
  const devnet = await startTestDevnet({ nodes: 1 });
  const { params } = devnet.network;
  const received = new Map<number, ReceivedBlock>();
  const requests: ClientRequest[] = [];
  try {
    const [node] = devnet.nodes;
    for (let subscriber = 0; subscriber < subscribers; subscriber += 1)
      requests.push(
        await follow(`${node?.url ?? ''}/api/events`, ({ height, timestamp }) => {
          const block = received.get(height) ?? { timestamp, receivedMs: [] };
          received.set(height, block);
          block.receivedMs.push(Date.now());
        }),
      );
    // Count only blocks from the next slot on, because the subscribers that connected last may have missed blocks of
    // earlier slots.
    const firstSlot = slotAtMs(Date.now(), params) + 1;
    await sleep(blocks * params.blockTimeS * 1000);
    const endMs = Date.now() + DEADLINE_MS;
    const counted = () => [...received.values()].filter(({ timestamp }) => slotAt(timestamp, params) >= firstSlot);
    const missing = () => counted().reduce((sum, { receivedMs }) => sum + subscribers - receivedMs.length, 0);
    while (missing() > 0 && Date.now() < endMs) await sleep(10);
    const all = counted();
    if (all.length === 0) throw new Error(`no block in ${blocks} slots`);
    const lastSlot = Math.max(...all.map(({ timestamp }) => slotAt(timestamp, params)));
    const delays = all
      .map(({ timestamp, receivedMs }) => Math.max(...receivedMs) - momentMs(timestamp, params))
      .sort((a, b) => a - b);
    return {
      blocks: all.length,
      missedSlots: lastSlot - firstSlot + 1 - all.length,
      lastReceivedMs: { median: delays[Math.floor(delays.length / 2)] ?? NaN, worst: delays.at(-1) ?? NaN },
      missing: missing(),
    };
  } finally {
    for (const request of requests) request.destroy();
    await devnet.close();
  }
}

/** Subscribes to the event stream. Resolves when the stream is open, and calls `onBlock` for each new block. */
function follow(
  url: string,
  onBlock: (block: { readonly height: number; readonly timestamp: number }) => void,
): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${url} answers ${response.statusCode}`));
      const parser = new EventParser();
      response.setEncoding('utf8').on('data', (chunk: string) => {
        for (const { name, data } of parser.read(chunk))
          if (name === 'blocks/new') onBlock({ height: Number(data['height']), timestamp: Number(data['timestamp']) });
      });
      response.on('error', () => undefined);
      resolve(request);
    });
    request.on('error', reject);
  });
}
