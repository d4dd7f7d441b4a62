/** Tests that the HTTP limits hold for the requests to all reading processes together. */

import test, { type ExecutionContext } from 'ava';
import { REFUSALS_MAX } from '../../../src/http/admission/limits.ts';
import { REPLAYS_PER_ADDRESS_MAX } from '../../../src/http/events/replays.ts';
import { HTTP_DEFAULTS, type HttpOptions } from '../../../src/http/options.ts';
import { LimitClient } from '../../../src/node/readers/limit-client.ts';
import { LimitServer } from '../../../src/node/readers/limit-server.ts';
import type { FromReader, ToReader } from '../../../src/node/readers/messages.ts';
import { readMessage } from '../../../src/node/readers/reader-message.ts';
import { systemClock } from '../../../src/node/system.ts';
import { requestBytes, serveBytes, STRANGER, type BareClient, type Dial } from '../../http/bare-client.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { waitFor } from '../../support/devnet.ts';

const PUBLIC = { access: { public: true, whiteList: ['127.0.0.1'] } };
const { limits } = HTTP_DEFAULTS;

/**
 * Starts two HTTP servers that act as two reading processes, and one limit server that acts as the node. The limit
 * server gets a copy of each message in a later iteration of the event loop, as if the message came from another
 * process.
 */
async function setUpReaders(t: ExecutionContext, changed: Partial<HttpOptions['limits']>) {
  const options = { ...PUBLIC, limits: { ...limits, ...changed } };
  const channels = new Map<number, LimitClient>();
  const deliver = (reader: number, message: ToReader): void => {
    const { kind } = message;
    if (kind === 'shutOut' || kind === 'full' || kind === 'makeRoom') channels.get(reader)?.receive(message);
  };
  const end = new LimitServer(options, deliver, (message) => {
    for (const reader of channels.keys()) deliver(reader, message);
  });
  const dials: Dial[] = [];
  /**
   * While the node hangs, this list contains a function for each message that a reader has sent: the function delivers
   * the message to the node. Undefined while the node responds.
   */
  let unheard: (() => void)[] | undefined;
  const hang = (): void => void (unheard = []);
  const wake = (): void => {
    const late = unheard ?? [];
    unheard = undefined;
    for (const each of late) each();
  };
  for (const reader of [1, 2]) {
    const send = (message: FromReader): void => {
      const copy = structuredClone(message);
      t.false('wrong' in readMessage(copy), JSON.stringify(copy));
      const hear = (): void => {
        if (copy.kind === 'limits') channel.answered(structuredClone(end.take(reader, copy.report)));
      };
      if (unheard === undefined) setImmediate(hear);
      else unheard.push(hear);
    };
    const channel = new LimitClient(send, systemClock);
    channels.set(reader, channel);
    dials.push(await serveBytes(t, fakeNode(3), { ...options, shared: channel }));
  }
  const [first, second] = dials;
  if (first === undefined || second === undefined) throw new Error('two servers');
  return { first, second, end, channels, hang, wake };
}

const ASK = requestBytes('GET /api/node/constants');

async function statusOf(client: BareClient): Promise<number | undefined> {
  const { length } = client.statuses;
  client.write(ASK);
  await client.until(({ statuses, isClosed, isEnded }) => statuses.length > length || isClosed || isEnded);
  return client.statuses[length];
}

test('an address has one rate limit over two processes, and a refusal says when to retry', async (t) => {
  for (const from of [STRANGER, '127.0.0.1']) {
    const { first, second } = await setUpReaders(t, { max: 30 });
    const clients = [await first(from), await second(from)];
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 40; round += 1) {
      statuses.push(...(await Promise.all(clients.map((client) => statusOf(client)))));
    }
    t.is(statuses.filter((status) => status === 200).length, 30, from);
    t.is(statuses.filter((status) => status === 429).length, 50, from);
    for (const client of clients) t.regex(client.received, /Retry-After: [1-9]/);
    t.is([...(clients[0]?.received ?? '').matchAll(/X-RateLimit-Limit: 30/g)].length, 40);
  }
});

test('all strangers have one rate limit over two processes', async (t) => {
  const { first, second } = await setUpReaders(t, { strangersTotalMax: 20 });
  const dials = [first, second];
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => statusOf(await (dials[at % 2] as Dial)(`127.0.0.${10 + at}`))),
  );
  t.is(statuses.filter((status) => status === 200).length, 20);
});

test('an address has one connection limit over two processes, and gets free places again', async (t) => {
  const { first, second, end } = await setUpReaders(t, { connectionsPerAddressMax: 6 });
  const open = async (): Promise<readonly BareClient[]> => {
    const clients = await Promise.all(Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? first() : second())));
    await Promise.all(clients.map((client) => statusOf(client)));
    return clients.filter(({ isEnded, isClosed }) => !isEnded && !isClosed);
  };
  const stayed = await open();
  t.is(stayed.length, 6);
  for (const client of stayed) t.deepEqual(client.statuses, [200]);
  for (const { socket } of stayed) socket.destroy();
  // The processes notice one after the other that the connections have ended.
  await waitFor(
    'room for as many again',
    async () => {
      const held = await Promise.all(Array.from({ length: 6 }, () => first()));
      const statuses = await Promise.all(held.map((client) => statusOf(client)));
      if (statuses.every((status) => status === 200)) return true;
      for (const { socket } of held) socket.destroy();
      throw new Error(statuses.join(' '));
    },
    30_000,
  );
  // When a reading process ends, its connections no longer count towards the limit of the address.
  t.not(await statusOf(await second()), 200);
  end.forget(1);
  t.is(await statusOf(await second()), 200);
});

test('an address blocked by one process is blocked by the other, which closes its connections', async (t) => {
  const { first, second } = await setUpReaders(t, { strangerMax: 0, strangersTotalMax: 0 });
  const elsewhere = await second();
  t.is(await statusOf(elsewhere), 200);
  const offender = await first();
  // The test sends the requests to both processes in turn, and each process refuses only half of them. If each process
  // counted only its own refusals, neither would block the address.
  for (let count = 0; count <= REFUSALS_MAX && !offender.isClosed; count += 1) {
    const client = count % 2 === 0 ? offender : elsewhere;
    client.write(requestBytes('GET /api/nothing'));
    await client.until(({ statuses, isClosed }) => isClosed || statuses.length > Math.floor(count / 2));
  }
  await elsewhere.until(({ isClosed }) => isClosed);
  await offender.until(({ isClosed }) => isClosed);
  t.not(await statusOf(await second()), 200);
  t.is(await statusOf(await second('127.0.0.3')), 200, 'others are served');
});

test('a client that disconnects while it is counted leaves nothing behind', async (t) => {
  const { first, second } = await setUpReaders(t, { connectionsPerAddressMax: 3 });
  for (let count = 0; count < 30; count += 1) (await first()).socket.destroy();
  const taken = await waitFor(
    'three connections',
    async () => {
      const clients = [await first(), await second(), await first()];
      const statuses = await Promise.all(clients.map((client) => statusOf(client)));
      for (const { socket } of clients) socket.destroy();
      if (statuses.some((status) => status !== 200)) throw new Error(statuses.join());
      return statuses.length;
    },
    30_000,
  );
  t.is(taken, 3);
});

test('while the counting node hangs, strangers are told to retry, and none waits or counts afterwards', async (t) => {
  const { first, second, hang, wake } = await setUpReaders(t, { connectionsPerAddressMax: 4 });
  const kept = await first();
  t.is(await statusOf(kept), 200);
  hang();
  const newcomer = await second();
  // The node has already counted the connection `kept`, but not yet the connection `newcomer`.
  const statuses = await Promise.all([statusOf(kept), newcomer.until(({ isEnded, isClosed }) => isEnded || isClosed)]);
  t.is(statuses[0], 503);
  t.regex(kept.received, /Retry-After: [1-9]/);
  t.deepEqual(newcomer.statuses, [503]);
  t.regex(newcomer.received, /Retry-After: [1-9]/);
  // A limit check has timed out. The first process therefore refuses the next request, and makes no new limit check for
  // it.
  t.is(await statusOf(kept), 503);
  wake();
  await waitFor(
    'answers again',
    async () => {
      if ((await statusOf(kept)) !== 200) throw new Error('not yet');
      return true;
    },
    30_000,
  );
  // The node has counted the refused connection `newcomer` late, and has then removed it from the count. The limit is
  // four connections, so the node allows three more connections beside `kept`.
  await waitFor(
    'three connections beside the first',
    async () => {
      const clients = [await first(), await second(), await second()];
      const seen = await Promise.all(clients.map((client) => statusOf(client)));
      for (const { socket } of clients) socket.destroy();
      if (seen.some((status) => status !== 200)) throw new Error(seen.join());
      return true;
    },
    30_000,
  );
});

test('an address with many connections at one process loses an idle one to a newcomer at the other', async (t) => {
  const { first, second } = await setUpReaders(t, { connectionsMax: 20, connectionsPerAddressMax: 18 });
  const hogs = await Promise.all(Array.from({ length: 16 }, () => second('127.0.0.9')));
  for (const hog of hogs) t.is(await statusOf(hog), 200);
  const small = await Promise.all([first('127.0.0.10'), first('127.0.0.10')]);
  for (const client of small) t.is(await statusOf(client), 200);
  // A tenth of the 20 connections is reserved for trusted clients. The clients above are not trusted, and already have
  // the 18 connections that are not reserved.
  const newcomer = await first('127.0.0.11');
  t.is(await statusOf(newcomer), 200);
  t.is(hogs.filter(({ isClosed, isEnded }) => isClosed || isEnded).length, 1);
  for (const client of small) t.is(await statusOf(client), 200, 'an address with few connections keeps them');
  const greedy = await first('127.0.0.9');
  t.is(await statusOf(greedy), 503, 'the address with the most connections gets no more');
});

test('trusted clients have one connection limit over two processes', async (t) => {
  const { first, second } = await setUpReaders(t, { connectionsMax: 10 });
  const clients = [];
  for (let count = 0; count < 5; count += 1) clients.push(await first('127.0.0.1'), await second('127.0.0.1'));
  for (const client of clients) t.is(await statusOf(client), 200);
  await waitFor(
    'a refusal at both',
    async () => {
      for (const dial of [first, second]) {
        const more = await dial('127.0.0.1');
        const status = await statusOf(more);
        more.socket.destroy();
        if (status !== 503) throw new Error(`${status}`);
      }
      return true;
    },
    30_000,
  );
  clients[0]?.socket.destroy();
  await waitFor(
    'a place again, at the other one',
    async () => {
      const client = await second('127.0.0.1');
      const status = await statusOf(client);
      client.socket.destroy();
      if (status !== 200) throw new Error(`${status}`);
      return true;
    },
    30_000,
  );
});

test('an address has one limit of event replays over two processes, and gets a free place when one ends', async (t) => {
  const { channels, end } = await setUpReaders(t, {});
  const [first, second] = [channels.get(1), channels.get(2)];
  if (first === undefined || second === undefined) throw new Error('two channels');
  const begun = await Promise.all(
    Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? first : second).replay('an address')),
  );
  t.is(begun.filter(Boolean).length, REPLAYS_PER_ADDRESS_MAX);
  first.replayEnded('an address');
  await waitFor(
    'a place for another one',
    async () => ((await second.replay('an address')) ? true : Promise.reject(new Error('no'))),
    30_000,
  );
  t.false(await second.replay('an address'));
  end.forget(2);
  t.true(await first.replay('an address'));
});

test('a report with a count above the number of connections and replays only ends those that are counted', (t) => {
  const options = { ...PUBLIC, limits: { ...limits, connectionsPerAddressMax: 5 } };
  const end = new LimitServer(
    options,
    () => undefined,
    () => undefined,
  );
  const nothing = { trusted: 0, left: [], replaysEnded: [], refused: [], shutOut: [], asks: [] };
  const key = 'an address';
  const ask = (reader: number, connections: number, replays: number): readonly unknown[] => {
    const keys = Array.from({ length: connections }, () => ({ key }));
    return end.take(reader, {
      ...nothing,
      asks: [...keys, ...Array.from({ length: replays }, () => ({ replay: key }))],
    });
  };
  t.deepEqual(ask(1, 3, 2), [null, null, null, null, null]);
  t.deepEqual(ask(2, 3, 3), [null, null, 'address_connections', null, null, 'replays']);
  const startMs = performance.now();
  const many = [[key, Number.MAX_SAFE_INTEGER]] as const;
  end.take(1, { ...nothing, left: many, replaysEnded: many });
  t.true(performance.now() - startMs < 1_000);
  // The report has ended all connections and replays (event streams that still send old events) of reader 1. The two
  // connections and the two replays of reader 2 still count towards the limits of the address.
  t.deepEqual(ask(1, 4, 3), [null, null, null, 'address_connections', null, null, 'replays']);
});
