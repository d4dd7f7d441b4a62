import test from 'ava';
import { Buffers } from '../../src/http/admission/buffers.ts';
import { clientKey } from '../../src/http/admission/client-address.ts';
import { Connections } from '../../src/http/admission/connections.ts';
import { REFUSALS_MAX, SHUT_OUT_MS, WINDOW_MS } from '../../src/http/admission/limits.ts';
import { AddressRecords } from '../../src/http/admission/address-records.ts';
import { FairScheduler } from '../../src/http/admission/fair-scheduler.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { createRateLimit } from '../../src/http/rate-limit.ts';
import { WorkShare } from '../../src/primitives/work-share.ts';
import { ManualClock } from './manual-clock.ts';

test('an IPv4 address in any notation is one client, and so is an IPv6 /64', (t) => {
  for (const [address, key] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ] as const) {
    t.is(clientKey(address), key, address);
  }
});

test('the number of connections of one address is limited', (t) => {
  const connections = new Connections<FakePlace>({ connectionsMax: 100, connectionsPerAddressMax: 2 });
  for (let count = 0; count < 2; count += 1) connections.add(new FakePlace('a'));
  t.is(connections.refusalReason('a', false), 'address_connections');
  t.is(connections.refusalReason('b', false), undefined);
});

test('strangers cannot use the connections reserved for trusted clients', (t) => {
  const connections = new Connections<FakePlace>({ connectionsMax: 100, connectionsPerAddressMax: 100 });
  for (let count = 0; count < 90; count += 1) connections.add(new FakePlace('a', { isIdle: false }));
  t.is(connections.refusalReason('b', false), 'connections');
  for (let count = 0; count < 10; count += 1) {
    t.is(connections.refusalReason('trusted', true), undefined);
    connections.add(new FakePlace('trusted', { isTrusted: true }));
  }
  t.is(connections.refusalReason('trusted', true), 'connections');
});

test('the address with most connections loses its oldest idle one to a newcomer', (t) => {
  const connections = new Connections<FakePlace>({ connectionsMax: 10, connectionsPerAddressMax: 100 });
  const busy = new FakePlace('greedy', { isIdle: false });
  const own = [busy, ...Array.from({ length: 6 }, () => new FakePlace('greedy'))];
  const others = [new FakePlace('x'), new FakePlace('y')];
  for (const place of [...own, ...others]) connections.add(place);
  t.is(connections.refusalReason('new', false), undefined);
  t.deepEqual(
    [...own, ...others].map(({ isCut }) => isCut),
    [false, true, false, false, false, false, false, false, false],
  );
  connections.add(new FakePlace('new'));
  t.is(connections.strangers, 9);
  t.is(connections.refusalReason('greedy', false), 'connections');
});

test('above the total byte limit, the largest connection of the address with most bytes is closed', (t) => {
  const buffers = new Buffers(1_000);
  const [small, large, single, trusted] = [
    new FakePlace('greedy'),
    new FakePlace('greedy'),
    new FakePlace('other'),
    new FakePlace('own', { isTrusted: true }),
  ];
  buffers.hold(trusted, 5_000);
  buffers.hold(small, 200);
  buffers.hold(large, 350);
  buffers.hold(single, 400);
  t.is(buffers.bytes, 950);
  buffers.hold(single, 460);
  t.deepEqual(
    [small, large, single, trusted].map(({ isCut }) => isCut),
    [false, true, false, false],
  );
  t.is(buffers.bytes, 660);
  buffers.hold(small, 0);
  t.is(buffers.bytes, 460);
});

test('an address that continues after refusals is blocked for a while', (t) => {
  const clock = new ManualClock();
  const records = new AddressRecords(clock, 1_000);
  for (let refusal = 0; refusal < REFUSALS_MAX; refusal += 1) t.false(records.refuse('a'));
  t.is(records.arrive('a'), undefined);
  t.true(records.refuse('a'));
  t.is(records.arrive('a'), 'shut_out');
  t.is(records.arrive('b'), undefined);
  clock.pass(SHUT_OUT_MS);
  t.is(records.arrive('a'), undefined);
});

test('rare refusals block no address', (t) => {
  const clock = new ManualClock();
  const records = new AddressRecords(clock, 1_000);
  for (let refusal = 0; refusal < 10 * REFUSALS_MAX; refusal += 1) {
    t.false(records.refuse('a'));
    clock.pass(WINDOW_MS / REFUSALS_MAX);
  }
});

test('the number of new connections of an address in a window is limited', (t) => {
  const clock = new ManualClock();
  const records = new AddressRecords(clock, 2);
  t.deepEqual([records.arrive('a'), records.arrive('a'), records.arrive('a')], [undefined, undefined, 'arrivals']);
  clock.pass(WINDOW_MS);
  t.is(records.arrive('a'), undefined);
});

test('a request runs at once while there is time for it', (t) => {
  const clock = new ManualClock();
  const scheduler = new FairScheduler({ clock, share: new WorkShare({ clock, share: 0.5, burstMs: 10 }) });
  let done = 0;
  for (let work = 0; work < 5; work += 1) scheduler.take('a', () => (done += 1));
  t.is(done, 5);
});

test('requests above the share of time wait, and addresses take turns', async (t) => {
  const clock = new ManualClock();
  const scheduler = new FairScheduler({ clock, share: new WorkShare({ clock, share: 0.5, burstMs: 10 }) });
  const done: string[] = [];
  const ask = (address: string, name: string): void =>
    scheduler.take(address, () => {
      done.push(name);
      clock.spend(20);
    });
  ask('flood', 'flood 1');
  await clock.settle();
  for (let number = 2; number <= 6; number += 1) ask('flood', `flood ${number}`);
  ask('other', 'other');
  t.deepEqual(done, ['flood 1']);
  const startMs = clock.nowMs();
  while (done.length < 7) await clock.next();
  t.deepEqual(done.slice(0, 3), ['flood 1', 'flood 2', 'other']);
  t.is(done.at(-1), 'flood 6');
  // The six waiting requests take 120 ms of processing. Between them, the scheduler leaves about 120 ms for other work.
  t.true(clock.nowMs() - startMs >= 220, String(clock.nowMs() - startMs));
});

test('a clock that is set back prolongs no refusal', (t) => {
  // The window is long enough for two requests on a busy machine.
  const windowMs = 1000;
  const limit = createRateLimit({ ...HTTP_DEFAULTS.limits, max: 1, windowMs });
  const now = Date.now;
  try {
    t.false(limit.take('192.0.2.1').isRefused);
    t.true(limit.take('192.0.2.1').isRefused);
    Date.now = () => now() - 3_600_000;
    const startMs = performance.now();
    while (performance.now() - startMs < 1.1 * windowMs);
    t.false(limit.take('192.0.2.1').isRefused);
  } finally {
    Date.now = now;
  }
});

test('addresses of one /64 share a limit', (t) => {
  const limit = createRateLimit({ ...HTTP_DEFAULTS.limits, max: 1 });
  t.false(limit.take('2001:db8::1').isRefused);
  t.true(limit.take('2001:db8::2').isRefused);
  t.false(limit.take('2001:db8:0:1::1').isRefused);
});

test('a flood of strangers uses nothing that listed addresses have', (t) => {
  const isTrusted = (address: string): boolean => address === '192.0.2.9';
  const limit = createRateLimit({ ...HTTP_DEFAULTS.limits, strangersTotalMax: 3 }, { isTrusted });
  for (let stranger = 0; stranger < 10; stranger += 1) limit.take(`198.51.100.${stranger}`);
  t.true(limit.take('198.51.100.77').isRefused);
  t.false(limit.take('192.0.2.9').isRefused);
  t.false(limit.take('127.0.0.1').isRefused);
});

class FakePlace {
  readonly key: string;
  readonly isIdle: boolean;
  readonly isTrusted: boolean;
  bufferedBytes = 0;
  isCut = false;

  constructor(key: string, { isIdle = true, isTrusted = false } = {}) {
    this.key = key;
    this.isIdle = isIdle;
    this.isTrusted = isTrusted;
  }

  cutForNewcomer(): void {
    this.isCut = true;
  }

  cutForBuffers(): void {
    this.isCut = true;
  }
}
