import { EventEmitter } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { FairScheduler } from '../../src/http/admission/fair-scheduler.ts';
import type { EventFilter } from '../../src/http/events/filter.ts';
import { createEventHub, type EventHub, type EventSink } from '../../src/http/events/hub.ts';
import { RECORDS_CACHED_MAX } from '../../src/http/events/log-feed.ts';
import { CHANGES_PER_LOOK_MAX } from '../../src/http/events/peer-changes.ts';
import { REPLAYS_MAX, REPLAYS_PER_ADDRESS_MAX, type LiveReplays } from '../../src/http/events/replays.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { WorkShare } from '../../src/primitives/work-share.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { ChainRecord } from '../../src/ports/chain-log.ts';
import type { NodeApi, NodeListener, PeerEntry } from '../../src/ports/node-api.ts';
import { until } from './event-subscribers.ts';
import { fakeNode, TIP, transactionOf, TRANSFER } from './fake-node.ts';
import { ManualClock } from './manual-clock.ts';

const EVERYTHING: EventFilter = {
  names: new Set(),
  address: undefined,
  delegate: undefined,
  finality: 'any',
  maySeeForging: false,
};
const STRANGER = { key: '192.0.2.1', isTrusted: false };
const OPERATOR = { key: '127.0.0.1', isTrusted: true };
const START = { sequence: 0, index: 0 };

/** A response that accepts all data. */
class Sink extends EventEmitter implements EventSink {
  writes = 0;
  text = '';
  destroyed = false;

  write(text: string): boolean {
    this.writes += 1;
    this.text += text;
    return true;
  }

  end(): void {
    this.emit('close');
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  count(name: string): number {
    return this.text.split(`event: ${name}\n`).length - 1;
  }
}

/** Creates a hub for a log of `blocks` blocks. The test controls how much main-thread time strangers get (`share`). */
function setUpHub(t: ExecutionContext, blocks: number, replays?: LiveReplays) {
  const clock = new ManualClock();
  const share = new WorkShare({ clock });
  const reads = { blocks: 0, peers: 0 };
  const fail = { peers: false };
  const listeners = new Set<NodeListener>();
  const peers: PeerEntry[] = [];
  const recordAt = (sequence: number): ChainRecord => ({
    sequence,
    kind: 'applied',
    height: sequence,
    blockId: TIP.id,
    finalizedBefore: 0,
    finalizedAfter: 0,
  });
  const api: NodeApi = {
    ...fakeNode(3).api,
    peers: () => {
      reads.peers += 1;
      // If `fail.peers` is true, the API behaves as in a reading process (a process that answers HTTP requests for the
      // node) whose requests to the node get no answer.
      return fail.peers ? Promise.reject(new Error('the node is silent')) : peers;
    },
    log: {
      last: () => blocks,
      floor: () => 1,
      finalized: () => 0,
      records: (from, limit) => {
        const first = Math.max(1, from);
        return Array.from({ length: Math.min(limit, blocks - first + 1) }, (_, index) => recordAt(first + index));
      },
      firstRevert: () => undefined,
      block: ({ height }) => {
        reads.blocks += 1;
        return { ...TIP, height, transactions: [] };
      },
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const scheduler = new FairScheduler({ clock, share });
  const events = { ...HTTP_DEFAULTS.events, lookMs: 60, subscribersMax: 1_000 };
  const hub = createEventHub(
    api,
    { generation: 3, strict: false },
    { ...events, observer: SILENT, scheduler, replays },
  );
  t.teardown(() => hub.close());
  return { clock, share, reads, fail, listeners, peers, hub };
}

function read(hub: EventHub, filter: Partial<EventFilter>, client = STRANGER, after?: typeof START): Sink | undefined {
  const sink = new Sink();
  const isAdded = hub.add(sink, { ...EVERYTHING, ...filter }, after, client);
  if (isAdded instanceof Promise) throw new Error('a hub that counts by itself answers at once');
  return isAdded ? sink : undefined;
}

test('blocks of the log are read only for subscribers that can use them', async (t) => {
  const { hub, reads } = setUpHub(t, 3_000);
  const names = [
    ['log/gap'],
    ['peers/connected', 'transactions/new'],
    ['blocks/delete'],
    ['finalized/change'],
  ] as const;
  for (const wanted of names) read(hub, { names: new Set(wanted) }, OPERATOR, START);
  read(hub, { finality: 'final' }, OPERATOR, START);
  const rounds = read(hub, { names: new Set(['rounds/change']) }, OPERATOR, START);
  await until(() => rounds?.count('rounds/change') === Math.floor(3_000 / 101), 'the rounds');
  // Only the last block of each round was read.
  t.is(reads.blocks, Math.floor(3_000 / 101));
});

test('a stream without follow ends with the last event in the log', async (t) => {
  const { hub } = setUpHub(t, 30);
  let isEnded = false;
  const sink = read(hub, { endsWithLog: true }, STRANGER, START);
  sink?.once('close', () => (isEnded = true));
  await until(() => isEnded, 'its end');
  t.is(sink?.count('blocks/new'), 30);
  const nothing = read(hub, { endsWithLog: true }, STRANGER);
  nothing?.once('close', () => (isEnded = false));
  await until(() => !isEnded, 'the end of one without events');
  t.is(nothing?.text, '');
});

test('reads for strangers wait for the time budget of strangers; trusted subscribers do not wait', async (t) => {
  const { hub, share, clock, reads } = setUpHub(t, 30);
  share.spend(40);
  const stranger = read(hub, {}, STRANGER, START);
  const operator = read(hub, {}, OPERATOR, START);
  await until(() => operator?.count('blocks/new') === 30, 'all blocks');
  t.is(stranger?.count('blocks/new'), 0);
  clock.pass(100);
  await until(() => stranger?.count('blocks/new') === 30, 'all blocks');
  t.is(reads.blocks, 30, 'what was made for one subscriber is sent to the next');
});

test('the number of replays of one address, and of all strangers, is limited', (t) => {
  const { hub } = setUpHub(t, RECORDS_CACHED_MAX + 1_000);
  const own = Array.from({ length: REPLAYS_PER_ADDRESS_MAX + 1 }, () => read(hub, {}, STRANGER, START));
  t.deepEqual(
    own.map((sink) => sink !== undefined),
    own.map((_, index) => index < REPLAYS_PER_ADDRESS_MAX),
  );
  t.truthy(read(hub, {}, STRANGER), 'who begins with the next event replays nothing');
  t.truthy(read(hub, { names: new Set(['log/gap']) }, STRANGER, START));
  const others = Array.from({ length: REPLAYS_MAX }, (_, index) =>
    read(hub, {}, { key: `address ${index}`, isTrusted: false }, START),
  );
  t.is(others.filter((sink) => sink !== undefined).length, REPLAYS_MAX - REPLAYS_PER_ADDRESS_MAX);
  t.truthy(read(hub, {}, OPERATOR, START));
  own[0]?.end();
  t.truthy(read(hub, {}, STRANGER, START), 'a place is free again');
});

test('a replay that another process counts starts after its answer, and is released when its client leaves', async (t) => {
  let answer: (may: boolean) => void = () => undefined;
  let ended = 0;
  const replays = {
    begin: () => new Promise<boolean>((resolve) => (answer = resolve)),
    end: () => void (ended += 1),
  };
  const { hub } = setUpHub(t, 3_000, replays);
  const add = (sink: Sink): boolean | Promise<boolean> => hub.add(sink, EVERYTHING, START, STRANGER);
  const [refused, gone, served] = [new Sink(), new Sink(), new Sink()];
  const isRefused = add(refused);
  answer(false);
  t.false(await isRefused);
  const isGone = add(gone);
  gone.destroy();
  answer(true);
  t.false(await isGone);
  t.is(ended, 1);
  const isServed = add(served);
  t.is(served.text, '');
  answer(true);
  t.true(await isServed);
  await until(() => served.count('blocks/new') === 3_000, 'all blocks');
  await until(() => ended === 2, 'the end of the replay');
});

test('events of one moment are written together, up to the limit of a connection', async (t) => {
  const { hub, listeners } = setUpHub(t, 0);
  const sinks = Array.from({ length: 20 }, () => read(hub, {}));
  for (let count = 0; count < 50_000; count += 1)
    for (const listener of listeners) listener.transactionReceived?.(transactionOf(3, TRANSFER));
  await until(() => (sinks[0]?.count('transactions/new') ?? 0) > 0, 'the transactions');
  for (const sink of sinks) {
    t.true((sink?.writes ?? 0) < 10, `${sink?.writes} writes`);
    t.true((sink?.text.length ?? 0) < 1_000_000, `${sink?.text.length} characters`);
  }
});

test('many new peers are reported completely, after several reads of the peer list', async (t) => {
  const { hub, peers, reads } = setUpHub(t, 0);
  const sink = read(hub, {});
  for (let port = 1; port <= 3 * CHANGES_PER_LOOK_MAX; port += 1)
    peers.push({ info: { ip: '192.0.2.9', wsPort: port }, state: 'connected' });
  await until(() => sink?.count('peers/connected') === peers.length, 'the peers');
  // The test counts reads instead of writes. On a slow machine, the hub may write the events of several reads together.
  t.true(reads.peers >= 3);
  peers.length = 0;
  await until(() => sink?.count('peers/disconnected') === 3 * CHANGES_PER_LOOK_MAX, 'their leaving');
});

test('if the state of the peers cannot be read at first, no peer is reported as new', async (t) => {
  const { hub, peers, reads, fail } = setUpHub(t, 0);
  peers.push({ info: { ip: '192.0.2.9', wsPort: 1 }, state: 'connected' });
  fail.peers = true;
  const sink = read(hub, {});
  await until(() => reads.peers >= 2, 'a failed check');
  fail.peers = false;
  const before = reads.peers;
  await until(() => reads.peers >= before + 3, 'the first checks with an answer');
  t.is(sink?.count('peers/connected'), 0);
  peers.push({ info: { ip: '192.0.2.9', wsPort: 2 }, state: 'connected' });
  await until(() => (sink?.count('peers/connected') ?? 0) > 0, 'the new peer');
  t.is(sink?.count('peers/connected'), 1);
});
