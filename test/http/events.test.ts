import { createConnection } from 'node:net';
import test from 'ava';
import { storedEvents, refusalOf } from '../../src/http/events/stored-events.ts';
import type { NodeApi } from '../../src/ports/node-api.ts';
import { rebuildChain, setUpEvents } from './event-fixture.ts';
import { EventSubscriber, until, type ReceivedEvent } from './event-subscribers.ts';
import { ALICE_KEY, transactionOf, TRANSFER } from './fake-node.ts';

/** Number of changes of the chain in the test with many subscribers. */
const STEPS = Number(process.env['EVENT_STEPS'] ?? 80);
const SUBSCRIBERS = 100;
const namesOf = (subscriber: EventSubscriber) => subscriber.events.map(({ name }) => name);

test('a block sends events of itself, its transactions and the ended round; a revert sends their reversal', async (t) => {
  const fixture = await setUpEvents(t);
  const subscriber = new EventSubscriber();
  await subscriber.connect(await fixture.serve());
  fixture.append(101);
  await until(() => namesOf(subscriber).includes('rounds/change'), 'the end of the round');
  t.deepEqual(subscriber.events.at(-1)?.data, { number: 2 });
  t.is(subscriber.blocks.size, 101);
  t.is(
    subscriber.transactions.size,
    fixture.blocks.reduce((sum, { transactions }) => sum + transactions.length, 0),
  );
  const count = fixture.blocks.at(-1)?.transactions.length ?? 0;
  fixture.revert();
  await until(() => namesOf(subscriber).includes('blocks/delete'), 'the revert');
  t.deepEqual(namesOf(subscriber).slice(-count - 2), [
    ...Array.from({ length: count }, () => 'transactions/reverted'),
    'rounds/change',
    'blocks/delete',
  ]);
  t.is(subscriber.blocks.size, 100);
  t.deepEqual(subscriber.complaints, []);
  subscriber.disconnect();
});

test('a subscriber without a start position gets only the events to come', async (t) => {
  const fixture = await setUpEvents(t);
  fixture.append(5);
  const subscriber = new EventSubscriber();
  await subscriber.connect(await fixture.serve());
  fixture.append(1);
  await until(() => subscriber.blocks.size > 0, 'a block');
  t.deepEqual([...subscriber.blocks.keys()], [6]);
  subscriber.disconnect();
});

test('a subscriber that comes from a process with newer events continues at its position', async (t) => {
  const fixture = await setUpEvents(t, { processes: 0 });
  fixture.append(5);
  const { log } = fixture.fake.api;
  // In this test, the process that answers has not yet read the records 4 and 5 of the event log.
  let seen: number | undefined = 3;
  const refresh = (): void => {
    seen = undefined;
  };
  Object.assign(fixture.fake.api, { refresh, log: { ...log, last: () => seen ?? log.last() } });
  const subscriber = new EventSubscriber('finality=any&types=blocks/new');
  await subscriber.connect(await fixture.serve(), '5.0');
  fixture.append(1);
  await until(() => subscriber.blocks.size > 0, 'a block');
  t.deepEqual([...subscriber.blocks.keys()], [6]);
  t.deepEqual(subscriber.complaints, []);
  subscriber.disconnect();
});

test('a subscriber of final blocks gets blocks once they are final, and no reverts', async (t) => {
  const fixture = await setUpEvents(t);
  const subscriber = new EventSubscriber('finality=final');
  await subscriber.connect(await fixture.serve());
  fixture.append(6);
  fixture.revert();
  fixture.finalize(3);
  fixture.append(1);
  await until(() => namesOf(subscriber).includes('finalized/change'), 'finality');
  t.deepEqual([...subscriber.blocks.keys()], [1, 2, 3]);
  t.deepEqual(subscriber.events.at(-1)?.data, { height: 3 });
  t.false(namesOf(subscriber).includes('blocks/delete'));
  subscriber.disconnect();
});

test('types, addresses and delegates filter the events', async (t) => {
  const fixture = await setUpEvents(t);
  const origin = await fixture.serve();
  const generator = ALICE_KEY;
  const subscribers = {
    blocks: new EventSubscriber('types=blocks/new,blocks/delete'),
    address: new EventSubscriber(`types=transactions/new&address=12345L`),
    stranger: new EventSubscriber(`types=transactions/new&address=1L`),
    delegate: new EventSubscriber(`types=transactions/new&delegate=${generator.toUpperCase()}`),
  };
  for (const subscriber of Object.values(subscribers)) await subscriber.connect(origin);
  for (const listener of fixture.listeners) listener.transactionReceived?.(transactionOf(3, TRANSFER));
  fixture.append(4);
  await until(() => subscribers.blocks.events.length === 4 && subscribers.delegate.events.length === 1, 'the events');
  t.deepEqual(new Set(namesOf(subscribers.blocks)), new Set(['blocks/new']));
  t.is(subscribers.address.events.length, 1);
  t.is(subscribers.address.events[0]?.id, undefined);
  t.is(subscribers.stranger.events.length, 0);
  for (const subscriber of Object.values(subscribers)) subscriber.disconnect();
});

test('peer and forging events come on a change; forging events only to allowed subscribers', async (t) => {
  const fixture = await setUpEvents(t);
  const events = { subscribersMax: 5, stallMs: 1000, heartbeatMs: 20, lookMs: 10 };
  const origin = await fixture.serve({ events });
  const subscriber = new EventSubscriber();
  await subscriber.connect(origin);
  const { fake } = fixture;
  const info = { ip: '10.0.0.1', wsPort: 5000 };
  const real = fake.api as { -readonly [K in keyof NodeApi]: NodeApi[K] };
  real.peers = () => [{ info, state: 'connected' }];
  await until(() => namesOf(subscriber).includes('peers/connected'), 'the peer');
  real.peers = () => [];
  real.forgingDelegates = () => [{ publicKey: ALICE_KEY, forging: true }];
  await until(() => namesOf(subscriber).includes('forging/change'), 'forging');
  t.deepEqual(namesOf(subscriber), ['peers/connected', 'peers/disconnected', 'forging/change']);
  t.deepEqual(subscriber.events.at(-1)?.data, { publicKey: ALICE_KEY, forging: true });
  await fixture.stop();
  const closed = await fixture.serve({ events, forgingWhiteList: [] });
  const stranger = new EventSubscriber();
  await stranger.connect(closed);
  real.forgingDelegates = () => [{ publicKey: ALICE_KEY, forging: false }];
  real.peers = () => [{ info, state: 'connected' }];
  await until(() => stranger.events.length > 0, 'the peer');
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.deepEqual(namesOf(stranger), ['peers/connected']);
  stranger.disconnect();
});

test('events that are no longer kept, and a position of another log, are reported as a gap', async (t) => {
  const fixture = await setUpEvents(t, { recordsMax: 10 });
  fixture.append(30);
  const origin = await fixture.serve();
  for (const place of ['3.0', '4000.2']) {
    const subscriber = new EventSubscriber('types=blocks/new,log/gap');
    await subscriber.connect(origin, place);
    await until(() => subscriber.blocks.size === 10, 'what is kept');
    t.is(subscriber.events[0]?.name, 'log/gap');
    t.like(subscriber.events[0]?.data, { after: place, next: 21, height: 21 });
    t.deepEqual([...subscriber.blocks.keys()].slice(0, 2), [21, 22]);
    subscriber.disconnect();
  }
  // The member `next` of the gap event (here 21) is the number of the first record that the log still has. If a client
  // connects with the id `20.0`, which belongs to the record before it, the stream starts with record 21, without a gap
  // event.
  const resumed = new EventSubscriber('types=blocks/new,log/gap');
  await resumed.connect(origin, '20.0');
  await until(() => resumed.blocks.size === 10, 'what is kept');
  t.false(namesOf(resumed).includes('log/gap'));
  t.is([...resumed.blocks.keys()][0], 21);
  resumed.disconnect();
});

test('an id of another history of the chain is reported as a gap, even if the log has a record of that number', async (t) => {
  const query = 'types=blocks/new,log/gap';
  const [before, same, other] = [await setUpEvents(t), await setUpEvents(t), await setUpEvents(t)];
  for (const { append } of [before, same]) append(10);
  other.append(9);
  other.revert();
  for (const { append } of [same, other]) append(4);
  const origin = await before.serve();
  const [sameOrigin, otherOrigin] = [await same.serve(), await other.serve()];
  for (const start of ['lastEventId=0.0', 'fromHeight=1']) {
    const subscriber = new EventSubscriber(`${query}&${start}`);
    await subscriber.connect(origin);
    await until(() => subscriber.blocks.size === 10, 'the blocks');
    subscriber.disconnect();
    const id = subscriber.lastEventId ?? '';
    const continued = new EventSubscriber(query);
    await continued.connect(sameOrigin, id);
    await until(() => continued.blocks.size === 4, 'the later blocks');
    t.deepEqual([...continued.blocks.keys()], [11, 12, 13, 14]);
    t.false(namesOf(continued).includes('log/gap'));
    continued.disconnect();
    const astray = new EventSubscriber(query);
    await astray.connect(otherOrigin, id);
    await until(() => astray.blocks.has(12), 'the later blocks');
    t.is(astray.events[0]?.name, 'log/gap', `after ${id}`);
    t.like(astray.events[0]?.data, { after: id, next: 1, height: 1 });
    astray.disconnect();
    t.is([...storedEvents(other.fake.api, `${query}&lastEventId=${id}`)][0]?.event, 'log/gap');
    t.is([...storedEvents(same.fake.api, `${query}&lastEventId=${id}`)].length, 4);
  }
});

test('a subscriber that does not read is disconnected, and finds the missed events in the log', async (t) => {
  const fixture = await setUpEvents(t, { processes: 0 });
  const origin = await fixture.serve({ events: { subscribersMax: 5, stallMs: 100, heartbeatMs: 1000, lookMs: 20 } });
  const { port } = new URL(origin);
  const socket = createConnection(Number(port), '127.0.0.1');
  socket.write('GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  socket.on('error', () => undefined);
  await until(() => fixture.listeners.size === 1, 'the subscriber');
  fixture.append(5);
  // Kernel buffers hold megabytes. Large events about transactions fill the buffers faster than blocks, because blocks
  // take long to create.
  const keysgroup = Array.from({ length: 15 }, () => `+${ALICE_KEY}`);
  const large = transactionOf(3, { kind: 'multisignature', min: 2, lifetime: 24, keysgroup });
  for (let turn = 0; turn < 50_000 && fixture.listeners.size > 0; turn += 1) {
    for (let i = 0; i < 50; i += 1) for (const listener of fixture.listeners) listener.transactionReceived?.(large);
    if (turn % 100 === 0) fixture.append(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => fixture.listeners.size === 0, 'the subscriber to be cut');
  const subscriber = new EventSubscriber();
  await subscriber.connect(origin, '0.0');
  await until(() => subscriber.blocks.size === fixture.blocks.length, 'everything');
  t.deepEqual(subscriber.complaints, []);
  subscriber.disconnect();
  socket.destroy();
});

test('the header of a browser that reconnects counts more than the older id in its URL', async (t) => {
  const fixture = await setUpEvents(t);
  fixture.append(5);
  const origin = await fixture.serve();
  const heightsAfter = async (header: string): Promise<readonly number[]> => {
    const subscriber = new EventSubscriber('types=blocks/new&follow=false&lastEventId=2.0');
    await subscriber.connect(origin, header);
    await until(() => !subscriber.isConnected, 'the end of the stream');
    return [...subscriber.blocks.keys()];
  };
  t.deepEqual(await heightsAfter('4.0'), [5]);
  t.deepEqual(await heightsAfter('no id'), [3, 4, 5]);
});

test('a stream with wrong names or positions, or one stream too many, is refused', async (t) => {
  const fixture = await setUpEvents(t, { processes: 0 });
  const origin = await fixture.serve({ events: { subscribersMax: 1, stallMs: 1000, heartbeatMs: 1000, lookMs: 1000 } });
  const statusOf = async (query: string) => (await fetch(`${origin}/api/events?${query}`)).status;
  t.is(await statusOf('types=blocks/new,nothing'), 400);
  t.is(await statusOf('lastEventId=x'), 400);
  t.is(await statusOf('foo=1'), 400);
  t.is(await statusOf('finality=maybe'), 400);
  const subscriber = new EventSubscriber();
  await subscriber.connect(origin);
  const refused = await fetch(`${origin}/api/events`);
  t.is(refused.status, 503);
  t.is(refused.headers.get('retry-after'), '5');
  subscriber.disconnect();
  await until(() => fixture.listeners.size === 0, 'the subscriber to be gone');
});

test('a stream from a height has all blocks since, even those no longer in the log, and then new events', async (t) => {
  const fixture = await setUpEvents(t, { recordsMax: 10 });
  fixture.append(120);
  const subscriber = new EventSubscriber('fromHeight=7');
  const origin = await fixture.serve();
  await subscriber.connect(origin);
  await until(() => subscriber.blocks.size === 114, 'what is there');
  fixture.append(2);
  fixture.revert();
  await until(() => namesOf(subscriber).includes('blocks/delete'), 'the revert');
  t.deepEqual(
    [...subscriber.blocks],
    fixture.blocks.slice(6).map(({ height, id }) => [height, id]),
  );
  t.deepEqual(
    [...subscriber.transactions],
    fixture.blocks.slice(6).flatMap(({ transactions }) => transactions.map(({ id }) => id)),
  );
  t.is(namesOf(subscriber).filter((name) => name === 'rounds/change').length, 1);
  t.false(namesOf(subscriber).includes('log/gap'));
  t.deepEqual(subscriber.complaints, []);
  // The node reads the event `early` from the chain, not from the event log. The blocks above the block of this event
  // then change. The subscriber must nevertheless be able to resume after `early`.
  const early = subscriber.events.find(({ name, data }) => name === 'blocks/new' && data['height'] === 118);
  subscriber.disconnect();
  for (let i = 0; i < 3; i += 1) fixture.revert();
  fixture.append(1);
  const again = new EventSubscriber('fromHeight=7&types=blocks/new,blocks/delete');
  await again.connect(origin, early?.id);
  await until(() => again.blocks.size === 1 && again.events.length >= 8, 'what came since');
  t.deepEqual(
    again.events.map(({ name, data }) => `${name} ${String(data['height'])}`),
    [
      ...['blocks/new 119', 'blocks/new 120', 'blocks/new 121', 'blocks/new 122', 'blocks/delete 122'],
      ...['blocks/delete 121', 'blocks/delete 120', 'blocks/delete 119', 'blocks/new 119'],
    ],
  );
  again.disconnect();
});

test('the events read from a log without writers equal those of a stream', async (t) => {
  const fixture = await setUpEvents(t, { recordsMax: 10 });
  fixture.append(120);
  fixture.revert();
  fixture.append(2);
  const origin = await fixture.serve();
  for (const query of [
    'fromHeight=7',
    'fromHeight=115&types=blocks/new',
    'lastEventId=3.0',
    'lastEventId=120:119.0',
    'lastEventId=118:119.0',
  ]) {
    const subscriber = new EventSubscriber(query);
    await subscriber.connect(origin);
    const kept = [...storedEvents(fixture.fake.api, query)];
    t.true(kept.length > 5);
    await until(() => subscriber.events.length >= kept.length, 'what there is');
    t.deepEqual(
      subscriber.events.map(({ id, name, data }) => ({ id, name, data })),
      kept.map(({ id, event, data }) => ({
        id,
        name: event,
        data: JSON.parse(JSON.stringify(data)) as ReceivedEvent['data'],
      })),
    );
    subscriber.disconnect();
  }
  const error = t.throws(() => [...storedEvents(fixture.fake.api, 'fromHeight=200')]);
  t.is(refusalOf(error, fixture.fake.api), 'The chain has no block of height 199 yet.');
});

test('a stream of final blocks from a height has only final blocks, up to the finalized height', async (t) => {
  const fixture = await setUpEvents(t);
  fixture.append(20);
  fixture.finalize(12);
  fixture.append(1);
  const origin = await fixture.serve();
  const subscriber = new EventSubscriber('finality=final&fromHeight=5');
  await subscriber.connect(origin);
  await until(() => namesOf(subscriber).includes('finalized/change'), 'what is final');
  t.deepEqual([...subscriber.blocks.keys()], [5, 6, 7, 8, 9, 10, 11, 12]);
  t.deepEqual(subscriber.events.at(-1)?.data, { height: 12 });
  fixture.finalize(14);
  fixture.append(1);
  await until(() => subscriber.blocks.size === 10, 'the next ones');
  t.deepEqual([...subscriber.blocks.keys()].slice(-2), [13, 14]);
  subscriber.disconnect();
  const statusOf = async (query: string) => (await fetch(`${origin}/api/events?${query}`)).status;
  t.is(await statusOf('finality=final&fromHeight=16'), 400);
  t.is(await statusOf('fromHeight=24'), 400);
  t.is(await statusOf('fromHeight=0'), 400);
  t.is(await statusOf('fromHeight=x'), 400);
  const next = new EventSubscriber('fromHeight=23');
  await next.connect(origin);
  fixture.append(1);
  await until(() => next.blocks.size === 1, 'the next block');
  t.deepEqual([...next.blocks.keys()], [23]);
  next.disconnect();
});

// Run this test serially. All tests of a file share one thread, so parallel tests would exceed their timeouts.
test.serial(
  `${SUBSCRIBERS} subscribers with disconnects, restarts and reverts rebuild the chain without gap or duplicate`,
  (t) => rebuildChain(t, { count: SUBSCRIBERS, steps: STEPS }),
);
