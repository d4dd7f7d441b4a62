/** Limits of an address hold for all processes that answer together, whichever of them it comes to. */

import test, { type ExecutionContext } from 'ava';
import { REFUSALS_MAX } from '../../../src/http/admission/limits.ts';
import { HTTP_DEFAULTS, type HttpOptions } from '../../../src/http/options.ts';
import { LimitChannel } from '../../../src/node/readers/limit-channel.ts';
import { LimitEnd } from '../../../src/node/readers/limit-end.ts';
import type { FromReader } from '../../../src/node/readers/messages.ts';
import { systemClock } from '../../../src/node/system.ts';
import { requestBytes, serveBytes, STRANGER, type BareClient, type Dial } from '../../http/bare-client.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { waitFor } from '../../support/devnet.ts';

const PUBLIC = { access: { public: true, whiteList: ['127.0.0.1'] } };
const { limits } = HTTP_DEFAULTS;

/** Two servers whose limits are counted in one place, behind a channel that carries plain data alone, and not at once. */
async function setUpReaders(t: ExecutionContext, changed: Partial<HttpOptions['limits']>) {
  const options = { ...PUBLIC, limits: { ...limits, ...changed } };
  const channels = new Map<number, LimitChannel>();
  const end = new LimitEnd(options, (key) => {
    for (const channel of channels.values()) channel.shutOutElsewhere(key);
  });
  const dials: Dial[] = [];
  /** What the readers told a node that does not come to it. */
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
      const hear = (): void => {
        if (copy.kind === 'limits') channel.answered(structuredClone(end.heard(reader, copy.telling)));
      };
      if (unheard === undefined) setImmediate(hear);
      else unheard.push(hear);
    };
    const channel = new LimitChannel(send, systemClock);
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

test('an address has one rate at two processes, and a refused one is told when to come back', async (t) => {
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
    // The last that was let in had nothing left.
    t.is([...(clients[0]?.received ?? '').matchAll(/X-RateLimit-Limit: 30/g)].length, 40);
  }
});

test('strangers together have one rate at two processes', async (t) => {
  const { first, second } = await setUpReaders(t, { strangersTotalMax: 20 });
  const dials = [first, second];
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => statusOf(await (dials[at % 2] as Dial)(`127.0.0.${10 + at}`))),
  );
  t.is(statuses.filter((status) => status === 200).length, 20);
});

test('an address has so many connections at two processes together, and again as many when they are gone', async (t) => {
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
  await waitFor(
    'room for as many again',
    async () => {
      const client = await first();
      if ((await statusOf(client)) !== 200) throw new Error('not yet');
      client.socket.destroy();
      return true;
    },
    30_000,
  );
  // One process ends with all of its connections: they count no more.
  const held = await Promise.all(Array.from({ length: 6 }, () => first()));
  await Promise.all(held.map((client) => statusOf(client)));
  t.not(await statusOf(await second()), 200);
  end.forget(1);
  t.is(await statusOf(await second()), 200);
});

test('an address that is shut out of one process is shut out of the other, and its connections there end', async (t) => {
  const { first, second } = await setUpReaders(t, { strangerMax: 0, strangersTotalMax: 0 });
  const elsewhere = await second();
  t.is(await statusOf(elsewhere), 200);
  const offender = await first();
  // Each process by itself would take twice as many.
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

test('a client that goes while it is counted leaves nothing behind', async (t) => {
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

test('while the node that counts hangs, strangers are told to come back, and none waits or counts afterwards', async (t) => {
  const { first, second, hang, wake } = await setUpReaders(t, { connectionsPerAddressMax: 4 });
  const kept = await first();
  t.is(await statusOf(kept), 200);
  hang();
  const newcomer = await second();
  // One asks on a connection that stands, the other one has not been counted yet.
  const statuses = await Promise.all([statusOf(kept), newcomer.until(({ isEnded, isClosed }) => isEnded || isClosed)]);
  t.is(statuses[0], 503);
  t.regex(kept.received, /Retry-After: [1-9]/);
  t.deepEqual(newcomer.statuses, [503]);
  t.regex(newcomer.received, /Retry-After: [1-9]/);
  // From then on nobody waits.
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
  // The newcomer that was turned away was counted late, and given back: three more may come.
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
