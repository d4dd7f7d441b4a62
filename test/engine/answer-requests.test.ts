import test from 'ava';
import { createRequestAnswerer, type AnswerLimits } from '../../src/engine/answer-requests.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { ChainReader } from '../../src/ports/store.ts';
import { type ChainRequest, PeerOffence } from '../../src/ports/transport.ts';
import type { Block, Transaction } from '../../src/protocol/types.ts';
import { blockOf, person, PoolWorld } from '../support/pool-world.ts';

const alice = person('alice');
const bob = person('bob');

/** Returns a reader for a chain of the given blocks. The first block has height 1. */
function chainOf(blocks: readonly Block[]): ChainReader {
  const heightOf = (id: string) => blocks.find((block) => block.id === id)?.height;
  const placeOf = (id: string) =>
    blocks.flatMap(({ height, transactions }) =>
      transactions.flatMap((transaction, index) => (transaction.id === id ? [{ height, index }] : [])),
    )[0];
  const chain: Partial<ChainReader> = {
    tip: () => blocks.at(-1),
    block: (height) => blocks[height - 1],
    header: (height) => blocks[height - 1],
    heightOf,
    transactionPlace: placeOf,
    transaction: ({ height, index }) => blocks[height - 1]?.transactions[index],
  };
  return chain as ChainReader;
}

interface Served {
  readonly world: PoolWorld;
  ask(request: unknown): Promise<unknown>;
}

function serve(height: number, transactions: readonly Transaction[] = [], limits: Partial<AnswerLimits> = {}): Served {
  const world = new PoolWorld();
  world.setAccount(alice);
  const blocks = Array.from({ length: height }, (_, index) =>
    blockOf(index + 1, index + 1 === height ? transactions : []),
  );
  const answer = createRequestAnswerer({ store: chainOf(blocks), rules: world.rules, pool: world.pool, limits });
  return { world, ask: (request) => answer('127.0.0.1:5000', request as ChainRequest) };
}

const heights = (answer: unknown) => (answer as { height: number }[]).map(({ height }) => height);
const ids = (answer: unknown) => (answer as { id: string }[]).map(({ id }) => id);

test('the tip is served with its transactions', async (t) => {
  const maker = new PoolWorld();
  const transaction = maker.read(maker.transfer(alice, bob));
  const tip = (await serve(3, [transaction]).ask({ kind: 'tip' })) as { height: number; transactions: unknown };
  t.is(tip.height, 3);
  t.deepEqual(ids(tip.transactions), [transaction.id]);
});

test('blocks after an id are returned in ascending order, up to the tip', async (t) => {
  t.deepEqual(heights(await serve(5).ask({ kind: 'blocksAfter', blockId: '2' })), [3, 4, 5]);
  t.deepEqual(heights(await serve(5).ask({ kind: 'blocksAfter', blockId: '5' })), []);
});

test('one answer holds 34 blocks', async (t) => {
  const answer = heights(await serve(50).ask({ kind: 'blocksAfter', blockId: '1' }));
  t.deepEqual([answer.length, answer[0], answer.at(-1)], [34, 2, 35]);
});

test('blocks too large for one answer are served in parts, at least one per answer', async (t) => {
  const bytes = Buffer.byteLength(JSON.stringify(new PoolWorld().rules.codec.blockToJson(blockOf(12))));
  const limited = (blocksBytesMax: number) =>
    serve(20, [], { blocksBytesMax }).ask({ kind: 'blocksAfter', blockId: '11' });
  t.is(heights(await limited(3 * (bytes + 1))).length, 3);
  t.is(heights(await limited(3 * (bytes + 1) - 1)).length, 2);
  t.is(heights(await limited(1)).length, 1);
});

test('blocks after an id that is not in this chain are refused with the error text of the reference', async (t) => {
  const error = await t.throwsAsync(serve(3).ask({ kind: 'blocksAfter', blockId: '77' }), {
    instanceOf: ProtocolError,
  });
  t.is(error?.message, 'Invalid lastBlockId requested: 77');
});

test('the answer to several ids is the header of the highest common block', async (t) => {
  const { ask } = serve(9);
  const header = (await ask({ kind: 'highestCommonBlock', blockIds: ['2', '77', '5', '3'] })) as Record<
    string,
    unknown
  >;
  t.is(header['id'], '5');
  t.is(header['height'], 5);
  t.false('transactions' in header);
});

test('without a common block the answer is empty', async (t) => {
  t.is(await serve(9).ask({ kind: 'highestCommonBlock', blockIds: ['77', '78'] }), undefined);
});

test('more ids than a peer ever needs are refused without a penalty', async (t) => {
  const { ask } = serve(2);
  const blockIds = Array.from({ length: 1001 }, (_, index) => String(index + 100));
  const error = await t.throwsAsync(ask({ kind: 'highestCommonBlock', blockIds }), { instanceOf: ProtocolError });
  t.is(error?.code, 'TOO_MANY_BLOCK_IDS');
});

test('without ids the pool is shared, at most 25 transactions', async (t) => {
  const { world, ask } = serve(2);
  const submitted = Array.from({ length: 27 }, () => world.submit(world.transfer(alice, bob)));
  t.deepEqual(ids(await ask({ kind: 'transactions' })), submitted.slice(0, 25));
});

test('named transactions are taken from the pool, then from the chain; unknown ones are left out', async (t) => {
  const maker = new PoolWorld();
  const confirmedJson = maker.transfer(bob, alice);
  const { world, ask } = serve(2, [maker.read(confirmedJson)]);
  const pooledJson = world.transfer(alice, bob);
  const pooled = world.submit(pooledJson);
  const answer = await ask({ kind: 'transactions', ids: [String(confirmedJson['id']), '99', pooled] });
  t.deepEqual(ids(answer), [pooled, String(confirmedJson['id'])]);
  for (const [index, json] of [pooledJson, confirmedJson].entries()) {
    t.like((answer as object[])[index], { signature: json['signature'], asset: json['asset'] });
  }
  t.deepEqual(await ask({ kind: 'transactions', ids: [] }), []);
});

test('signatures of pending transactions are served', async (t) => {
  const { world, ask } = serve(2);
  const json = world.multisignature(alice, [bob], 1);
  const id = world.submit(json);
  t.deepEqual(await ask({ kind: 'signatures' }), []);
  const signature = world.signatureOf(bob, json);
  t.true(world.pool.addSignature(signature).accepted);
  t.deepEqual(await ask({ kind: 'signatures' }), [{ transaction: id, signatures: [signature.signature] }]);
});

for (const [what, request] of [
  ['blocks after no id', { kind: 'blocksAfter' }],
  ['blocks after a number', { kind: 'blocksAfter', blockId: 5 }],
  ['blocks after a word', { kind: 'blocksAfter', blockId: 'five' }],
  ['blocks after an id beyond 64 bits', { kind: 'blocksAfter', blockId: '18446744073709551616' }],
  ['a common block of no list', { kind: 'highestCommonBlock', blockIds: '1,2' }],
  ['a common block of an empty list', { kind: 'highestCommonBlock', blockIds: [] }],
  ['a common block of twice the same id', { kind: 'highestCommonBlock', blockIds: ['1', '1'] }],
  ['a common block of objects', { kind: 'highestCommonBlock', blockIds: [{}] }],
  ['transactions of no list', { kind: 'transactions', ids: {} }],
  ['transactions of words', { kind: 'transactions', ids: ['x'] }],
  ['26 transactions', { kind: 'transactions', ids: Array.from({ length: 26 }, (_, index) => String(index)) }],
] as const) {
  test(`a peer that asks for ${what} violates the protocol`, async (t) => {
    const error = await t.throwsAsync(serve(3).ask(request), { instanceOf: PeerOffence });
    t.is(error?.offence, 'MALFORMED_MESSAGE');
  });
}
