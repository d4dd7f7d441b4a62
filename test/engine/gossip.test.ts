import test from 'ava';

import type { ImportOutcome } from '../../src/engine/block-importer.ts';
import { Gossip, type GossipDependencies } from '../../src/engine/gossip.ts';
import { NO_PAYER, type Payer } from '../../src/engine/pool/verification-budget.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { AnswerTo, PeerRequest } from '../../src/ports/transport.ts';
import type { Codec } from '../../src/protocol/rules.ts';
import type { Block, JsonObject, KeyPair, MemberSignature } from '../../src/protocol/types.ts';
import {
  BlockRejected,
  type BlockRejectionCode,
  TransactionRejected,
  type TransactionRejectionCode,
} from '../../src/protocol/verdict.ts';
import { ChainMaker, keyPairOf, makeNetwork, signBlock } from '../support/chain-maker.ts';
import { FAKE_CODEC, fakeBlock } from '../support/fake-codec.ts';
import { person, PoolWorld } from '../support/pool-world.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

/** Dependencies of `Gossip` without peers, blocks and transactions. */
const QUIET: GossipDependencies = {
  chain: { listen: () => undefined, state: { hasTransaction: () => false }, rules: { codec: FAKE_CODEC } },
  importer: { import: () => Promise.resolve({ kind: 'ignored', status: 'discard' }) },
  pool: {
    has: () => false,
    get: () => undefined,
    receive: () => ({ accepted: [], refused: [], fault: undefined, examined: [] }),
    verifyReceived: () => undefined,
    addSignature: () => ({ accepted: false, code: 'TRANSACTION_INVALID', message: '', errors: [] }),
  },
  clock: { nowMs: () => 0, after: () => ({ cancel: () => undefined }) },
  observer: SILENT,
  generation: 3,
  gossipPeersMax: 16,
  transactionGossip: 'ids',
  transport: {
    connections: () => [],
    send: () => undefined,
    request: () => Promise.reject(new Error('nobody is asked')),
  },
  gossipTargets: () => [],
  penalise: () => undefined,
  noteBlockTime: () => undefined,
  payerOf: () => NO_PAYER,
  cutWasteful: () => undefined,
  synchronizer: { syncing: false, trigger: () => undefined },
};

/** Reads and writes a fake block with all members of the JSON except `junk`. */
const BLOCK_CODEC: Codec = {
  ...FAKE_CODEC,
  blockFromJson: (json) => {
    const { junk: _, ...members } = json as Partial<Block> & { readonly junk?: unknown };
    return fakeBlock(undefined, [], members);
  },
  blockToJson: (block) => ({ ...block, totalAmount: '0', totalFee: '0', reward: '0' }) as unknown as JsonObject,
  headerToJson: ({ id, height, blockSignature }) => ({ id, height, blockSignature }),
};

/**
 * Makes a `Gossip` with an importer that records the blocks it gets. For each block, the importer calls `refuse`. If
 * the result is undefined, the importer reports the block as applied. If the result is `passOver`, it reports the block
 * as ignored. If the result is a code, it reports the block as refused.
 */
function setUpGossip(
  refuse: (block: Block) => BlockRejectionCode | 'passOver' | undefined,
  codec: Codec = BLOCK_CODEC,
) {
  const received: Block[] = [];
  const penalties: string[] = [];
  const timed: string[] = [];
  const chain = {
    listen: () => undefined,
    state: { hasTransaction: () => false },
    rules: { codec },
  };
  const importer = {
    import: (block: Block): Promise<ImportOutcome> => {
      received.push(block);
      const code = refuse(block);
      if (code === undefined) return Promise.resolve({ kind: 'applied' });
      if (code === 'passOver') return Promise.resolve({ kind: 'ignored', status: 'discard' });
      const data = Reflect.get(block, 'isOld') === true ? { slot: 4, currentSlot: 5 } : { slot: 6, currentSlot: 5 };
      return Promise.resolve({ kind: 'refused', rejection: new BlockRejected(code, 'refused', data) });
    },
  };
  const gossip = new Gossip({
    ...QUIET,
    chain,
    importer,
    penalise: (_peerId: string, code: string) => penalties.push(code),
    noteBlockTime: (peerId, { id }, _receivedMs, kind) => timed.push(`${peerId} ${id} ${kind}`),
  });
  gossip.start();
  const give = async (block: JsonObject, from = '10.0.0.1:5000'): Promise<void> => {
    gossip.receive(from, { kind: 'block', block });
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { give, received, penalties, timed };
}

test('a corrupted copy of a block does not hide the valid one with the same id', async (t) => {
  const { give, received } = setUpGossip((block) =>
    Reflect.get(block, 'corrupted') === true ? 'BLOCK_PAYLOAD_INVALID' : undefined,
  );
  await give({ id: '7', height: 2, corrupted: true });
  await give({ id: '7', height: 2 });
  t.is(received.length, 2);
});

test('the same refused block is checked and penalised once, and an applied block is not checked again', async (t) => {
  const { give, received, penalties } = setUpGossip((block) =>
    block.id === '8' ? 'BLOCK_SIGNATURE_INVALID' : undefined,
  );
  for (const id of ['8', '8', '9', '9']) await give({ id, height: 2 });
  t.deepEqual(
    received.map(({ id }) => id),
    ['8', '9'],
  );
  t.deepEqual(penalties, ['BLOCK_SIGNATURE_INVALID']);
});

test('an unsigned copy of a block with a wrong height does not hide the one with the right height', async (t) => {
  const { give, received } = setUpGossip((block) => (block.height === 1 ? 'passOver' : undefined));
  for (const height of [1, 1, 2, 2]) await give({ id: '7', height });
  t.deepEqual(
    received.map(({ height }) => height),
    [1, 2],
  );
});

for (const generation of [2, 3] as const) {
  for (const outcome of ['BLOCK_FORGER_INVALID', 'BLOCK_PAYLOAD_INVALID', 'passOver'] as const) {
    test(`generation ${generation}: ${outcome}: copies with unknown members are not checked again`, async (t) => {
      const maker = new ChainMaker(makeNetwork({ generation }));
      const { codec } = maker.rules;
      const [rich, poor] = maker.network.accounts as [KeyPair, KeyPair];
      const { give, received } = setUpGossip(() => outcome, codec);
      const block = maker.build({ transactions: [maker.transfer(rich, poor, 1n)] });
      const json = codec.blockToJson(signBlock(block, {}, keyPairOf('stranger')));
      const [transaction] = json['transactions'] as [JsonObject];
      const variants: readonly JsonObject[] = [
        json,
        json,
        { junk: 1, ...json },
        { ...json, junk: 'x' },
        { ...json, id: '77' },
        { ...json, transactions: [{ ...transaction, junk: 1 }] },
        Object.fromEntries(Object.entries(json).reverse()) as JsonObject,
      ];
      for (const [index, variant] of variants.entries()) await give(variant, `10.0.0.${index}:5000`);
      t.is(received.length, 1);
      await give({ ...json, height: 1 + Number(json['height']) });
      t.is(received.length, 2, 'another height is another block');
    });
  }

  test(`generation ${generation}: a false slot owner is remembered for the header, whatever the transactions`, async (t) => {
    const maker = new ChainMaker(makeNetwork({ generation }));
    const { codec } = maker.rules;
    const [rich, poor] = maker.network.accounts as [KeyPair, KeyPair];
    const json = codec.blockToJson(maker.build({ transactions: [maker.transfer(rich, poor, 1n)] }));
    const [transaction] = json['transactions'] as [JsonObject];
    const altered = { ...json, transactions: [{ ...transaction, signatures: ['ab'.repeat(64)] }] };
    for (const [code, checked] of [
      ['BLOCK_FORGER_INVALID', 1],
      ['BLOCK_PAYLOAD_INVALID', 2],
    ] as const) {
      const { give, received } = setUpGossip(() => code, codec);
      await give(altered);
      await give(json);
      t.is(received.length, checked, code);
    }
  });
}

for (const code of ['BLOCK_TIMESTAMP_INVALID', 'BLOCK_TRANSACTION_INVALID'] as const) {
  test(`a block refused with ${code} is checked again, because our clock may have been slow`, async (t) => {
    const { give, received } = setUpGossip(() => code);
    await give({ id: '8', height: 2 });
    await give({ id: '8', height: 2 });
    t.is(received.length, 2);
  });
}

test('the arrival time of a block measures the clock of its sender, unless the block is otherwise invalid', async (t) => {
  const codes: Readonly<Record<string, BlockRejectionCode>> = {
    '2': 'BLOCK_TIMESTAMP_INVALID',
    '3': 'BLOCK_SIGNATURE_INVALID',
    '4': 'BLOCK_TIMESTAMP_INVALID',
  };
  const { give, timed } = setUpGossip((block) => codes[block.id]);
  await give({ id: '1' });
  await give({ id: '1' }, '10.0.0.2:5000');
  await give({ id: '2' });
  await give({ id: '3' });
  await give({ id: '4', isOld: true });
  t.deepEqual(timed, ['10.0.0.1:5000 1 imported', '10.0.0.2:5000 1 known', '10.0.0.1:5000 2 early']);
});

/**
 * Makes a `Gossip` with a pool that refuses each signature. The pool refuses a signature with an error code. This code
 * is the text of the signature itself.
 */
function signatureStage() {
  const read: string[] = [];
  const penalties: string[] = [];
  const time = { nowMs: 0 };
  const pool: GossipDependencies['pool'] = {
    ...QUIET.pool,
    addSignature: ({ transactionId, signature }: MemberSignature) => {
      read.push(transactionId);
      return { accepted: false, code: signature, message: 'Error processing signature', errors: [] };
    },
  };
  const gossip = new Gossip({
    ...QUIET,
    pool,
    clock: { nowMs: () => time.nowMs, after: () => ({ cancel: () => undefined }) },
    penalise: (_peerId: string, code: string) => penalties.push(code),
  });
  gossip.start();
  const receive = (from: string, codes: Readonly<Record<string, string>>): void => {
    const signatures = Object.entries(codes).map(([transactionId, signature]) => {
      return { transactionId, publicKey: '', signature };
    });
    gossip.receive(from, { kind: 'signatures', signatures });
  };
  return { receive, read, penalties, time };
}

const [UNFIT, FALSE] = ['TRANSACTION_INVALID', 'MEMBER_SIGNATURE_FALSE'];

test("after a false member signature a peer's signatures are ignored for a minute, and it stays connected", (t) => {
  const { receive, read, penalties, time } = signatureStage();
  receive('10.0.0.1:5000', { 1: UNFIT, 2: FALSE, 3: FALSE });
  t.deepEqual(read, ['1', '2'], 'the rest of the message is left unread');
  receive('10.0.0.1:5000', { 4: UNFIT });
  receive('10.0.0.2:5000', { 5: UNFIT });
  t.deepEqual(read, ['1', '2', '5'], 'others are read');
  time.nowMs += 59_999;
  receive('10.0.0.1:5000', { 6: UNFIT });
  t.deepEqual(read, ['1', '2', '5']);
  time.nowMs += 1;
  receive('10.0.0.1:5000', { 7: UNFIT });
  t.deepEqual(read, ['1', '2', '5', '7']);
  t.deepEqual(penalties, []);
});

test('a peer is not ignored for signatures that do not fit, because honest peers send them, too', (t) => {
  const { receive, read, penalties } = signatureStage();
  for (let sent = 0; sent < 100; sent += 1) receive('10.0.0.1:5000', { [sent]: UNFIT });
  t.is(read.length, 100);
  t.deepEqual(penalties, []);
});

/**
 * Makes a `Gossip` with a pool that refuses the transactions of lying peers (peers whose id begins with `liar`). The
 * code of the refusal is `code` for the first `lookedAt` transactions of a lying peer, and `VERIFICATION_LIMIT` for the
 * others.
 */
function fetchStage(lookedAt: number, code: TransactionRejectionCode) {
  const time = new VirtualTime(0);
  const asked: string[] = [];
  const here = new Set<string>();
  const levels = new Map<string, number>();
  const payers = new Map<Payer, string>();
  const payerOf = (peerId: string): Payer => {
    const payer = { ...NO_PAYER };
    payers.set(payer, peerId);
    return payer;
  };
  const pool: GossipDependencies['pool'] = {
    ...QUIET.pool,
    has: (id: string) => here.has(id),
    receive: ([json], payer = NO_PAYER) => {
      const peerId = payers.get(payer) ?? '';
      const isLiar = peerId.startsWith('liar');
      const level = levels.get(peerId) ?? lookedAt;
      levels.set(peerId, level - 1);
      const limited = isLiar && level <= 0;
      const refusal =
        limited || isLiar ? new TransactionRejected(limited ? 'VERIFICATION_LIMIT' : code, []) : undefined;
      const { id } = json as { readonly id: string };
      if (refusal === undefined) here.add(id);
      const isFault = refusal?.code === 'TRANSACTION_INVALID';
      return {
        accepted: [],
        refused: refusal === undefined || isFault ? [] : [refusal],
        fault: isFault ? refusal : undefined,
        examined: limited ? [] : [id],
      };
    },
  };
  const transport = {
    ...QUIET.transport,
    request: async <R extends PeerRequest>(peerId: string, request: R): Promise<AnswerTo<R>> => {
      if (request.kind !== 'transactions') throw new Error('only transactions are asked for');
      const { ids = [] } = request;
      asked.push(`${peerId}: ${ids.join(' ')}`);
      return ids.map((id) => ({ id })) as readonly unknown[] as AnswerTo<R>;
    },
  };
  const gossip = new Gossip({ ...QUIET, pool, clock: time.clock(), transport, payerOf });
  gossip.start();
  const receive = (from: string, ids: readonly string[]): void => gossip.receive(from, { kind: 'transactionIds', ids });
  const run = async (seconds: number): Promise<void> => {
    for (let tick = 0; tick < seconds; tick += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await time.runUntil(time.nowMs + 1_000);
    }
  };
  return { receive, run, asked, here };
}

for (const [what, lookedAt, code] of [
  ['were not looked at, as the budget of the peer was used up', 1, 'TRANSACTION_NOT_APPLICABLE'],
  ['came after one at fault', 3, 'TRANSACTION_INVALID'],
] as const) {
  test(`transactions that ${what} do not count as refused`, async (t) => {
    const { receive, run, here } = fetchStage(lookedAt, code);
    for (const liar of ['liar 1', 'liar 2', 'liar 3']) {
      receive(liar, [`refused of ${liar}`, 'good']);
      await run(3);
    }
    receive('honest', ['good']);
    await run(3);
    t.deepEqual([...here], ['good']);
  });
}

test('a refused transaction under the id of another one does not keep the other one out of the pool', async (t) => {
  const world = new PoolWorld();
  const [alice, bob] = [person('alice'), person('bob')];
  world.setAccount(alice);
  const known = world.transfer(alice, bob);
  const wanted = world.transfer(alice, bob);
  const id = String(wanted['id']);
  world.pool.receive([known]);
  const time = new VirtualTime(0);
  const penalties: string[] = [];
  const asked: string[] = [];
  const transport = {
    ...QUIET.transport,
    request: async <R extends PeerRequest>(peerId: string): Promise<AnswerTo<R>> => {
      asked.push(peerId);
      return [peerId === 'honest' ? wanted : { ...known, id }] as readonly unknown[] as AnswerTo<R>;
    },
  };
  const penalise = (_peerId: string, code: string): unknown => penalties.push(code);
  const gossip = new Gossip({ ...QUIET, pool: world.pool, clock: time.clock(), transport, penalise });
  gossip.start();
  for (const peerId of ['liar 1', 'liar 2', 'liar 3', 'honest']) {
    gossip.receive(peerId, { kind: 'transactionIds', ids: [id] });
    await new Promise((resolve) => setImmediate(resolve));
    await time.runUntil(time.nowMs + 3_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.deepEqual(asked, ['liar 1', 'liar 2', 'liar 3', 'honest']);
  t.true(world.pool.has(id));
  t.deepEqual(penalties, []);
});
