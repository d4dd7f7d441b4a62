/**
 * Tests the memory of downloaded blocks. The blocks must take no more memory than the node's budget for them
 * (`node/memory-budget.ts`). The memory of blocks that nothing needs any more must be released.
 */

import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';

import { loadConfig } from '../../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../../src/config/network.ts';
import { approximateJsonBytes, batchBytesMax } from '../../../src/engine/sync/arrived-batches.ts';
import { downloadAfter } from '../../../src/engine/sync/download.ts';
import { budgetsOf } from '../../../src/node/memory-budget.ts';
import { FRAME_BYTES_MAX } from '../../../src/p2p/frame-validation.ts';
import type { AnswerTo, PeerRequest } from '../../../src/ports/transport.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { ChainMaker } from '../../support/chain-maker.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';

const MB = 1_000_000;
const BLOCKS = 100;
const KEYS = 15;

let count = 0;

/** Hexadecimal text that no other call returns. */
function hex(bytes: number): string {
  count += 1;
  return createHash('sha512')
    .update(String(count))
    .digest('hex')
    .slice(0, 2 * bytes);
}

/**
 * A registration of a multisignature group with invalid signatures, as JSON. Any peer can send it in a block, because
 * the node keeps downloaded blocks in memory before it validates them.
 */
function registration(): object {
  const keysgroup = Array.from({ length: KEYS }, () => `+${hex(32)}`);
  return { type: 12, senderPublicKey: hex(32), signature: hex(64), asset: { min: 2, lifetime: 24, keysgroup } };
}

/** JSON text of blocks that a peer sends. The blocks have small objects, which need more memory than their JSON. */
function answer(maker: ChainMaker): string {
  const block = { ...maker.rules.codec.blockToJson(maker.network.genesis), previousBlockId: '1' };
  return JSON.stringify(
    Array.from({ length: BLOCKS }, () => ({ ...block, transactions: Array.from({ length: 20 }, registration) })),
  );
}

/** Returns a function that collects garbage. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

test.serial('blocks that a stopped consumer has not taken are released, even if a peer is still silent', async (t) => {
  const collect = collector();
  const maker = new ChainMaker();
  maker.growTo(16);
  const { codec } = maker.rules;
  /** Height of the first of the two blocks in each answer. */
  const heights = [2, 4, 6, 8, 10, 12, 14];
  const arrived: WeakRef<Block>[] = [];
  /**
   * Answers the last request to the peer. While this function exists, the objects that wait for the answer stay in
   * memory.
   */
  let settle: ((answer: unknown[]) => void) | undefined;
  const download = downloadAfter(maker.network.genesis, {
    syncPeer: 'peer',
    sameTipPeers: () => [],
    isSyncPeerConnected: () => true,
    joinsAnswers: () => true,
    transport: {
      request: <R extends PeerRequest>() => {
        const height = heights.shift();
        const answer = new Promise<unknown[]>((resolve) => {
          if (height === undefined) settle = resolve;
          else resolve([height, height + 1].map((each) => codec.blockToJson(maker.state.block(each)!)));
        });
        return answer as unknown as Promise<AnswerTo<R>>;
      },
    },
    clock: new VirtualTime(0).clock(),
    codec,
    peerFailed: () => undefined,
    prepare: (blocks) => {
      arrived.push(...blocks.map((block) => new WeakRef(block)));
      return Promise.resolve();
    },
  });
  await download.next();
  const isSilent = (): boolean => settle !== undefined;
  for (let turn = 0; turn < 100 && !isSilent(); turn += 1) await yieldToOthers();
  t.is(arrived.length, 14);
  await download.return();
  await yieldToOthers();
  collect();
  await yieldToOthers();
  collect();
  const held = arrived.flatMap((ref) => ref.deref()?.height ?? []);
  t.deepEqual(held, []);
  settle?.([]);
});

function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test.serial('downloaded blocks of small objects fit into the budget', (t) => {
  const collect = collector();
  const used = (): number => {
    for (let times = 0; times < 3; times += 1) collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const maker = new ChainMaker();
  const { codec } = maker.rules;
  const read = (text: string): { readonly bytes: number; readonly blocks: readonly Block[] } => {
    const decoded = (JSON.parse(text) as unknown[]).map((each) => codec.blockFromJson(each));
    return { bytes: approximateJsonBytes(decoded), blocks: decoded };
  };
  // V8 compiles code during this first call of `read`, so the call comes before the measurement.
  read(answer(maker));
  const before = used();
  const kept: (readonly Block[])[] = [];
  let bytes = 0;
  while (bytes < batchBytesMax(0)) {
    const batch = read(answer(maker));
    t.true(batch.bytes < FRAME_BYTES_MAX);
    kept.push(batch.blocks);
    bytes += batch.bytes;
  }
  const taken = used() - before;
  const config = loadConfig({
    network: loadNetwork(packagedNetworkDirectory('devnet')),
    environment: {},
    flags: new Map(),
  });
  const budget = budgetsOf(config).find(({ name }) => name === 'downloaded blocks')?.bytesMax ?? 0;
  const figures = `${Math.round(taken / MB)} MB for ${Math.round(bytes / MB)} MB of JSON, budget ${Math.round(budget / MB)} MB`;
  t.log(figures);
  t.true(taken < budget, figures);
});
