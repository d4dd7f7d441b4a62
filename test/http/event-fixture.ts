/**
 * A fake node with a real store and a real event log. The process of the test sends the event streams. If `processes`
 * is more than 0, reading processes (processes that answer HTTP requests for the node) send the event streams instead.
 */

import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { HttpOptions } from '../../src/http/options.ts';
import type { LocalNodeApi, NodeListener } from '../../src/ports/node-api.ts';
import type { Block } from '../../src/protocol/types.ts';
import { createChainLog } from '../../src/store/chain/chain-log.ts';
import { openChainStore, openMemoryChainStore } from '../../src/store/chain/open.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import { readyOf } from '../../src/node/node-api.ts';
import { systemClock } from '../../src/node/system.ts';
import { FAKE_CODEC } from '../support/fake-codec.ts';
import { openFront, PROCESSES, type Front } from '../support/http-front.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { Dice, nextStep } from '../store/world.ts';
import { EventSubscriber, until } from './event-subscribers.ts';
import { fakeNode, type Fake } from './fake-node.ts';

const FAKE_READER = fileURLToPath(new URL('../support/fake-reader-program.js', import.meta.url));

/**
 * URL queries of the subscribers. Each subscriber uses one query: the first subscriber uses the first query, and so on,
 * and after the last query the next subscriber uses the first query again. The last two queries start from the chain
 * instead of the event log.
 */
const QUERIES = [
  ...['', '', '', 'finality=any&types=blocks/new,blocks/delete'],
  ...['fromHeight=1', 'fromHeight=1&types=blocks/new,blocks/delete'],
];
const isOfBlocks = (index: number): boolean => QUERIES[index % QUERIES.length]?.includes('types') === true;

export interface EventFixture {
  readonly fake: Fake;
  readonly blocks: readonly Block[];
  readonly listeners: Set<NodeListener>;
  /** Reverts up to three blocks and appends random blocks, in one transaction of the store. May finalize blocks. */
  step(): void;
  append(count: number): void;
  revert(): void;
  finalize(height: number): void;
  serve(options?: Partial<HttpOptions>): Promise<string>;
  stop(): Promise<void>;
}

export interface EventFixtureOptions {
  readonly seed?: number;
  /** Largest number of records in the log. */
  readonly recordsMax?: number;
  /**
   * Number of reading processes (processes that answer HTTP requests for the node). If the number is 0, the process of
   * the test answers the requests. The number must be 0 in tests that replace or read objects of the process that
   * answers the requests.
   */
  readonly processes?: number;
  /** Returns the arrival time of a transaction in Unix milliseconds. By default all times are unknown. */
  readonly receivedAtOf?: (id: string) => number | undefined;
}

/** Creates a node with a real store and log. The test appends and reverts the blocks. */
export async function setUpEvents(
  t: ExecutionContext,
  { seed = 1, recordsMax = 100_000, processes = PROCESSES, receivedAtOf = () => undefined }: EventFixtureOptions = {},
): Promise<EventFixture> {
  const fake = fakeNode(3);
  const { params } = fake.api;
  const directory = processes === 0 ? undefined : temporaryFolder(t);
  const store =
    directory === undefined
      ? openMemoryChainStore({ codec: FAKE_CODEC, params })
      : await openChainStore({ directory, codec: FAKE_CODEC, params, clock: systemClock });
  let finalized = 0;
  const log = createChainLog(store, { finalizedHeight: () => finalized, recordsMax });
  const listeners = new Set<NodeListener>();
  const queries = createQueries(store, params);
  const api: LocalNodeApi = {
    ...fake.api,
    // Replaces the function of the fake node with the real `readyOf`, because the reading processes (processes that
    // answer HTTP requests for the node) also use the real `readyOf`.
    readyOf,
    receivedAtOf,
    confirmedTimes: () =>
      blocks.flatMap(({ transactions }) =>
        transactions.flatMap(({ id }) => {
          const timeMs = receivedAtOf(id);
          return timeMs === undefined ? [] : [[id, timeMs] as const];
        }),
      ),
    chain: queries,
    log,
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const dice = new Dice(seed);
  const blocks: Block[] = [];
  const fronts: Front[] = [];
  const changed = (applied: readonly Block[]) => {
    for (const listener of listeners) listener.chainChanged?.(applied);
  };
  const change = (appended: number, reverted: number) => {
    store.transact((writer) => {
      for (let i = 0; i < reverted; i += 1) {
        writer.revert();
        blocks.pop();
      }
      for (let i = 0; i < appended; i += 1) {
        const { block, apply } = nextStep(dice, writer.tip());
        writer.append(block, apply);
        blocks.push(block);
      }
    });
    changed(blocks.slice(blocks.length - appended));
  };
  const stop = async (): Promise<void> => {
    for (const front of fronts.splice(0)) await front.close();
  };
  t.teardown(async () => {
    await stop();
    await store.close();
  });
  return {
    fake: { ...fake, api },
    blocks,
    listeners,
    append: (count) => change(count, 0),
    revert: () => change(0, 1),
    step: () => {
      const reverted = dice.chance(30)
        ? Math.min(dice.below(4), Math.max(0, blocks.length - Math.max(finalized, 1)))
        : 0;
      change(reverted + dice.below(3), reverted);
      if (dice.chance(20)) finalized = Math.max(finalized, blocks.length - 4);
    },
    finalize: (height) => (finalized = height),
    serve: async (options = {}) => {
      const front = await openFront({ api, processes, directory, http: options, program: FAKE_READER });
      fronts.push(front);
      return front.origin;
    },
    stop,
  };
}

export interface RebuildOptions {
  /** Number of subscribers. */
  readonly count: number;
  /** Number of changes of the chain. */
  readonly steps: number;
  readonly processes?: number;
}

/**
 * Checks that subscribers rebuild the chain without gaps or duplicates, in spite of reconnects, reverts and restarts.
 */
export async function rebuildChain(
  t: ExecutionContext,
  { count, steps, processes = PROCESSES }: RebuildOptions,
): Promise<void> {
  const fixture = await setUpEvents(t, { seed: 7, processes });
  fixture.append(1);
  let origin = await fixture.serve();
  const dice = new Dice(8);
  const subscribers = Array.from({ length: count }, (_, index) => new EventSubscriber(QUERIES[index % QUERIES.length]));
  // At its first connection, each subscriber requests all events from the first block on: either from the start of the
  // log (`0.0`), or from height 1 of the chain (`fromHeight=1`).
  const connect = (subscriber: EventSubscriber, index: number): Promise<void> =>
    subscriber.connect(origin, subscriber.lastEventId ?? (index % QUERIES.length < 4 ? '0.0' : undefined));
  for (const [index, subscriber] of subscribers.entries()) if (index % 2 === 0) await connect(subscriber, index);
  for (let step = 0; step < steps; step += 1) {
    fixture.step();
    for (const [index, subscriber] of subscribers.entries()) {
      if (subscriber.isConnected && dice.chance(5)) subscriber.disconnect();
      else if (!subscriber.isConnected && dice.chance(30)) await connect(subscriber, index);
    }
    if (dice.chance(6)) {
      await fixture.stop();
      origin = await fixture.serve();
    }
  }
  const lastId = fixture.fake.api.log.last();
  for (const [index, subscriber] of subscribers.entries())
    if (!subscriber.isConnected) await connect(subscriber, index);
  fixture.append(1);
  const tip = fixture.blocks.at(-1);
  const expected = fixture.blocks.flatMap(({ transactions }) => transactions.map(({ id }) => id)).sort();
  // Reconnects the subscribers, as real clients reconnect. A stream can end, because the reader pool replaces a reader
  // that stops responding.
  const comeBack = (): void => {
    for (const [index, subscriber] of subscribers.entries())
      if (!subscriber.isConnected) connect(subscriber, index).catch(() => undefined);
  };
  await until(() => {
    comeBack();
    return subscribers.every(({ blocks }) => blocks.get(tip?.height ?? 0) === tip?.id);
  }, 'all subscribers').catch((error: unknown) => {
    const late = subscribers.flatMap((subscriber, index) => {
      const { blocks, isConnected, lastEventId, complaints } = subscriber;
      if (blocks.get(tip?.height ?? 0) === tip?.id) return [];
      return [
        `${index}: ${isConnected ? 'connected' : 'gone'}, ${blocks.size} blocks, at ${lastEventId}, ${complaints.join()}`,
      ];
    });
    throw new Error(`log at ${fixture.fake.api.log.last()}, ${tip?.height}: ${late.join('; ')}`, { cause: error });
  });
  await until(
    () => subscribers.every(({ transactions }, index) => isOfBlocks(index) || transactions.size === expected.length),
    'all transactions',
  );
  t.true(lastId > steps / 2);
  for (const [index, subscriber] of subscribers.entries()) {
    t.deepEqual(subscriber.complaints, []);
    t.deepEqual([...subscriber.blocks.values()].length, fixture.blocks.length);
    for (const { height, id } of fixture.blocks)
      if (subscriber.blocks.get(height) !== id) t.fail(`subscriber ${index} at ${height}`);
    if (!isOfBlocks(index)) t.deepEqual([...subscriber.transactions].sort(), expected);
    subscriber.disconnect();
  }
}
