import test from 'ava';

import { type PeerHandlers, PeerManager, type PeerManagerOptions } from '../../../src/engine/peers/manager.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import type { NoteStore } from '../../../src/ports/store.ts';
import type { PeerInfo, TransportHandlers } from '../../../src/ports/transport.ts';
import { address, FakeClock, FakeTransport, seeded, settle } from './support.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface World {
  readonly clock: FakeClock;
  readonly transport: FakeTransport;
  readonly manager: PeerManager;
  readonly notes: Map<string, Uint8Array>;
  readonly handlers: TransportHandlers;
}

/** Starts a `PeerManager` for a node with the address 10.0.0.1:5000, on a transport without sockets. */
async function world(
  options: Partial<PeerManagerOptions> = {},
  prepare: (transport: FakeTransport) => void = () => undefined,
  notes = new Map<string, Uint8Array>(),
  answer: PeerHandlers['answer'] = () => Promise.resolve(undefined),
): Promise<World> {
  const clock = new FakeClock();
  const transport = new FakeTransport(clock);
  prepare(transport);
  const store: NoteStore = {
    note: (key) => notes.get(key),
    transact: (work) =>
      work({ setNote: (key, value) => void (value === undefined ? notes.delete(key) : notes.set(key, value)) }),
  };
  const manager = new PeerManager(
    { transport, store, clock, random: seeded(11), observer: SILENT },
    {
      own: { ip: '10.0.0.1', wsPort: 5000 },
      outboundMax: 20,
      gossipPeersMax: 16,
      fixedPeers: [],
      seedPeers: [],
      whitelistedPeers: [],
      blacklistedIps: [],
      ...options,
    },
  );
  await manager.start({ answer, message: () => undefined });
  await settle();
  if (transport.handlers === undefined) throw new Error('the transport was not started');
  return { clock, transport, manager, notes, handlers: transport.handlers };
}

const many = (count: number, prefix = '20.0'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}.${String(index)}.1:5000`);

const infos = (peerIds: readonly string[]): PeerInfo[] => peerIds.map((peerId) => address(peerId));

test('fixed peers are dialled at once and redialled soon, however often they fail', async (t) => {
  const peers = ['127.0.0.1:5001', '127.0.0.1:5002', '127.0.0.1:5003'];
  const { clock, transport, manager } = await world({ fixedPeers: infos(peers) }, (fake) => {
    fake.reachable.add('127.0.0.1:5001');
  });
  t.deepEqual([...transport.dials].sort(), peers);
  await clock.advance(2_000);
  t.is(transport.dials.filter((peerId) => peerId === '127.0.0.1:5001').length, 1);
  t.true(transport.dials.filter((peerId) => peerId === '127.0.0.1:5002').length >= 2);
  transport.reachable.add('127.0.0.1:5002');
  transport.reachable.add('127.0.0.1:5003');
  await clock.advance(11_000);
  t.deepEqual(
    manager
      .connectedPeers()
      .map(({ peerId }) => peerId)
      .sort(),
    peers,
  );

  transport.leave('127.0.0.1:5002');
  await clock.advance(2_000);
  t.true(manager.connectedPeers().some(({ peerId }) => peerId === '127.0.0.1:5002'));
  await manager.stop();
  t.is(clock.waiting, 0);
  t.true(transport.isClosed);
});

test('a fixed peer that is away is dialled every ten seconds, not more often', async (t) => {
  const { clock, transport, manager } = await world({ fixedPeers: infos(['127.0.0.1:5001']) });
  await clock.advance(10 * MINUTE_MS);
  t.true(transport.dials.length >= 55 && transport.dials.length <= 70, String(transport.dials.length));
  await manager.stop();
});

test('a node does not dial itself and does not keep its own address', async (t) => {
  const own = { ip: '0.0.0.0', wsPort: 5000 };
  const { clock, transport, manager } = await world({
    own,
    fixedPeers: infos(['127.0.0.1:5000', '127.0.0.1:5001']),
    seedPeers: infos(['127.0.0.1:5000']),
  });
  t.deepEqual(transport.dials, ['127.0.0.1:5001']);
  transport.failures.set('127.0.0.1:5001', { code: 4101, reason: 'Peer cannot connect to itself' });
  await clock.advance(5 * MINUTE_MS);
  const dials = transport.dials.length;
  await clock.advance(30 * MINUTE_MS);
  t.is(transport.dials.length, dials);
  t.deepEqual(manager.verdicts(), []);
  await manager.stop();
});

test('peers learnt from a seed are dialled; the seed is dropped when no place is free', async (t) => {
  const others = many(30);
  const { clock, transport, manager } = await world(
    { seedPeers: infos(['30.0.0.1:5000']), outboundMax: 10 },
    (fake) => {
      for (const peerId of [...others, '30.0.0.1:5000']) fake.reachable.add(peerId);
      fake.lists.set('30.0.0.1:5000', infos(others));
    },
  );
  t.deepEqual(transport.dials, ['30.0.0.1:5000']);
  await clock.advance(11_000);
  t.is(manager.connectedPeers().length, 10);
  await clock.advance(20_000);
  t.deepEqual(transport.closed, [
    { peerId: '30.0.0.1:5000', reason: { code: 1000, reason: 'Disconnect from SeedPeer after discovery' } },
  ]);
  await clock.advance(20_000);
  t.is(manager.connectedPeers().filter(({ direction }) => direction === 'outbound').length, 10);
  t.is(new Set(transport.dials).size, transport.dials.length, 'nobody was dialled twice');
  await manager.stop();
});

test('a seed that is resolved later is dialled at once and asked for peers', async (t) => {
  const others = many(3);
  const { clock, transport, manager } = await world({ blacklistedIps: ['30.0.0.9'] }, (fake) => {
    for (const peerId of [...others, '30.0.0.1:5000']) fake.reachable.add(peerId);
    fake.lists.set('30.0.0.1:5000', infos(others));
  });
  t.deepEqual(transport.dials, []);
  for (const seed of infos(['30.0.0.1:5000', '30.0.0.1:5000', '30.0.0.9:5000', '10.0.0.1:5000'])) manager.addSeed(seed);
  t.deepEqual(transport.dials, ['30.0.0.1:5000']);
  await clock.advance(11_000);
  t.is(manager.connectedPeers().length, 4);
  await clock.advance(20_000);
  t.is(transport.asked.filter((peerId) => peerId === '30.0.0.1:5000').length, 2, 'asked again, as other seeds are');
  await manager.stop();
  manager.addSeed(address('30.0.0.2:5000'));
  t.false(transport.dials.includes('30.0.0.2:5000'));
});

test('a connected seed is asked again while places are free', async (t) => {
  const { clock, transport, manager } = await world({ seedPeers: infos(['30.0.0.1:5000']) }, (fake) => {
    fake.reachable.add('30.0.0.1:5000');
  });
  t.deepEqual(transport.asked, ['30.0.0.1:5000']);
  await clock.advance(61_000);
  t.is(transport.asked.length, 3);
  await manager.stop();
});

test('one connection per address is allowed, except on the own machine', async (t) => {
  const sameNetgroup = ['40.0.0.1:5000', '40.0.0.1:5001', '40.0.0.1:5002', '127.0.0.1:6001', '127.0.0.1:6002'];
  const { clock, manager } = await world({ fixedPeers: infos(['127.0.0.1:6000']) }, (fake) => {
    for (const peerId of [...sameNetgroup, '127.0.0.1:6000']) fake.reachable.add(peerId);
    fake.lists.set(
      '127.0.0.1:6000',
      infos(sameNetgroup).map((info, index) => ({ ...info, height: index })),
    );
  });
  await clock.advance(MINUTE_MS);
  const connected = manager.connectedPeers().map(({ peerId }) => peerId);
  t.is(connected.filter((peerId) => peerId.startsWith('40.')).length, 1);
  t.is(connected.filter((peerId) => peerId.startsWith('127.')).length, 3);
  await manager.stop();
});

test('an unreachable peer is redialled after growing waits, one of another network never', async (t) => {
  const { clock, transport, manager } = await world(
    { whitelistedPeers: infos(['50.0.0.1:5000', '50.1.0.1:5000']) },
    (fake) => {
      fake.failures.set('50.1.0.1:5000', { code: 4104, reason: 'Peer networkId did not match our own' });
    },
  );
  const dialsOf = (peerId: string): number => transport.dials.filter((dialled) => dialled === peerId).length;
  await clock.advance(60 * MINUTE_MS);
  t.true(dialsOf('50.0.0.1:5000') > 5 && dialsOf('50.0.0.1:5000') < 15, String(dialsOf('50.0.0.1:5000')));
  t.is(dialsOf('50.1.0.1:5000'), 1);
  const verdict = manager.verdicts().find(({ ip }) => ip === '50.1.0.1');
  t.like(verdict, { verdict: 'dropped', code: 4104, reason: 'Peer networkId did not match our own' });
  const unreached = { verdict: 'waiting', code: 1006, reason: 'connect ECONNREFUSED' } as const;
  t.like(
    manager.verdicts().find(({ ip }) => ip === '50.0.0.1'),
    unreached,
  );
  await manager.stop();
});

test('a dial to a connected peer is not a failure', async (t) => {
  const { clock, transport, manager } = await world({ fixedPeers: infos(['127.0.0.1:5001']) }, (fake) => {
    fake.failures.set('127.0.0.1:5001', { code: 4404, reason: 'Peer has a duplicate connection' });
  });
  transport.join('127.0.0.1:5001', 'inbound');
  await clock.advance(5 * MINUTE_MS);
  t.is(transport.dials.length, 1);
  t.is(manager.knownPeers()[0]?.state, 'connected');
  await manager.stop();
});

test('an offence with the full penalty ends the connection and bans the address for a day', async (t) => {
  const { clock, transport, manager, handlers } = await world();
  transport.join('60.0.0.1:5000', 'inbound');
  transport.join('60.0.0.1:5001', 'inbound');
  transport.join('60.0.0.2:5000', 'inbound');
  manager.penalise('60.0.0.1:5000', 'BLOCK_SIGNATURE_INVALID', 'Invalid block signature');
  t.deepEqual(
    manager.connectedPeers().map(({ peerId }) => peerId),
    ['60.0.0.2:5000'],
  );
  t.deepEqual(transport.closed[0]?.reason, { code: 4403, reason: 'Peer is not allowed to connect' });
  t.like(manager.bans()[0], { ip: '60.0.0.1', reason: 'BLOCK_SIGNATURE_INVALID: Invalid block signature' });
  t.false(handlers.admits('60.0.0.1'));
  t.true(handlers.admits('60.0.0.2'));
  t.like(manager.droppedPeers()[0], { peerId: '60.0.0.1:5000', direction: 'inbound', code: 4403 });
  const banned = manager.verdicts().filter(({ ip }) => ip === '60.0.0.1');
  t.deepEqual(
    banned.map(({ wsPort, verdict, reputation }) => [wsPort, verdict, reputation]),
    [
      [5000, 'banned', 0],
      [5001, 'banned', 0],
    ],
  );
  t.false(manager.knownPeers().some(({ info }) => info.ip === '60.0.0.1'));
  await clock.advance(DAY_MS + 1);
  manager.expireBans();
  t.true(handlers.admits('60.0.0.1'));
  await manager.stop();
});

test('small penalties add up, also over a reconnection', async (t) => {
  const { transport, manager, handlers } = await world();
  transport.join('60.0.0.1:5000', 'inbound');
  for (let offence = 0; offence < 9; offence += 1) handlers.offence('60.0.0.1:5000', 'MESSAGE_RATE', '120 frames');
  manager.penalise('60.0.0.1:5000', 'BLOCK_FORGER_INVALID', 'costs nothing');
  t.is(manager.connectedPeers().length, 1);
  transport.leave('60.0.0.1:5000');
  transport.join('60.0.0.1:5000', 'inbound');
  handlers.offence('60.0.0.1:5000', 'PROCEDURE_RATE', 'again');
  t.is(manager.connectedPeers().length, 0);
  t.is(manager.bans().length, 1);
  await manager.stop();
});

test('named peers stay after bad data and high rates; a malformed peer list drops them without a ban', async (t) => {
  const { transport, manager, handlers } = await world({
    fixedPeers: infos(['127.0.0.1:5001']),
    seedPeers: infos(['70.0.0.1:5000']),
    whitelistedPeers: infos(['71.0.0.1:5000']),
  });
  const named = ['127.0.0.1:5001', '70.0.0.1:5000', '71.0.0.1:5000'];
  for (const peerId of named) transport.join(peerId, 'inbound');
  for (const peerId of named) manager.penalise(peerId, 'BLOCK_MALFORMED', 'x');
  for (const peerId of named) handlers.offence(peerId, 'MALFORMED_MESSAGE', 'x');
  for (let use = 0; use < 20; use += 1) handlers.offence('127.0.0.1:5001', 'PROCEDURE_RATE', 'x');
  t.is(manager.connectedPeers().length, 3);
  for (const peerId of named) handlers.offence(peerId, 'MALFORMED_PEER_LIST', 'x');
  t.is(manager.connectedPeers().length, 0);
  t.deepEqual(manager.bans(), []);
  await manager.stop();
});

test('blacklisted addresses are neither admitted nor dialled', async (t) => {
  const { clock, transport, manager, handlers } = await world(
    { fixedPeers: infos(['80.0.0.1:5000', '80.0.0.2:5000']), blacklistedIps: ['80.0.0.1'] },
    (fake) => {
      fake.reachable.add('80.0.0.2:5000');
      fake.lists.set('80.0.0.2:5000', infos(['80.0.0.1:5001']));
    },
  );
  await clock.advance(MINUTE_MS);
  t.deepEqual(transport.dials, ['80.0.0.2:5000']);
  t.false(handlers.admits('80.0.0.1'));
  await manager.stop();
});

test('one outbound peer is replaced now and then, but only when all places are taken', async (t) => {
  const others = many(6);
  const whitelistedPeers = infos(others);
  const { clock, transport, manager } = await world({ whitelistedPeers, outboundMax: 3 }, (fake) => {
    for (const peerId of others) fake.reachable.add(peerId);
  });
  await clock.advance(5 * MINUTE_MS + 1);
  t.is(transport.closed.length, 1);
  t.is(transport.closed[0]?.reason.code, 4418);
  t.regex(transport.closed[0]?.reason.reason ?? '', /^Evicted outbound peer 20\.0\./);
  await clock.advance(11_000);
  t.is(manager.connectedPeers().length, 3);
  await manager.stop();

  const idle = await world({ whitelistedPeers, outboundMax: 10 }, (fake) => {
    for (const peerId of others) fake.reachable.add(peerId);
  });
  await idle.clock.advance(11 * MINUTE_MS);
  t.deepEqual(idle.transport.closed, []);
  await idle.manager.stop();
});

test('the peer book survives a restart, and an invalid saved book does not prevent a start', async (t) => {
  const first = await world();
  first.transport.join('90.0.0.1:5000', 'outbound');
  first.manager.ban('91.0.0.1', 'by hand');
  await first.manager.stop();

  const second = await world({}, undefined, first.notes);
  t.deepEqual(second.transport.dials, ['90.0.0.1:5000']);
  t.false(second.handlers.admits('91.0.0.1'));
  t.deepEqual(
    second.manager.knownPeers().map(({ info, state }) => [info.ip, info.height, state]),
    [['90.0.0.1', 5, 'disconnected']],
  );
  second.manager.unban('91.0.0.1');
  t.true(second.handlers.admits('91.0.0.1'));
  await second.manager.stop();

  const broken = await world({}, undefined, new Map([['peers/book', Buffer.from('{')]]));
  t.deepEqual(broken.manager.knownPeers(), []);
  await broken.manager.stop();
});

test('a ban is saved soon, so it survives a kill of the node', async (t) => {
  const first = await world();
  first.manager.ban('91.0.0.1', 'by hand');
  first.manager.ban('91.0.0.2', 'by hand');
  t.false(first.notes.has('peers/book'));
  await first.clock.advance(1_000);
  const second = await world({}, undefined, new Map(first.notes));
  t.false(second.handlers.admits('91.0.0.1'));
  t.false(second.handlers.admits('91.0.0.2'));
  t.true(second.handlers.admits('91.0.0.3'));
  await first.manager.stop();
  await second.manager.stop();
});

test("a peer's list entries are ignored when they are nearer to us than the peer, or cannot be dialled", async (t) => {
  const listed = ['127.0.0.1:22', '192.168.0.1:80', '10.9.9.9:5000', '0.0.0.0:5000', '224.0.0.1:5000', '8.8.8.8:5000'];
  const { manager } = await world({ fixedPeers: infos(['90.0.0.1:5000']) }, (fake) => {
    fake.reachable.add('90.0.0.1:5000');
    fake.lists.set('90.0.0.1:5000', infos(listed));
  });
  await settle();
  const known = manager.knownPeers().map(({ info }) => info.ip);
  t.deepEqual(known.sort(), ['8.8.8.8', '90.0.0.1']);
  await manager.stop();
});

test('special-purpose addresses are not dialled and not passed on, unless the operator names them', async (t) => {
  const special = ['169.254.169.254', '100.64.0.1', '198.18.0.1', '192.0.0.5', '192.0.2.7', '203.0.113.9', '240.0.0.1'];
  const offered = special.map((ip) => `${ip}:80`);
  const named = '100.64.0.2:5000';
  const { clock, transport, manager, handlers } = await world(
    { fixedPeers: infos(['90.0.0.1:5000', named]) },
    (fake) => {
      for (const peerId of ['90.0.0.1:5000', named, ...offered]) fake.reachable.add(peerId);
      fake.lists.set('90.0.0.1:5000', infos(offered));
      fake.lists.set(named, infos(offered));
    },
  );
  transport.join('169.254.1.1:5000', 'inbound');
  await clock.advance(MINUTE_MS);
  t.deepEqual([...transport.dials].sort(), [named, '90.0.0.1:5000'].sort());
  const listed = (await handlers.answer('90.0.0.1:5000', { kind: 'peers' })) as PeerInfo[];
  t.deepEqual(listed.map(({ ip }) => ip).sort(), ['100.64.0.2', '90.0.0.1']);
  await manager.stop();
});

test('special-purpose addresses in a book saved by an earlier version are not dialled', async (t) => {
  const note = { version: 1, secret: '00000000', bans: [], peers: [] as unknown[] };
  for (const ip of ['169.254.169.254', '20.0.0.1']) {
    note.peers.push({ info: { ip, wsPort: 80 }, list: 'tried', bucket: 1, addedMs: 1 });
  }
  const notes = new Map([['peers/book', Buffer.from(JSON.stringify(note))]]);
  const { clock, transport, manager } = await world({}, () => undefined, notes);
  await clock.advance(MINUTE_MS);
  t.deepEqual([...new Set(transport.dials)], ['20.0.0.1:80']);
  await manager.stop();
});

test('many addresses in one netgroup get one outbound connection, honest peers get the others', async (t) => {
  const sameNetgroup = Array.from({ length: 128 }, (_, index) => `66.66.0.${String(index)}:5000`);
  const honest = Array.from({ length: 60 }, (_, index) => `${String(20 + index)}.1.0.1:5000`);
  const { clock, transport, manager } = await world({ seedPeers: infos(['90.0.0.1:5000']) }, (fake) => {
    for (const peerId of [...sameNetgroup, ...honest, '90.0.0.1:5000']) fake.reachable.add(peerId);
    fake.lists.set('90.0.0.1:5000', infos([...sameNetgroup, ...honest]));
  });
  await clock.advance(30 * MINUTE_MS);
  const outbound = transport.connections().filter(({ direction }) => direction === 'outbound');
  t.is(outbound.length, 20);
  t.true(outbound.filter(({ info }) => info.ip.startsWith('66.66.')).length <= 1);
  await manager.stop();
});

test('peers of a single netgroup, and those of a private network, still fill all places', async (t) => {
  for (const [prefix, seed] of [
    ['66.66.0', '66.66.1.1:5000'],
    ['10.0.0', '10.0.1.1:5000'],
  ] as const) {
    const peers = Array.from({ length: 30 }, (_, index) => `${prefix}.${String(index + 10)}:5000`);
    const { clock, transport, manager } = await world({ fixedPeers: infos([seed]) }, (fake) => {
      for (const peerId of [...peers, seed]) fake.reachable.add(peerId);
      fake.lists.set(seed, infos(peers));
    });
    await clock.advance(20_000);
    t.is(transport.connections().filter(({ direction }) => direction === 'outbound').length, 20, prefix);
    await manager.stop();
  }
});

test('the text of an offence is cut to the length of a log line', async (t) => {
  const { manager, transport } = await world();
  transport.join('60.0.0.1:5000', 'inbound');
  manager.penalise('60.0.0.1:5000', 'TRANSACTION_INVALID', 'x'.repeat(1_000_000));
  t.true((manager.bans()[0]?.reason.length ?? Infinity) < 400);
});

test('a ban that cannot be saved is still in force, and is saved with the next one', async (t) => {
  const notes = new Map<string, Uint8Array>();
  const { manager, clock } = await world({}, undefined, notes);
  const { set } = notes;
  notes.set = () => {
    throw new Error('the disk is full');
  };
  manager.ban('91.0.0.1', 'by hand');
  await t.notThrowsAsync(clock.advance(2_000));
  t.is(manager.bans().length, 1);
  t.is(notes.size, 0);
  notes.set = set;
  manager.ban('91.0.0.2', 'by hand');
  await clock.advance(2_000);
  const again = await world({}, undefined, notes);
  t.is(again.manager.bans().length, 2);
});

test('each address has a status: connected, dropped and why, banned until, due again', async (t) => {
  const { clock, transport, manager } = await world({
    fixedPeers: infos(['90.0.0.1:5000']),
    seedPeers: infos(['90.0.0.2:5000']),
    whitelistedPeers: infos(['90.0.0.3:5000']),
    blacklistedIps: ['90.0.0.9'],
  });
  transport.join('90.0.0.4:5000', 'inbound');
  transport.join('90.0.0.5:5000', 'inbound');
  transport.leave('90.0.0.5:5000', { code: 4418, reason: 'Evicted' });
  transport.join('90.0.0.6:5000', 'inbound');
  manager.penalise('90.0.0.4:5000', 'PROCEDURE_RATE', 'x');
  manager.penalise('90.0.0.6:5000', 'BLOCK_MALFORMED', 'x');
  manager.ban('90.0.0.7', 'by hand');
  const verdicts = manager.verdicts();
  const of = (ip: string) => verdicts.find((verdict) => verdict.ip === ip);
  const nowMs = clock.nowMs();
  t.like(of('90.0.0.4'), { verdict: 'connected', direction: 'inbound', sinceMs: nowMs, reputation: 90, roles: [] });
  t.like(of('90.0.0.5'), { verdict: 'dropped', code: 4418, reason: 'Evicted', sinceMs: nowMs, list: 'new' });
  t.like(of('90.0.0.6'), { verdict: 'banned', untilMs: nowMs + DAY_MS, reason: 'BLOCK_MALFORMED: x' });
  t.like(of('90.0.0.7'), { verdict: 'banned', reason: 'by hand', reputation: 0 });
  t.is(of('90.0.0.7')?.wsPort, undefined);
  t.like(of('90.0.0.1'), { verdict: 'waiting', roles: ['fixed'], list: 'tried' });
  t.deepEqual(of('90.0.0.2')?.roles, ['seed']);
  t.deepEqual(of('90.0.0.3')?.roles, ['whitelisted']);
  t.is(verdicts[0]?.verdict, 'connected');
  await manager.stop();
});

test('a peer list contains only peers that allow it', async (t) => {
  const { transport, manager, handlers } = await world();
  transport.join('90.0.0.1:5000', 'inbound', { advertiseAddress: false });
  transport.join('90.0.0.2:5000', 'inbound', { advertiseAddress: true });
  transport.join('90.0.0.3:5000', 'outbound');
  handlers.updated('90.0.0.3:5000', { ...address('90.0.0.3:5000'), height: 77 });
  const listed = (await handlers.answer('90.0.0.2:5000', { kind: 'peers' })) as PeerInfo[];
  t.deepEqual(listed.map(({ ip }) => ip).sort(), ['90.0.0.2', '90.0.0.3']);
  t.is(listed.find(({ ip }) => ip === '90.0.0.3')?.height, 77);
  await manager.stop();
});

test('requests for peer lists take turns with all other requests', async (t) => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { manager, handlers } = await world({}, undefined, undefined, () => gate);
  let listed = 0;
  const tip = handlers.answer('90.0.0.1:5000', { kind: 'tip' });
  const lists = [1, 2].map(() =>
    handlers.answer('90.0.0.2:5000', { kind: 'peers' }).then(() => {
      listed += 1;
    }),
  );
  await settle();
  t.is(listed, 0);
  open();
  await Promise.all([tip, ...lists]);
  t.is(listed, 2);
  await manager.stop();
});

test('gossip goes in both directions, and an eviction never takes a named peer', async (t) => {
  const { transport, manager, handlers } = await world({
    whitelistedPeers: infos(['90.0.0.1:5000']),
    gossipPeersMax: 2,
  });
  for (const peerId of ['90.0.0.1:5000', '90.0.0.2:5000', '90.0.0.3:5000']) transport.join(peerId, 'inbound');
  transport.join('90.0.0.4:5000', 'outbound');
  t.is(manager.gossipTargets().length, 2);
  t.true(manager.gossipTargets().includes('90.0.0.4:5000'));
  const inbound = manager.connectedPeers().filter(({ direction }) => direction === 'inbound');
  for (let round = 0; round < 20; round += 1) t.not(handlers.evict(inbound), '90.0.0.1:5000');
  t.is(handlers.evict(inbound.slice(0, 1)), undefined);
  await manager.stop();
});

test('the record of lost peers is limited', async (t) => {
  const { transport, manager } = await world();
  for (let index = 0; index < 250; index += 1) {
    transport.join(`92.0.0.1:${String(5_000 + index)}`, 'inbound');
    transport.leave(`92.0.0.1:${String(5_000 + index)}`, { code: 1000, reason: 'bye' });
  }
  t.is(manager.droppedPeers().length, 200);
  t.is(manager.droppedPeers().at(-1)?.peerId, '92.0.0.1:5249');
  await manager.stop();
});
