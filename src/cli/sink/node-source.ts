/**
 * A node elsewhere as a source of a sink, by its stream of events. A connection that is lost is opened again from the newest final
 * block on: the node tells of the blocks as they stand then, and what they say otherwise than before was reverted meanwhile.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Network } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createRules } from '../../protocol/generations.ts';
import type { Rules } from '../../protocol/rules.ts';
import type { Block } from '../../protocol/types.ts';
import type { ChainChange, ChainSource } from '../../sinks/source.ts';
import { FULL_STATUS } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import { eventsIn, type NodeEventJson } from '../event-stream.ts';
import { note } from '../output.ts';
import { BlockReader } from './block-reader.ts';
import { ToldChain } from './told-chain.ts';

/** Pause before a node that went away is asked again. */
const AGAIN_MS = 1000;
const BLOCKS = 'blocks/new,transactions/included';
const CHANGES = `${BLOCKS},blocks/delete,finalized/change`;

interface NodeStatus {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
}

/** @throws ProtocolError `SINK_OF_OTHER_CHAIN` for a node of another network, and as asking it does */
export async function openNodeSource(
  url: string,
  network: Network,
  { depth }: { readonly depth: number },
): Promise<ChainSource> {
  const node = nodeAsker(url, { isOwnKind: true });
  const rules = createRules(network.params);
  await refuseOtherNetwork(node, network);
  const genesis = rules.codec.genesisFromJson(network.genesisJson);
  const status = (): Promise<NodeStatus> => node.ask('node/status', FULL_STATUS);
  const finalOf = ({ height, chainMaxHeightFinalized }: NodeStatus): number =>
    rules.params.generation === 2 ? Math.max(0, height - depth) : chainMaxHeightFinalized;

  return {
    rules,
    networkName: network.name,
    finalHeight: async () => finalOf(await status()),
    async *blocks(fromHeight, toHeight) {
      if (fromHeight > toHeight) return;
      const reader = new BlockReader(rules.codec, genesis);
      const body = await node.stream(`events?types=${BLOCKS}&fromHeight=${fromHeight}`);
      let next = fromHeight;
      for await (const event of eventsIn(body)) {
        const block = reader.read(event);
        if (block === undefined) continue;
        if (block.height !== next) throw cutShort(node.base, next);
        yield block;
        next += 1;
        if (next > toHeight) return;
      }
      throw cutShort(node.base, next);
    },
    async *changes(fromHeight, signal) {
      const told = new ToldChain(fromHeight, rules.params.generation === 2 ? depth : undefined);
      let caughtUpAt: number | undefined = (await status()).height;
      let isKnown = false;
      while (!signal.aborted) {
        try {
          const body = await node.stream(`events?types=${CHANGES}&fromHeight=${told.firstOpen()}`);
          if (isKnown) note(`${node.base} is back`);
          isKnown = true;
          if (caughtUpAt !== undefined && told.height() >= caughtUpAt) {
            caughtUpAt = undefined;
            yield { kind: 'caughtUp' };
          }
          const changes = changesIn(abortable(eventsIn(body), signal), new BlockReader(rules.codec, genesis), told);
          for await (const change of changes) {
            yield change;
            if (caughtUpAt === undefined || told.height() < caughtUpAt) continue;
            caughtUpAt = undefined;
            yield { kind: 'caughtUp' };
          }
          if (!signal.aborted) note(`${node.base} ended the stream; it is asked until it is back`);
        } catch (error) {
          const isLost = !(error instanceof ProtocolError) || (isKnown && error.code === 'NODE_UNREACHABLE');
          if (!isLost) throw error;
        }
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    },
    close: () => Promise.resolve(),
  };
}

async function* changesIn(
  events: AsyncIterable<NodeEventJson>,
  reader: BlockReader,
  told: ToldChain,
): AsyncIterable<ChainChange> {
  for await (const event of events) {
    // Records that the log has forgotten are told anew from the blocks themselves.
    if (event.event === 'log/gap') return;
    if (event.event === 'blocks/delete') yield* told.reverted(event.data as { id: string; height: number });
    else if (event.event === 'finalized/change') yield* told.finalized((event.data as { height: number }).height);
    else {
      const block = reader.read(event);
      if (block !== undefined) yield* told.applied(block);
    }
  }
}

/** Events until the signal: a quiet chain has none for a while. */
async function* abortable<T>(events: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = events[Symbol.asyncIterator]();
  let end: (() => void) | undefined;
  const abort = (): void => end?.();
  signal.addEventListener('abort', abort, { once: true });
  try {
    while (!signal.aborted) {
      // A promise for each event: one that outlives them would keep what each was raced for.
      const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        end = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // A read that is under way never ends by itself: it is not waited for.
    void iterator.return?.();
  }
}

async function refuseOtherNetwork(node: NodeAsker, { name, params }: Network): Promise<void> {
  const [genesis] = await node.ask<readonly { readonly id: string }[]>('blocks?height=1');
  if (genesis?.id === params.genesisBlockId) return;
  throw new ProtocolError(
    'SINK_OF_OTHER_CHAIN',
    { node: node.base, genesisBlockId: genesis?.id },
    `${node.base} is no node of ${name}: its genesis block is ${genesis?.id ?? 'unknown'}, not ${params.genesisBlockId}`,
  );
}

function cutShort(base: string, height: number): ProtocolError {
  return new ProtocolError(
    'NODE_UNREACHABLE',
    { url: base, height },
    `${base} ended its answer before block ${height}`,
  );
}

export type { Block, Rules };
