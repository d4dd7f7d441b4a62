/** The doctor must name each induced fault of its catalogue (`FAULTS`), and must raise no alarm for a healthy node. */

import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { FAULTS, type FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { addressOfNode } from '../../src/cli/doctor/node-address.ts';
import { runChecks, type DoctorRequest } from '../../src/cli/doctor/run-checks.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { chainDirectory } from '../../src/node/chain-tool.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { madeChain, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { lockElsewhere } from '../support/lock-elsewhere.ts';
import { diskFaults, type DiskFixture } from '../support/disk-faults.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePort } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const NAMED_WITHIN_MS = 10_000;
/** Time limit for an answer. The fake node runs in this process, which may wait long for a processor. */
const PATIENT_MS = 120_000;
const { network, blocks } = madeChain(40);
const NETHASH = network.params.nethash;
const NOW_MS = 1_700_000_000_000;
const KEY = 'ab'.repeat(32);
const READER = { reader: 1, state: 'up', since: new Date(NOW_MS).toISOString(), memoryBytes: 1, requests: 1 };
const induced = new Set<FaultCode>();

/** Answers of a healthy node, by path. */
function healthy(): Record<string, Untyped> {
  return {
    'node/constants': { nethash: NETHASH, protocolVersion: '2.0', epoch: '2016-05-24T17:00:00.000Z', blockTime: 10 },
    'node/status': {
      height: 1000,
      networkHeight: 1000,
      chainMaxHeightFinalized: 850,
      consensus: 100,
      syncing: false,
      secondsSinceEpoch: 100_000,
      currentTime: NOW_MS,
    },
    'node/peers': [{ ip: '20.0.0.1', wsPort: 5000, verdict: 'connected', roles: [], reputation: 100 }],
    'node/diagnostics': [],
    'node/status/forging': [{ publicKey: KEY, forging: true }],
    'delegates/forgers': [{ publicKey: KEY, username: 'a', nextSlot: 10_001 }],
    blocks: [{ height: 1000, timestamp: 99_990 }],
  };
}

async function listen(t: ExecutionContext, server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

/** Answer of a node that does not admit the client. */
const CLOSED = { status: 403, body: { message: 'API access denied' } };

/** @param refusal status and body for each path that `answers` lacks */
function scripted(t: ExecutionContext, answers: Record<string, Untyped>, refusal = CLOSED): Promise<string> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/^\//, '').replace(/\?.*/, '');
    const data = answers[path];
    const { status, body } = data === undefined ? refusal : { status: 200, body: { meta: {}, data } };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  return listen(t, server);
}

interface NodeFixture extends DiskFixture {
  readonly folder: string;
  readonly url: string;
}

/** Creates the folder of a healthy node, and serves `answers` over HTTP (`silent`: no server listens at the URL). */
async function setUpNode(
  t: ExecutionContext,
  answers: Record<string, Untyped> | 'silent' = healthy(),
): Promise<NodeFixture> {
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const place = locationIn(dataDir, network);
  await storeChain(place, blocks);
  const ports = { http: await freePort(), ws: await freePort() };
  const config = join(folder, 'config.json5');
  writeFileSync(
    config,
    JSON.stringify({ http: { port: ports.http }, p2p: { port: ports.ws, fixedPeers: ['20.0.0.1:5000'] } }),
  );
  return {
    folder,
    place,
    url: answers === 'silent' ? `http://127.0.0.1:${await freePort()}` : await scripted(t, answers),
    network: writeNetworkFolder(join(folder, 'net'), network),
    dataDir,
    config,
    environment: {},
    sampleAgainMs: 5,
    timeoutMs: PATIENT_MS,
    freeBytesOf: () => 1e12,
  };
}

/** Returns the codes of the findings. Checks the texts of the findings, and the processor time of the doctor. */
async function found(t: ExecutionContext, request: DoctorRequest): Promise<readonly FaultCode[]> {
  // Measure processor time, because the time that other programs on the machine take must not count.
  const before = process.cpuUsage();
  const findings = await runChecks(request);
  const { user, system } = process.cpuUsage(before);
  t.true((user + system) / 1000 < NAMED_WITHIN_MS);
  for (const { code, cause, evidence, remedy } of findings) {
    induced.add(code);
    t.true(evidence.length > 5, code);
    t.is(cause, FAULTS[code].cause);
    t.is(remedy, FAULTS[code].remedy);
  }
  return findings.map(({ code }) => code);
}

test('the doctor finds nothing on a healthy node, with and without its folder', async (t) => {
  const healthyNode = await setUpNode(t);
  t.deepEqual(await found(t, healthyNode), []);
  const { url, environment } = healthyNode;
  const remote = { url, environment: { ...environment }, sampleAgainMs: 5, timeoutMs: PATIENT_MS };
  t.deepEqual(
    await found(t, { ...remote, dataDir: healthyNode.dataDir ?? '', network: healthyNode.network ?? '' }),
    [],
  );
});

test('the doctor changes no signing record with a lock file of a paused container and half a last line', async (t) => {
  const { dataDir = '', ...its } = await setUpNode(t);
  const { dataDirectory } = its.place;
  const file = journalFileOf(dataDirectory);
  openJournal(file).close();
  appendFileSync(file, 'half a li');
  const lockFiles = [
    lockElsewhere(dataDirectory, 'forging-journal.in-use', 60_000),
    lockElsewhere(chainDirectory(its.place), 'in-use', 60_000),
  ];
  const before = readdirSync(dataDirectory);
  t.deepEqual(await found(t, { ...its, dataDir }), []);
  t.deepEqual(readdirSync(dataDirectory), before);
  for (const lockFile of lockFiles) t.true(existsSync(lockFile));
  t.is(readFileSync(file, 'utf8'), 'half a li');
});

for (const [code, induce] of Object.entries(diskFaults)) {
  test.serial(`the doctor names ${code} when the disk has that fault`, async (t) => {
    const its = await setUpNode(t, 'silent');
    await induce(its, t);
    const codes = await found(t, its);
    t.true(codes.includes(code as FaultCode), codes.join(', '));
    t.is(new Set(codes).size, codes.length, 'each is reported once');
    // The only other allowed finding is that the node does not run. In this test, no node runs.
    t.deepEqual(
      codes.filter((each) => each !== code && each !== 'NODE_NOT_RUNNING'),
      [],
    );
  });
}

function decided(module: string, code: string, fields: object, times = 3): object {
  const time = (index: number): string => new Date(NOW_MS - 30_000 - index * 60_000).toISOString();
  const entry = (_: unknown, index: number) => ({
    number: times - index,
    time: time(index),
    module,
    code,
    message: 'said',
    fields,
  });
  return { 'node/diagnostics': Array.from({ length: times }, entry) };
}

const status = (changes: object) => ({ 'node/status': { ...healthy()['node/status'], ...changes } });
const missed = { slot: 9_990, reason: 'no peers' };
/** A peer of another network that connected to this node. The configuration does not name the peer. */
const strayPeer = {
  ip: '20.0.0.2',
  verdict: 'dropped',
  code: 4104,
  reason: 'Peer networkId did not match our own',
  roles: [],
  reputation: 100,
};

/** For each fault of a running node: the answers that show the fault. */
const nodeFaults: Partial<Record<FaultCode, Record<string, Untyped>>> = {
  NODE_OF_OTHER_NETWORK: { 'node/constants': { ...healthy()['node/constants'], nethash: 'ff'.repeat(32) } },
  NODE_REFUSES: { 'node/status/forging': undefined },
  NODE_ANSWERS_ODDLY: { 'node/status/forging': { none: true } },
  CLOCK_OFF: status({ clockOffsetMs: -4_000 }),
  NODE_LAGS: status({ height: 980 }),
  NETWORK_STANDS_STILL: { blocks: [{ height: 1000, timestamp: 99_000 }] },
  FINALITY_LAGS: status({ chainMaxHeightFinalized: 500 }),
  NO_PEERS: { 'node/peers': [{ ip: '20.0.0.1', wsPort: 5000, verdict: 'waiting', roles: [], reputation: 100 }] },
  PEERS_OF_OTHER_NETWORK: { 'node/peers': [...healthy()['node/peers'], { ...strayPeer, roles: ['seed'] }] },
  CONSENSUS_LOW: status({ consensus: 20 }),
  SYNC_FAILS: decided('sync', 'SYNC_NO_COMMON_BLOCK', { reason: 'none' }),
  BLOCKS_OF_FUTURE: decided('sync', 'BLOCK_TIMESTAMP_INVALID', { isByClock: true }),
  BLOCKS_REFUSED: decided('chain', 'BLOCK_SIGNATURE_INVALID', { height: 1001 }),
  FORGING_OFF: { 'node/status/forging': [{ publicKey: KEY, forging: false }] },
  DELEGATE_NOT_ACTIVE: { 'node/status/forging': [{ publicKey: 'cd'.repeat(32), forging: true }] },
  DELEGATE_ELSEWHERE: {
    'node/status/forging': [
      { publicKey: KEY, forging: true, waiting: { code: 'FORGING_ELSEWHERE', reason: 'block 7 was not signed here' } },
    ],
  },
  DELEGATE_SIGNS_TWICE: decided('chain', 'BLOCK_DOUBLE_FORGING', { height: 1000, slot: 9_990, delegate: KEY }, 1),
  CLOCKS_DIFFER: status({ clocksDiffer: { peer: '20.0.0.1:5000', offsetMs: 4_000 } }),
  READERS_FAIL: status({ readers: { wanted: 2, restarts: 9, each: [READER] } }),
  CLOCK_BEHIND_TIP: decided('forge', 'CLOCK_BEHIND_TIP', { height: 1000, reason: 'it was set back' }, 1),
  CLOCK_SET: decided('forge', 'CLOCK_SET', { bySeconds: 60 }, 1),
  ALERTS_UNDELIVERED: decided(
    ...(['notify', 'NOTIFY_FAILED'] as const),
    { channel: 'webhook', waiting: 7, reason: 'it answered 500', failingSince: '2023-11-14T20:00:00.000Z' },
    1,
  ),
  SLOTS_MISSED: decided('forge', 'FORGING_PAUSED', missed),
  MACHINE_TOO_SLOW: decided('forge', 'FORGING_SLOT_SLEPT', missed),
  FOLDER_TAKEN_OVER: decided(
    'forge',
    'FORGING_PAUSED',
    { slot: 9_990, reason: 'The chain store in /data is no longer written.', cause: 'STORE_TAKEN_OVER' },
    3,
  ),
  WRITES_FAIL: decided('forge', 'STORE_WRITE_FAILED', { slot: 9_990, reason: 'no space left on device' }, 1),
};

for (const [code, changes] of Object.entries(nodeFaults)) {
  test.serial(`the doctor names ${code} alone when the node reports that fault`, async (t) => {
    t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...changes })), [code as FaultCode]);
  });
}

for (const [reason, code] of [
  ['NODE_SILENT', 'NODE_SILENT'],
  [undefined, 'NODE_REFUSES'],
] as const) {
  test.serial(`a 503 with the reason ${reason ?? 'left out'} is reported as ${code}`, async (t) => {
    const its = await setUpNode(t, 'silent');
    const body = { message: 'Ask again later.', ...(reason === undefined ? {} : { reason }) };
    t.deepEqual(await found(t, { ...its, url: await scripted(t, {}, { status: 503, body }) }), [code]);
  });
}

test('a node that accepts the connection and sends no answer is silent, and the evidence has the reason', async (t) => {
  const its = await setUpNode(t, 'silent');
  const hangs = await listen(
    t,
    createServer(() => undefined),
  );
  const [finding, ...others] = await runChecks({ ...its, url: hangs, timeoutMs: 200 });
  t.deepEqual(others, []);
  t.is(finding?.code, 'NODE_SILENT');
  t.is(finding?.evidence, `no program answers at ${hangs} (no answer in 0.2 s)`);
});

test('a wrong address or data folder is a wrong use of the command, and no finding', async (t) => {
  const its = await setUpNode(t);
  await t.throwsAsync(runChecks({ ...its, url: 'foo' }), { code: 'USAGE', message: /`foo` is not an address/ });
  const { network: _, ...withoutNetwork } = its;
  const dataDir = join(its.folder, 'nowhere');
  await t.throwsAsync(runChecks({ ...withoutNetwork, dataDir }), { code: 'USAGE', message: /correct --data-dir/ });
});

test('an old tip is no fault of a devnet that mines only on request', async (t) => {
  const oldTip = { blocks: [{ height: 1000, timestamp: 99_000 }] };
  for (const mode of ['instant', 'on-demand'])
    t.deepEqual(
      await found(t, await setUpNode(t, { ...healthy(), ...oldTip, devnet: { mode, clock: 'running' } })),
      [],
    );
  const stopped = { mode: 'interval', clock: 'frozen' };
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...oldTip, devnet: stopped })), []);
  const mining = { mode: 'interval', clock: 'running' };
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...oldTip, devnet: mining })), [
    'NETWORK_STANDS_STILL',
  ]);
});

test('a program that answers with success but without data is no node that refuses', async (t) => {
  const its = await setUpNode(t, 'silent');
  const url = await scripted(t, {}, { status: 200, body: { message: 'It works!' } });
  t.deepEqual(await found(t, { ...its, url }), ['NODE_ANSWERS_ODDLY']);
});

/** Constants of a node of release 3.0.2 of lisk-sdk. An earlier build of Bloomery sends these members, too. */
const EARLIER = { version: '3.0.2', protocolVersion: '2.0', epoch: '2016-05-24T17:00:00.000Z', build: 'v0.0.9' };

for (const [what, answers] of [
  ['an earlier build of Bloomery', { ...healthy(), 'node/constants': { ...EARLIER, nethash: NETHASH } }],
  ['lisk-sdk', {}],
] as const) {
  test.serial(`a node of ${what} is named as a node that must be upgraded first`, async (t) => {
    const its = await setUpNode(t, 'silent');
    const unknown = { status: 404, body: { message: 'Route not found' } };
    const url = await scripted(t, { ...answers, 'api/node/constants': EARLIER }, unknown);
    t.deepEqual(await found(t, { ...its, url }), ['NODE_OF_EARLIER_BUILD']);
    const [finding] = await runChecks({ ...its, url });
    t.is(finding?.evidence, `${url}/api/node/constants reports version 3.0.2 (build v0.0.9), and no blockTime`);
  });
}

test('a program that is no node of Lisk, or a node of this build behind a proxy, is not an earlier build', async (t) => {
  const its = await setUpNode(t, 'silent');
  const unknown = { status: 404, body: { message: 'Not found' } };
  t.deepEqual(await found(t, { ...its, url: await scripted(t, {}, unknown) }), ['NODE_REFUSES']);
  const proxied = { 'api/node/constants': { ...EARLIER, blockTime: 10 } };
  t.deepEqual(await found(t, { ...its, url: await scripted(t, proxied, unknown) }), ['NODE_REFUSES']);
  const strict = { 'api/node/constants': EARLIER, 'node/constants': { ...EARLIER, nethash: NETHASH, blockTime: 10 } };
  t.deepEqual(await found(t, { ...its, url: await scripted(t, strict, unknown) }), ['NODE_REFUSES']);
});

test.serial('the doctor asks no node if the configuration with its address is refused', async (t) => {
  const { url: _, ...its } = await setUpNode(t, 'silent');
  writeFileSync(its.config, JSON.stringify({ http: { prot: 7123 } }));
  t.deepEqual(await found(t, its), ['CONFIG_WRONG', 'NODE_UNCHECKED']);
});

test('the evidence for a node that does not run has the reason', async (t) => {
  const its = await setUpNode(t, 'silent');
  const [finding] = await runChecks(its);
  t.is(finding?.code, 'NODE_NOT_RUNNING');
  t.regex(finding?.evidence ?? '', /^no program answers at http:\S+ \(connect ECONNREFUSED /);
});

/** Builds the answer of `node/diagnostics` from its entries. The first entry is the oldest. */
function decidedInTurn(entries: readonly (readonly [module: string, code: string, fields: object])[]): object {
  const all = entries.map(([module, code, fields], index) => {
    const time = new Date(NOW_MS - (entries.length - index) * 10_000).toISOString();
    return { number: index + 1, time, module, code, message: 'said', fields };
  });
  return { 'node/diagnostics': all.reverse() };
}

const started = ['sync', 'SYNC_STARTED', { height: 900 }] as const;
const ended = ['sync', 'SYNC_ENDED', { blocks: 20 }] as const;
const failed = ['sync', 'SYNC_NO_COMMON_BLOCK', { reason: 'none' }] as const;
const refused = (height: number) => ['chain', 'BLOCK_SIGNATURE_INVALID', { height }] as const;

test.serial('a successful download and the failures before it are not faults', async (t) => {
  for (const entries of [
    [started, ended, started, ended, started, ended, started, ended],
    [failed, failed, failed, failed, started, ended],
    [['sync', 'BLOCK_SIGNATURE_INVALID', {}], ['sync', 'BLOCK_SIGNATURE_INVALID', {}], failed, failed, started, ended],
  ] as const)
    t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...decidedInTurn(entries) })), []);
  const failing = decidedInTurn([
    started,
    ended,
    failed,
    failed,
    failed,
    started,
    ['sync', 'SYNC_ENDED', { blocks: 0 }],
  ]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...failing })), ['SYNC_FAILS']);
});

test.serial('the clock is named only for refusals that a slow clock explains', async (t) => {
  const future = ['sync', 'BLOCK_TIMESTAMP_INVALID', { isByClock: true }] as const;
  const past = ['sync', 'BLOCK_TIMESTAMP_INVALID', { reason: 'its slot is that of its parent' }] as const;
  const mixed = decidedInTurn([future, future, past, future]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...mixed })), ['BLOCKS_OF_FUTURE']);
  const old = decidedInTurn([past, past, past]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...old })), ['BLOCKS_REFUSED']);
});

test.serial(
  'a peer of another network is a fault only if the configuration names it, and hides no other fault',
  async (t) => {
    const namedIn = async (changes: Record<string, Untyped>) =>
      found(t, await setUpNode(t, { ...healthy(), ...changes }));
    const withPeer = (peer: object) => ({ 'node/peers': [...healthy()['node/peers'], peer] });
    const oldTip = { blocks: [{ height: 1000, timestamp: 99_000 }] };
    t.deepEqual(await namedIn(withPeer(strayPeer)), []);
    t.deepEqual(await namedIn({ 'node/peers': [strayPeer] }), ['NO_PEERS']);
    t.deepEqual(await namedIn({ 'node/peers': [{ ...strayPeer, roles: ['fixed'] }], ...oldTip }), [
      'PEERS_OF_OTHER_NETWORK',
    ]);
    t.deepEqual(
      new Set(await namedIn({ ...withPeer({ ...strayPeer, roles: ['fixed'] }), ...oldTip })),
      new Set(['NETWORK_STANDS_STILL', 'PEERS_OF_OTHER_NETWORK']),
    );
  },
);

test.serial('downloads that peers do not answer are failures', async (t) => {
  const unanswered = ['sync', 'REQUEST_FAILED', { reason: 'no answer' }] as const;
  const failing = decidedInTurn([unanswered, unanswered, unanswered]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...failing })), ['SYNC_FAILS']);
});

test.serial('refused blocks up to the tip are not a fault, because anybody can invent them', async (t) => {
  const passed = decidedInTurn([refused(998), refused(999), refused(1000), refused(1000)]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...passed })), []);
  const twice = ['chain', 'BLOCK_DOUBLE_FORGING', { height: 1001 }] as const;
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...decidedInTurn([twice, twice, twice]) })), []);
});

test.serial('two blocks with the same parent are a fault only if their delegate is enabled on this node', async (t) => {
  const twice = (delegate: string): object => decidedInTurn([['chain', 'BLOCK_DOUBLE_FORGING', { delegate }]]);
  const off = { 'node/status/forging': [{ publicKey: KEY, forging: false }] };
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...twice(KEY) })), ['DELEGATE_SIGNS_TWICE']);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...twice('cd'.repeat(32)) })), []);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...twice(KEY), ...off })), ['FORGING_OFF']);
});

test.serial('the evidence for undelivered alerts says when the node counted the events', async (t) => {
  const [finding] = await runChecks(await setUpNode(t, { ...healthy(), ...nodeFaults.ALERTS_UNDELIVERED }));
  t.is(
    finding?.evidence,
    'webhook: 7 events waited at 2023-11-14T22:12:50.000Z (the node reports the number at most once an hour); deliveries fail ' +
      'since 2023-11-14T20:00:00.000Z (it answered 500), last delivered: none since the start',
  );
});

test.serial('a delegate that was enabled elsewhere is not a fault after its wait has ended', async (t) => {
  const { 'node/diagnostics': diagnostics } = decided('forge', 'FORGING_ELSEWHERE', missed, 1) as Untyped;
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), 'node/diagnostics': diagnostics })), []);
});

test.serial(
  'past faults are not reported: a clock that is right again, a receiver that took the events that it missed',
  async (t) => {
    const at = '2023-11-14T20:00:00.000Z';
    const over = decidedInTurn([
      ['forge', 'CLOCK_BEHIND_TIP', { height: 900 }],
      ['forge', 'CLOCK_REACHED_TIP', { height: 900 }],
      ['notify', 'NOTIFY_FAILED', { channel: 'webhook', waiting: 1, reason: 'gone', failingSince: at }],
      ['notify', 'NOTIFY_RECOVERED', { channel: 'webhook' }],
    ]);
    t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...over })), []);
    const other = decidedInTurn([
      ['notify', 'NOTIFY_FAILED', { channel: 'webhook', waiting: 1, reason: 'gone', failingSince: at }],
      ['notify', 'NOTIFY_RECOVERED', { channel: 'command' }],
    ]);
    t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...other })), ['ALERTS_UNDELIVERED']);
  },
);

test.serial('a pause of forging logged within one slot after the recovery of the disk is not a fault', async (t) => {
  const pause = [
    'forge',
    'FORGING_PAUSED',
    { slot: 9_990, reason: 'the disk is full', cause: 'STORE_WRITE_FAILED' },
  ] as const;
  const recovered = ['chain', 'STORE_RECOVERED', {}] as const;
  const other = ['p2p', 'PEER_DROPPED', {}] as const;
  // Successive entries are 10 s apart, which is the length of a slot.
  const within = decidedInTurn([pause, recovered, pause]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...within })), []);
  const later = decidedInTurn([pause, recovered, other, pause]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...later })), ['WRITES_FAIL']);
  const failing = ['chain', 'STORE_WRITE_FAILED', { reason: 'no space left on device' }] as const;
  const again = decidedInTurn([pause, recovered, failing]);
  t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...again })), ['WRITES_FAIL']);
});

test.serial('the limit of blocks that wait for finality follows from the number of delegates', async (t) => {
  const lagging = async (activeDelegates: number | undefined, blocks: number): Promise<readonly FaultCode[]> => {
    const constants = { ...healthy()['node/constants'], ...(activeDelegates === undefined ? {} : { activeDelegates }) };
    const forgers = [{ publicKey: KEY, username: 'a', nextSlot: 10_001 }];
    const changes = { 'node/constants': constants, 'delegates/forgers': forgers };
    return found(
      t,
      await setUpNode(t, { ...healthy(), ...changes, ...status({ chainMaxHeightFinalized: 1000 - blocks }) }),
    );
  };
  t.deepEqual(await lagging(undefined, 404), []);
  t.deepEqual(await lagging(undefined, 405), ['FINALITY_LAGS']);
  t.deepEqual(await lagging(5, 20), []);
  t.deepEqual(await lagging(5, 21), ['FINALITY_LAGS']);
  t.deepEqual(await lagging(25, 101), ['FINALITY_LAGS']);
});

test.serial(
  'a short-lived condition is not a fault: a tip that is on its way, one missed slot, an old refused block',
  async (t) => {
    for (const changes of [
      status({ height: 999 }),
      status({ syncing: true, height: 500, consensus: 0 }),
      decided('forge', 'FORGING_PAUSED', missed, 1),
      { blocks: [{ height: 1000, timestamp: 99_950 }] },
      // In a network with public passphrases, each node has the keys of all delegates, but by default forges with none
      // of these keys. This default is no fault.
      { 'node/status/forging': Array.from({ length: 101 }, () => ({ publicKey: KEY, forging: false })) },
      { 'node/peers': [], ...status({ isAlone: true, consensus: 0, networkHeight: 0 }) },
    ])
      t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...changes })), []);
    let answers = 0;
    const waverer = healthy();
    Object.defineProperty(waverer, 'node/status', {
      enumerable: true,
      get: () => ({ ...healthy()['node/status'], ...(answers++ % 3 === 0 ? { consensus: 0, height: 995 } : {}) }),
    });
    const its = await setUpNode(t, healthy());
    t.deepEqual(await found(t, { ...its, url: await scripted(t, waverer) }), []);
    // Peers need time to receive a new block, so the first reads of the status may show a low `consensus`.
    let looks = 0;
    const slowPeers = healthy();
    Object.defineProperty(slowPeers, 'node/status', {
      enumerable: true,
      get: () => ({ ...healthy()['node/status'], ...(looks++ < 4 ? { consensus: 0 } : {}) }),
    });
    t.deepEqual(await found(t, { ...its, url: await scripted(t, slowPeers) }), []);
  },
);

test.serial(
  'a delegate with one slot per round is judged by its last rounds, many delegates by their last slots',
  async (t) => {
    const twice = (code: string): object => {
      const time = (minutesAgo: number): string => new Date(NOW_MS - minutesAgo * 60_000).toISOString();
      const missing = { module: 'forge', code, message: 'said', fields: missed };
      return {
        'node/diagnostics': [18, 36].map((minutes, index) => ({ number: 2 - index, time: time(minutes), ...missing })),
      };
    };
    const keys = [KEY, 'cd'.repeat(32)];
    const many = {
      'node/status/forging': keys.map((publicKey) => ({ publicKey, forging: true })),
      'delegates/forgers': keys.map((publicKey) => ({ publicKey, username: 'a', nextSlot: 10_001 })),
    };
    for (const [code, fault] of [
      ['FORGING_PAUSED', 'SLOTS_MISSED'],
      ['FORGING_SLOT_SLEPT', 'MACHINE_TOO_SLOW'],
    ] as const) {
      t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...twice(code) })), [fault]);
      t.deepEqual(await found(t, await setUpNode(t, { ...healthy(), ...many, ...twice(code) })), []);
    }
  },
);

test.serial('the tests induce each fault of the catalogue', (t) => {
  const never = Object.keys(FAULTS).filter((code) => !induced.has(code as FaultCode));
  t.deepEqual(never, []);
  t.true(induced.size >= 20);
});

test('without an address the doctor asks the node at the HTTP address of its configuration', async (t) => {
  const its = await setUpNode(t, 'silent');
  const { network: name = '', environment } = its;
  const at = (http: object): string | undefined => {
    writeFileSync(its.config, JSON.stringify({ http }));
    return addressOfNode({ network: name, config: its.config, environment });
  };
  t.is(at({ port: 7123, host: '0.0.0.0' }), 'http://127.0.0.1:7123');
  t.is(at({ port: 7123, host: '127.0.0.2' }), 'http://127.0.0.2:7123');
  t.is(
    addressOfNode({ network: name, environment: { BLOOMERY_HTTP_PORT: '7124' } })
      ?.split(':')
      .at(-1),
    '7124',
  );
  // If the configuration has an error, the address is unknown. `checkDisk` reports the error.
  t.is(at({ port: 'x' }), undefined);
  t.is(addressOfNode({ environment }), 'http://127.0.0.1:4000');
});

test('the doctor finds an unreadable secret for alerts, as a start does', async (t) => {
  const its = await setUpNode(t);
  writeFileSync(
    its.config,
    JSON.stringify({ notify: { webhook: 'http://a/', webhookSecretFile: `${its.folder}/none` } }),
  );
  const [first] = await runChecks(its);
  t.is(first?.code, 'CONFIG_WRONG');
  t.regex(first?.evidence ?? '', /^notify\.webhookSecretFile /);
});

test('the doctor finds a TLS key that cannot be read, as a start does', async (t) => {
  const its = await setUpNode(t);
  const file = `${its.folder}/none.pem`;
  writeFileSync(its.config, JSON.stringify({ http: { tlsPort: 4443, tlsKeyFile: file, tlsCertificateFile: file } }));
  const [first] = await runChecks(its);
  t.is(first?.code, 'CONFIG_WRONG');
  t.regex(first?.evidence ?? '', /^http\.tlsKeyFile /);
});

test('the doctor finds a memory limit that is too low for the configuration, as a start does', async (t) => {
  const its = await setUpNode(t);
  writeFileSync(its.config, JSON.stringify({ memory: { limitMb: 1300 }, pool: { transactionsPerQueueMax: 5000 } }));
  const [first] = await runChecks(its);
  t.is(first?.code, 'CONFIG_WRONG');
  t.regex(first?.evidence ?? '', /memory\.limitMb must be at least \d+/);
});

test('docs/troubleshooting.md lists each fault with its cause and remedy', (t) => {
  const file = join(packageDirectory(), 'docs', 'troubleshooting.md');
  const rows = Object.entries(FAULTS).map(
    ([code, { severity, cause, remedy }]) => `| \`${code}\` | ${severity} | ${cause} | ${remedy} |`,
  );
  const table = ['| Code | | Cause | Remedy |', '| --- | --- | --- | --- |', ...rows].join('\n');
  const [before = '', after = ''] = readFileSync(file, 'utf8').split(/<!-- faults:begin -->[^]*<!-- faults:end -->/);
  const wanted = `${before}<!-- faults:begin -->\n\n${table}\n\n<!-- faults:end -->${after}`;
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, wanted);
  t.is(readFileSync(file, 'utf8'), wanted);
});

test('the doctor distinguishes a disk without room for files from one without room for bytes', async (t) => {
  const its = await setUpNode(t);
  const evidenceOf = async (files: number | undefined, bytes: number): Promise<string | undefined> => {
    const findings = await runChecks({ ...its, freeFilesOf: () => files, freeBytesOf: () => bytes });
    return findings.find(({ code }) => code === 'DISK_NEARLY_FULL')?.evidence.replace(/ at .*/, '');
  };
  t.is(await evidenceOf(0, 1e12), '0 more files (inodes) can be made');
  t.is(await evidenceOf(3, 65e6), '3 more files (inodes) can be made, and 62 MiB are left');
  t.is(await evidenceOf(undefined, 1e12), undefined);
});
