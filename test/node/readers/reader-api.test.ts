/**
 * Checks that a reading process gives the same HTTP answers as the node. In the test, both run in one process. The
 * channel between them carries only data that `structuredClone` can copy, like a channel between processes.
 */

import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { chainDirectory, openChain } from '../../../src/node/chain-tool.ts';
import type { FromReader, ToReader } from '../../../src/node/readers/messages.ts';
import { readMessage } from '../../../src/node/readers/reader-message.ts';
import { NodeRpcClient } from '../../../src/node/readers/node-rpc-client.ts';
import { NodeRpcServer } from '../../../src/node/readers/node-rpc-server.ts';
import { createReaderApi } from '../../../src/node/readers/reader-api.ts';
import { systemClock } from '../../../src/node/system.ts';
import { addressOf } from '../../../src/crypto/keys.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import { createRules } from '../../../src/protocol/generations.ts';
import { slotStartS } from '../../../src/protocol/slots.ts';
import { ChainReader } from '../../../src/store/chain/reader.ts';
import { madeChain, locationIn, storeChain } from '../../support/chain-folder.ts';
import { waitFor } from '../../support/devnet.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { idleNode } from '../../support/idle-node.ts';
import type { Untyped } from '../../support/untyped.ts';

const HEIGHT = 30;
const KEPT = 25;
const { maker, network, blocks } = madeChain(HEIGHT);

/** Opens a store on disk. A node and a reader use this store, and each of them serves HTTP. */
async function setUpReaders(t: ExecutionContext) {
  const place = locationIn(join(temporaryFolder(t), 'data'), network);
  await storeChain(place, blocks.slice(0, KEPT));
  const opened = await openChain(place, false);
  t.teardown(() => opened.close());
  const { params } = network;
  const nowMs = params.epochMs + (blocks[HEIGHT - 1]?.timestamp ?? 0) * 1000 + 3000;
  const identity = { version: '3.0.0', protocolVersion: '1.1' };
  const { store: chain, rules, genesis } = opened;
  const local = idleNode({ chain, rules, genesis, identity, nowMs: () => nowMs });

  const reader = new ChainReader({ directory: chainDirectory(place), codec: rules.codec, params }, systemClock);
  t.teardown(() => reader.close());
  const asked: FromReader[] = [];
  // Simulates a channel between processes: the channel carries only plain data, and delivers each message later.
  const toNode = (message: FromReader): void => {
    const copy = structuredClone(message);
    asked.push(copy);
    t.false('wrong' in readMessage(copy), JSON.stringify(copy));
    setImmediate(() => {
      if (copy.kind === 'reads') void end.reads(copy.calls);
      if (copy.kind === 'write') void end.write(copy.id, copy.call);
    });
  };
  const toReader = (message: ToReader): void => {
    const copy = structuredClone(message);
    setImmediate(() => {
      if (copy.kind === 'answers') channel.answered(copy.outcomes);
      if (copy.kind === 'done') channel.done(copy.id, copy.outcome);
      if (copy.kind !== 'update') return;
      beside.applyUpdate(copy);
      end.taken();
    });
  };
  const end = new NodeRpcServer(local, toReader);
  end.taken();
  const channel = new NodeRpcClient(toNode, systemClock);
  const beside = createReaderApi({
    ...{ rules: createRules(structuredClone(params)), identity: local.identity, reader, channel },
  });
  local.listen({
    transactionReceived: (transaction) => end.received(transaction),
  });
  const urlOf = async (api: Parameters<typeof createHttpServer>[0]): Promise<string> => {
    const server = createHttpServer(api, { port: 0, address: '127.0.0.1' });
    t.teardown(() => server.close());
    return `http://127.0.0.1:${(await server.start()).port}`;
  };
  const [own, other] = [await urlOf(local), await urlOf(beside.api)];
  return { own, other, local, chain, rules, params, end, channel, asked, beside, reader };
}

interface Answer {
  readonly status: number;
  readonly place: readonly (string | null)[];
  readonly body: Untyped;
}

async function ask(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const place = [response.headers.get('x-height'), response.headers.get('x-block-id'), response.headers.get('etag')];
  return { status: response.status, place, body: text.startsWith('{') ? JSON.parse(text) : text };
}

function post(json: unknown): RequestInit {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
}

test('each request gets the same answer from a reader and from the node itself', async (t) => {
  const { own, other } = await setUpReaders(t);
  const spec = (await ask(`${own}/api/spec`)).body as { paths: Record<string, { get?: Untyped }> };
  const address = addressOf(hexOf(network.accounts[0]?.publicKey ?? new Uint8Array(32)));
  const targets = Object.entries(spec.paths)
    .filter(([path, { get }]) => get !== undefined && !/events|spec|metrics/.test(path))
    .map(([path]) => (path.startsWith('/healthz') || path.startsWith('/readyz') ? path : `/api${path}`))
    .map((path) => path.replace('{address}', address).replace('{state}', 'ready').replace('{id}', '1'));
  const { publicKey } = blocks[5] === undefined ? { publicKey: '' } : { publicKey: blocks[5].generatorPublicKey };
  targets.push(
    ...[
      '/api/transactions?sort=amount:desc&limit=5',
      '/api/transactions?minAmount=1&limit=3',
      '/api/transactions?bad=1',
    ],
    ...[
      `/api/blocks?generatorPublicKey=${publicKey}`,
      '/api/node/transactions/verified',
      '/api/node/slots?from=1&limit=3',
    ],
    ...[
      '/api/delegates/forgers?limit=3',
      '/api/node/status/forging?forging=true',
      '/nothing',
      '/api/node/digest?height=1',
    ],
  );
  t.true(targets.length > 20, targets.join());
  for (const target of targets) {
    const [expected, found] = [await ask(own + target), await ask(other + target)];
    t.deepEqual(found, expected, target);
  }
  const statuses = await Promise.all(targets.map(async (target) => (await ask(other + target)).status));
  t.true(statuses.filter((status) => status === 200).length > 15);
});

test("a transaction submitted to a reader is in the node's pool, and then in the reader's", async (t) => {
  const { own, other, local, rules } = await setUpReaders(t);
  const [from, to] = network.accounts;
  if (from === undefined || to === undefined) throw new Error('the network has accounts');
  const json = rules.codec.transactionToJson(maker.transfer(from, to, 7n));
  const handed = await ask(`${other}/api/transactions`, post(json));
  t.is(handed.status, 200, JSON.stringify(handed.body));
  const states = ['ready', 'verified', 'pending', 'validated', 'received'] as const;
  const [entry] = states.flatMap((state) =>
    [...local.poolEntries(state)].map(({ transaction }) => ({ state, transaction })),
  );
  t.is(entry?.transaction.id, String(json['id']));
  const pool = await ask(`${other}/api/node/transactions/${entry?.state}`);
  t.is(pool.body.data[0].id, json['id']);
  t.deepEqual(pool, await ask(`${own}/api/node/transactions/${entry?.state}`));
  const refused = post({ ...json, signature: '00'.repeat(64), id: undefined });
  t.deepEqual(await ask(`${other}/api/transactions`, refused), await ask(`${own}/api/transactions`, refused));
  const forging = { method: 'PUT', headers: { 'Content-Type': 'application/json' } };
  const body = JSON.stringify({ publicKey: 'ab'.repeat(32), password: 'a password', forging: true });
  const switched = await ask(`${other}/api/node/status/forging`, { ...forging, body });
  t.is(switched.status, 404);
  t.deepEqual(switched, await ask(`${own}/api/node/status/forging`, { ...forging, body }));
});

test('a reader follows new blocks, answers from the new tip, and keeps an older snapshot while it is in use', async (t) => {
  const { other, chain, rules, params, end, reader } = await setUpReaders(t);
  const before = reader.current;
  let finish: () => void = () => undefined;
  const held = before.hold(() => new Promise<void>((resolve) => (finish = resolve)));
  const grow = (height: number): void => {
    const block = blocks[height - 1];
    if (block === undefined) throw new Error('the chain was made longer');
    const nowS = slotStartS(10_000, params);
    chain.transact((writer) =>
      writer.append(block, (state) => rules.applyBlock(state, block, { nowS, verify: () => true })),
    );
    end.chainChanged([]);
  };
  t.is((await ask(`${other}/api/blocks?limit=1`)).place[0], String(KEPT));
  const waiting = ask(`${other}/api/blocks?limit=1&minHeight=${HEIGHT}`);
  for (let height = KEPT + 1; height <= HEIGHT; height += 1) grow(height);
  const answer = await waiting;
  t.is(answer.place[0], String(HEIGHT));
  t.is(answer.body.data[0].height, HEIGHT);
  t.is(before.store.tip()?.height, KEPT, 'the moment stands still');
  t.is(before.store.block(KEPT + 1), undefined);
  finish();
  await held;
  t.throws(() => before.store.tables.get(Buffer.from([1])), { code: 'STORE_CLOSED' });
});

test('the headers of a status name no lower block than its body, even before the reader knows the newest block', async (t) => {
  const { other, chain, rules, params } = await setUpReaders(t);
  t.is((await ask(`${other}/api/node/status`)).place[0], String(KEPT));
  const block = blocks[KEPT];
  if (block === undefined) throw new Error('the chain was made longer');
  const nowS = slotStartS(10_000, params);
  chain.transact((writer) =>
    writer.append(block, (state) => rules.applyBlock(state, block, { nowS, verify: () => true })),
  );
  const { place, body } = await ask(`${other}/api/node/status`);
  t.is(body.data.height, KEPT + 1);
  t.deepEqual(place, [String(KEPT + 1), block.id, null]);
});

test('while the indexes lag, a reader answers from its older view, also about the height of the node', async (t) => {
  const { other, local, chain, rules, params, end } = await setUpReaders(t);
  const whole = await ask(`${other}/api/node/status`);
  // Let the node report a finalized height above the tip of the reader's older view.
  const statusOf = local.status.bind(local);
  Object.assign(local, { status: () => ({ ...statusOf(), finalizedHeight: HEIGHT }) });
  chain.deferIndexing();
  const nowS = slotStartS(10_000, params);
  for (const block of blocks.slice(KEPT)) {
    chain.transact((writer) =>
      writer.append(block, (state) => rules.applyBlock(state, block, { nowS, verify: () => true })),
    );
    end.chainChanged([]);
  }
  t.true(chain.indexLag > 0);
  const before = await ask(`${other}/api/node/status`);
  t.deepEqual([before.body.data.height, before.place[0]], [KEPT, String(KEPT)]);
  t.is(before.body.data.chainMaxHeightFinalized, whole.body.data.chainMaxHeightFinalized, 'the same block as before');
  const counted = await ask(`${other}/api/transactions?limit=1`);
  t.is(counted.place[0], String(KEPT));
  for (const _ of chain.backfill()) continue;
  end.indexesCompleted();
  t.false(end.hasMoved, 'the update is not confirmed');
  await waitFor('the move', async () => end.hasMoved, 10_000);
  const after = await ask(`${other}/api/transactions?limit=1`);
  t.is(after.place[0], String(HEIGHT));
  const added = blocks.slice(KEPT).reduce((sum, { transactions }) => sum + transactions.length, 0);
  t.true(added > 0);
  t.is(after.body.meta.count, counted.body.meta.count + added);
  t.is((await ask(`${other}/api/node/status`)).body.data.height, HEIGHT);
});

test('an update that was sent before a backfill does not count as the move to the complete chain', async (t) => {
  const { local } = await setUpReaders(t);
  const sent: ToReader[] = [];
  const end = new NodeRpcServer(local, (message) => sent.push(message));
  end.taken();
  t.true(end.hasMoved);
  end.chainChanged([]);
  end.indexesCompleted();
  t.is(sent.length, 1);
  end.taken();
  t.is(sent.length, 2);
  t.false(end.hasMoved, 'the first update may have come before the backfill');
  end.taken();
  t.true(end.hasMoved);
});

test('many equal requests share calls to the node, and more than the queue holds are refused', async (t) => {
  const { other, channel, asked } = await setUpReaders(t);
  asked.length = 0;
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(`${other}/api/node/status`)));
  t.true(answers.every(({ status }) => status === 200));
  const calls = asked.flatMap((message) => (message.kind === 'reads' ? message.calls : []));
  t.true(calls.length < 30, `${calls.length} calls for 60 requests`);
  const results = await Promise.allSettled(
    Array.from({ length: 1_000 }, (_, at) => channel.read('diagnostics', at + 1)),
  );
  const refused = results.filter(({ status }) => status === 'rejected');
  t.true(refused.length > 0 && refused.length < 600, `${refused.length} refused`);
  for (const each of refused) t.is((each as PromiseRejectedResult).reason.code, 'NODE_BUSY');
});

test('a reader cannot call functions that are not for readers', async (t) => {
  const { local } = await setUpReaders(t);
  const sent: ToReader[] = [];
  const end = new NodeRpcServer(local, (message) => sent.push(message));
  await end.reads([
    { method: 'listen', args: [] },
    { method: 'setForging', args: [] },
    { method: 'toString', args: [] },
  ]);
  await end.write(1, { method: 'status', args: [] });
  const [reads, write] = sent;
  t.true(reads?.kind === 'answers' && reads.outcomes.every((outcome) => 'error' in outcome));
  t.true(write?.kind === 'done' && 'error' in write.outcome);
});

test('an event stream of a reader reports a new transaction', async (t) => {
  const { other, chain, rules, params, end } = await setUpReaders(t);
  const stop = new AbortController();
  const response = await fetch(`${other}/api/events`, { signal: stop.signal });
  t.is(response.status, 200);
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString('utf8');
  })().catch(() => undefined);
  const [from, to] = network.accounts;
  const block = blocks[KEPT];
  if (from === undefined || to === undefined || block === undefined) throw new Error('the chain was made longer');
  const json = rules.codec.transactionToJson(maker.transfer(from, to, 9n));
  t.is((await ask(`${other}/api/transactions`, post(json))).status, 200);
  const nowS = slotStartS(10_000, params);
  chain.transact((writer) =>
    writer.append(block, (state) => rules.applyBlock(state, block, { nowS, verify: () => true })),
  );
  end.chainChanged([]);
  await waitFor('both events', async () => text.includes(String(json['id'])), 30_000);
  stop.abort();
  await reading;
  t.true(text.includes('event: transactions/new'), text);
});

test('a refresh of a reader opens no chain and notifies nobody while there is no new block', async (t) => {
  const { chain, rules, params, beside, reader } = await setUpReaders(t);
  let changes = 0;
  beside.api.listen({
    chainChanged: () => {
      changes += 1;
    },
  });
  const before = reader.current;
  for (let times = 0; times < 1_000; times += 1) beside.api.refresh?.();
  t.is(reader.current, before);
  t.is(changes, 0);
  const block = blocks[KEPT];
  if (block === undefined) throw new Error('the chain was made longer');
  const nowS = slotStartS(10_000, params);
  chain.transact((writer) =>
    writer.append(block, (state) => rules.applyBlock(state, block, { nowS, verify: () => true })),
  );
  for (let times = 0; times < 1_000; times += 1) beside.api.refresh?.();
  t.is(beside.api.chain.tip()?.id, block.id);
  t.is(changes, 1);
});

test('the node learns which client asks for signers, because the client pays for the checks', async (t) => {
  const { other, asked } = await setUpReaders(t);
  t.is((await ask(`${other}/api/node/transactions/1/signers`)).status, 404);
  const calls = asked.flatMap((message) => (message.kind === 'reads' ? message.calls : []));
  t.deepEqual(calls, [{ method: 'signersOf', args: ['1', '127.0.0.1'] }]);
});
