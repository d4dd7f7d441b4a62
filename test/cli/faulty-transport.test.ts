/**
 * Tests faults of devnet links with the in-memory transport of the test kit. The tests set the time with a `FakeClock`.
 */

import test from 'ava';
import { FaultyTransport } from '../../src/cli/devnet/faulty-transport.ts';
import { DelayLine } from '../../src/cli/devnet/delay-line.ts';
import type { LinkFaults } from '../../src/cli/devnet/faults.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import type { NodeInfo, PeerMessage, TransportHandlers } from '../../src/ports/transport.ts';
import { MemoryNetwork } from '../../src/testing/memory-transport.ts';
import { FakeClock, seeded } from '../engine/peers/support.ts';

const PORTS = [5001, 5002] as const;
/** Delay of an answer. On a link with a fault, the time limit for an answer is shorter than this delay. */
const SLOW_ANSWER_MS = 15_000;
const INFO: NodeInfo = {
  os: 'linux',
  version: '3.0.2',
  wsPort: 0,
  httpPort: 0,
  protocolVersion: '2.0',
  nonce: '0123456789abcdef',
  height: 1,
};

interface Node {
  readonly transport: FaultyTransport;
  readonly peerId: string;
  /**
   * Received values in order: the height of a peer info, the first id of a `transactionIds` message, or the kind of
   * another message.
   */
  readonly heard: (number | string)[];
  readonly gone: string[];
}

/** Creates two nodes. The first one has dialled the second one. */
async function twoNodes(): Promise<{ clock: FakeClock; a: Node; b: Node; set(fault: Partial<LinkFaults>): void }> {
  const clock = new FakeClock();
  const memoryNetwork = new MemoryNetwork(clock);
  const nodeAt = async (wsPort: number): Promise<Node> => {
    const address = { ip: '127.0.0.1', wsPort };
    const over = memoryNetwork.transport(address);
    const transport = new FaultyTransport({ over, clock, random: seeded(wsPort), links: [] });
    const heard: (number | string)[] = [];
    const gone: string[] = [];
    transport.announce({ ...INFO, wsPort });
    const handlers: TransportHandlers = {
      answer: async (_, request) => {
        if (request.kind === 'tip') return { of: wsPort };
        await new Promise<void>((resolve) => void clock.after(SLOW_ANSWER_MS, resolve));
        return [];
      },
      message: (_, message) =>
        void heard.push(message.kind === 'transactionIds' ? (message.ids[0] ?? '') : message.kind),
      connected: () => undefined,
      disconnected: (_, __, { reason }) => void gone.push(reason),
      updated: (_, { height }) => void heard.push(height ?? -1),
      offence: () => undefined,
      admits: () => true,
      evict: () => undefined,
    };
    await transport.start(handlers);
    return { transport, peerId: `127.0.0.1:${wsPort}`, heard, gone };
  };
  const [a, b] = [await nodeAt(PORTS[0]), await nodeAt(PORTS[1])];
  await a.transport.connect({ ip: '127.0.0.1', wsPort: PORTS[1] });
  return {
    clock,
    a,
    b,
    set: (fault) => {
      const faults = { isCut: false, delayMs: 0, loss: 0, ...fault };
      a.transport.set([{ ...faults, wsPort: PORTS[1] }]);
      b.transport.set([{ ...faults, wsPort: PORTS[0] }]);
    },
  };
}

/** Waits until everything in transit has arrived. */
async function arrived(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  await arrived();
  await clock.advance(ms);
  await arrived();
}

function ids(id: string): PeerMessage {
  return { kind: 'transactionIds', ids: [id] };
}

/** Outcome of a request: its answer, its error code, or `waits` while it is pending. */
function outcomeOf(request: Promise<unknown>): { state: unknown } {
  const outcome: { state: unknown } = { state: 'waits' };
  request.then(
    (answer) => (outcome.state = answer),
    (error: unknown) => (outcome.state = codeOf(error)),
  );
  return outcome;
}

test('without a fault every message arrives', async (t) => {
  const { a, b } = await twoNodes();
  a.transport.send(b.peerId, ids('1'));
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 7 });
  t.deepEqual(await a.transport.request(b.peerId, { kind: 'tip' }), { of: PORTS[1] });
  await arrived();
  t.deepEqual([a.heard, b.heard], [[7], ['1']]);
});

test('on a link without a fault, the transport below sets the time-out of an answer', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  const first = outcomeOf(a.transport.request(b.peerId, { kind: 'peers' }));
  await pass(clock, SLOW_ANSWER_MS);
  t.deepEqual(first.state, []);
  // A fault that starts while a request is pending may drop the answer, so the request then gets a time limit.
  const second = outcomeOf(a.transport.request(b.peerId, { kind: 'peers' }));
  await pass(clock, 2_000);
  set({ isCut: true });
  await pass(clock, 9_999);
  t.is(second.state, 'waits');
  await pass(clock, 1);
  t.is(second.state, 'REQUEST_FAILED');
});

test('nothing crosses a cut link, connections stay open, and a request ends with its usual time-out', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ isCut: true });
  a.transport.send(b.peerId, ids('1'));
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 7 });
  const request = outcomeOf(a.transport.request(b.peerId, { kind: 'tip' }));
  await pass(clock, 9_999);
  t.is(request.state, 'waits');
  await pass(clock, 1);
  t.is(request.state, 'REQUEST_FAILED');
  t.deepEqual([a.heard, b.heard, a.gone], [[], [], []]);
  t.is(a.transport.connections().length, 1);
});

test('a cut at one end lets no message in or out at that end', async (t) => {
  const { a, b } = await twoNodes();
  a.transport.set([{ wsPort: PORTS[1], isCut: true, delayMs: 0, loss: 0 }]);
  a.transport.send(b.peerId, ids('1'));
  b.transport.send(a.peerId, ids('2'));
  await arrived();
  t.deepEqual([a.heard, b.heard], [[], []]);
});

test('no node dials across a cut link', async (t) => {
  const { clock, a, set } = await twoNodes();
  set({ isCut: true });
  const across = outcomeOf(a.transport.connect({ ip: '127.0.0.1', wsPort: PORTS[1] }));
  // The link to port 5003 has no fault, so the underlying transport sets the time limit of the dial.
  const elsewhere = outcomeOf(a.transport.connect({ ip: '127.0.0.1', wsPort: 5003 }));
  await arrived();
  t.deepEqual([across.state, elsewhere.state], ['DIAL_FAILED', 'waits']);
  await pass(clock, 5_000);
  t.is(elsewhere.state, 'DIAL_FAILED');
});

test('after the cut a node receives the last announcement of its peer, once', async (t) => {
  const { a, b, set } = await twoNodes();
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 5 });
  await arrived();
  set({ isCut: true });
  for (const height of [6, 7]) b.transport.announce({ ...INFO, wsPort: PORTS[1], height });
  await arrived();
  t.deepEqual(a.heard, [5]);
  set({});
  await arrived();
  t.deepEqual(a.heard, [5, 7]);
  set({});
  await arrived();
  t.deepEqual(a.heard, [5, 7]);
});

test('messages on the way when the link was cut do not arrive', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ delayMs: 500 });
  a.transport.send(b.peerId, ids('1'));
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 5 });
  const request = outcomeOf(a.transport.request(b.peerId, { kind: 'tip' }));
  await pass(clock, 100);
  set({ isCut: true });
  await pass(clock, 5_000);
  t.deepEqual([a.heard, b.heard, request.state], [[], [], 'waits']);
  set({});
  await pass(clock, 5_000);
  t.deepEqual([a.heard, b.heard, request.state], [[5], [], 'REQUEST_FAILED']);
});

test('a delay holds messages in one direction, requests in both, and keeps their order when it shrinks', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ delayMs: 150 });
  a.transport.send(b.peerId, ids('1'));
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 7 });
  const request = outcomeOf(a.transport.request(b.peerId, { kind: 'tip' }));
  await pass(clock, 149);
  t.deepEqual([a.heard, b.heard], [[], []]);
  set({ delayMs: 1 });
  a.transport.send(b.peerId, ids('2'));
  await pass(clock, 1);
  t.deepEqual([a.heard, b.heard, request.state], [[7], ['1', '2'], 'waits']);
  await pass(clock, 1);
  t.deepEqual(request.state, { of: PORTS[1] }, 'the answer takes as long as the link does then');
});

test('a request whose delay in both directions exceeds the time-out fails', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ delayMs: 6_000 });
  const request = outcomeOf(a.transport.request(b.peerId, { kind: 'tip' }));
  await pass(clock, 6_000);
  t.is(request.state, 'waits');
  await pass(clock, 4_000);
  t.is(request.state, 'REQUEST_FAILED');
  await pass(clock, 60_000);
  t.is(clock.waiting, 0);
});

test('a lossy link loses its share of messages and requests, and all others arrive', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ loss: 0.3 });
  const messages = 1_000;
  for (let count = 0; count < messages; count += 1) a.transport.send(b.peerId, ids(`${count}`));
  const requests = Array.from({ length: 200 }, () => outcomeOf(a.transport.request(b.peerId, { kind: 'tip' })));
  await pass(clock, 10_000);
  t.true(b.heard.length > 600 && b.heard.length < 800, `${b.heard.length} of ${messages}`);
  t.deepEqual(
    b.heard,
    [...b.heard].sort((x, y) => Number(x) - Number(y)),
  );
  // A request succeeds only if neither the request nor its answer is lost. The probability is 0.7 * 0.7 = 49 %.
  const answered = requests.filter(({ state }) => typeof state === 'object').length;
  t.true(answered > 70 && answered < 130, `${answered} of 200`);
  t.true(requests.every(({ state }) => state !== 'waits'));
});

test('a loss of 100 % loses all messages, and the last announcement arrives when the fault ends', async (t) => {
  const { a, b, set } = await twoNodes();
  set({ loss: 1 });
  b.transport.announce({ ...INFO, wsPort: PORTS[1], height: 9 });
  a.transport.send(b.peerId, ids('1'));
  await arrived();
  t.deepEqual([a.heard, b.heard], [[], []]);
  set({});
  await arrived();
  t.deepEqual([a.heard, b.heard], [[9], []]);
});

test('requests to a peer that leaves, or of a node that ends, fail at once and leave no timer', async (t) => {
  const { clock, a, b, set } = await twoNodes();
  set({ delayMs: 1_000 });
  const first = outcomeOf(a.transport.request(b.peerId, { kind: 'tip' }));
  const second = outcomeOf(b.transport.request(a.peerId, { kind: 'tip' }));
  await a.transport.close();
  await arrived();
  t.deepEqual([first.state, second.state], ['REQUEST_FAILED', 'REQUEST_FAILED']);
  t.deepEqual(b.gone, ['the peer has ended']);
  await pass(clock, 0);
  t.is(clock.waiting, 0);
});

test('the queue of a link holds a bounded amount of work', async (t) => {
  const clock = new FakeClock();
  const line = new DelayLine(clock, 3);
  const done: number[] = [];
  for (let count = 0; count < 5; count += 1) line.push(10, () => done.push(count));
  await clock.advance(10);
  t.deepEqual(done, [0, 1, 2]);
  line.push(0, () => done.push(9));
  t.deepEqual(done, [0, 1, 2, 9]);
});
