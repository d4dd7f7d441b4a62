/**
 * Reads the event stream of a remote node as the source of a sink. After a lost connection, `changes` opens a new
 * stream, which starts at the newest block that `changes` has reported as final. If `changes` has reported no final
 * block yet, the new stream starts where the first stream started. In the new stream, the node sends the blocks of its
 * present chain. If a block differs from the block that the earlier stream had at the same height, the node has
 * reverted the earlier block, and `changes` reports this revert.
 */

import type { Network } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { createRules } from '../../protocol/generations.ts';
import type { ChainChange, ChainSource } from '../../sinks/source.ts';
import { FULL_STATUS } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import { eventsIn, type NodeEventJson } from '../event-stream.ts';
import { printStderr } from '../output.ts';
import { BlockReader, malformed } from './block-reader.ts';
import { bodyOf, connectionLost, nodeBehind, NodeRetry } from './node-retry.ts';
import { StreamedChain } from './streamed-chain.ts';

/** Pause in milliseconds after the first failed request to a node. */
const PAUSE_MS = 1000;
/**
 * A stream counts as lost when no byte arrives for this time, in milliseconds. A node sends at least one byte every 15
 * seconds.
 */
const SILENCE_MS = 60_000;
const BLOCKS = 'blocks/new,transactions/included';
const CHANGES = `${BLOCKS},blocks/delete,finalized/change`;

interface NodeStatus {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
}

export interface NodeSourceOptions {
  /**
   * In a generation without finality, a block counts as final when it is at least this number of blocks below the tip.
   */
  readonly depth: number;
  /**
   * Signal that ends a wait for the node. After the signal, the waiting function throws the abort reason of the signal.
   */
  readonly signal: AbortSignal;
  /** Pause after the first failed request to the node, in milliseconds. */
  readonly pauseMs?: number;
  /** A stream counts as lost when no byte arrives for this time, in milliseconds. */
  readonly silenceMs?: number;
  /** Shows a line to the user. */
  readonly print?: (line: string) => void;
}

type SourceNetwork = Pick<Network, 'name' | 'params' | 'genesisJson'>;

/**
 * @throws ProtocolError `SINK_OF_OTHER_CHAIN` for a node of another network; errors of `nodeAsker` and of
 *   `NodeAsker.ask`
 */
export async function openNodeSource(
  url: string,
  network: SourceNetwork,
  { depth, signal: whole, pauseMs = PAUSE_MS, silenceMs = SILENCE_MS, print = printStderr }: NodeSourceOptions,
): Promise<ChainSource> {
  const node = nodeAsker(url, { isOwnKind: true });
  const rules = createRules(network.params);
  await refuseOtherNetwork(node, network);
  const genesis = rules.codec.genesisFromJson(network.genesisJson);
  const retry = new NodeRetry({ base: node.base, signal: whole, pauseMs, print });
  const readerOf = (): BlockReader => new BlockReader(rules.codec, genesis, node.base);
  const status = (): Promise<NodeStatus> => retry.until(() => node.ask('node/status', FULL_STATUS));
  const finalOf = ({ height, chainMaxHeightFinalized }: NodeStatus): number =>
    rules.params.generation === 2 ? Math.max(0, height - depth) : chainMaxHeightFinalized;
  async function* events(path: string): AsyncIterable<NodeEventJson> {
    for await (const event of eventsIn(bodyOf(node.base, node.stream(`events?types=${path}`), silenceMs))) {
      retry.succeeded();
      yield event;
    }
  }

  return {
    rules,
    networkName: network.name,
    height: async () => (await status()).height,
    finalHeight: async () => finalOf(await status()),
    async *blocks(fromHeight, toHeight) {
      let next = fromHeight;
      while (next <= toHeight) {
        try {
          if (retry.isFailing) await refuseOtherNetwork(node, network);
          // If the chain of the node ends below `toHeight`, the function opens no stream: the stream would wait for the
          // missing blocks.
          const { height } = await node.ask<NodeStatus>('node/status', FULL_STATUS);
          if (height < toHeight) return;
          const reader = readerOf();
          let isFirst = true;
          for await (const event of abortable(events(`${BLOCKS}&fromHeight=${next}`), whole)) {
            const block = reader.read(event);
            if (block === undefined) continue;
            if (block.height !== next) {
              // If the first block of a stream does not have the height `next`, the answer is malformed. In a later
              // block, a wrong height means that the node has switched to another branch, so the function opens a new
              // stream.
              throw isFirst
                ? malformed(`block ${block.height} instead of block ${next}`)
                : connectionLost(node.base, new Error('the node changed its branch'));
            }
            isFirst = false;
            yield block;
            next += 1;
            if (next > toHeight) return;
          }
          throw connectionLost(node.base);
        } catch (error) {
          await retry.wait(error);
        }
      }
    },
    async *changes(fromHeight, signal) {
      const chain = new StreamedChain(fromHeight, rules.params.generation === 2 ? depth : undefined);
      let caughtUpAt: number | undefined = (await status()).height;
      while (!signal.aborted) {
        try {
          if (retry.isFailing) await refuseOtherNetwork(node, network);
          if (chain.height() >= (caughtUpAt ?? Infinity)) {
            caughtUpAt = undefined;
            yield { kind: 'caughtUp' };
          }
          // Behind a load balancer, requests can reach different nodes. It is possible that the node that answers now
          // does not have the blocks before `resumeHeight` yet.
          const { height } = await node.ask<NodeStatus>('node/status', FULL_STATUS);
          if (height < chain.resumeHeight() - 1) throw nodeBehind(node.base, height, chain.resumeHeight() - 1);
          const stream = events(`${CHANGES}&fromHeight=${chain.resumeHeight()}`);
          const changes = changesIn(abortable(stream, signal), readerOf(), chain);
          for await (const change of changes) {
            yield change;
            if (caughtUpAt === undefined || chain.height() < caughtUpAt) continue;
            caughtUpAt = undefined;
            yield { kind: 'caughtUp' };
          }
          if (!signal.aborted) throw connectionLost(node.base);
        } catch (error) {
          if (signal.aborted) return;
          await retry.wait(error);
        }
      }
    },
    close: () => Promise.resolve(),
  };
}

async function* changesIn(
  events: AsyncIterable<NodeEventJson>,
  reader: BlockReader,
  chain: StreamedChain,
): AsyncIterable<ChainChange> {
  for await (const event of events) {
    // The node sends `log/gap` instead of events that it no longer has. The caller opens a new stream, which sends the
    // blocks of the gap.
    if (event.event === 'log/gap') return;
    const { id, height } = (event.data ?? {}) as { readonly id?: unknown; readonly height?: unknown };
    if (event.event === 'blocks/delete') {
      if (typeof id !== 'string' || typeof height !== 'number') throw malformed('the reverted block is not named');
      yield* chain.reverted({ id, height });
    } else if (event.event === 'finalized/change') {
      if (typeof height !== 'number') throw malformed('the final height is missing');
      yield* chain.finalized(height);
    } else {
      const block = reader.read(event);
      if (block === undefined) continue;
      // A gap in the heights means that events were lost, for example by a proxy. A new stream sends the lost events
      // again.
      if (block.height > chain.height() + 1) return;
      yield* chain.applied(block);
    }
  }
}

/**
 * Yields events until the signal is aborted. It is possible that a node sends no event for a long time, so the signal
 * must interrupt the wait for the next event.
 */
async function* abortable<T>(events: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = events[Symbol.asyncIterator]();
  let end: (() => void) | undefined;
  const abort = (): void => end?.();
  signal.addEventListener('abort', abort, { once: true });
  try {
    while (!signal.aborted) {
      // The function creates a new promise for each event. With one abort promise for all events, `Promise.race` would
      // keep every event in memory until that promise settles.
      const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        end = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // `iterator.return` can wait for a pending read that never ends, so the code does not await the result of
    // `iterator.return`.
    void iterator.return?.();
  }
}

async function refuseOtherNetwork(node: NodeAsker, { name, params }: SourceNetwork): Promise<void> {
  const [genesis] = await node.ask<readonly { readonly id: string }[]>('blocks?height=1');
  if (genesis?.id === params.genesisBlockId) return;
  throw new ProtocolError(
    'SINK_OF_OTHER_CHAIN',
    { node: node.base, genesisBlockId: genesis?.id },
    `${node.base} is not a node of ${name}: its genesis block is ${genesis?.id ?? 'unknown'}, not ${params.genesisBlockId}`,
  );
}
