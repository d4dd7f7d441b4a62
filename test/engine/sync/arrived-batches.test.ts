import test from 'ava';
import { approximateJsonBytes, ArrivedBatches, type SizedBatch } from '../../../src/engine/sync/arrived-batches.ts';
import { ChainMaker } from '../../support/chain-maker.ts';
import { blocksOf } from '../chain/lone-chain.ts';

const maker = new ChainMaker();
maker.growTo(40);
const blocks = blocksOf(maker, 1);

function batch(at: number, peerId = 'peer', bytes = 1000): SizedBatch {
  return { blocks: blocks.slice(at, at + 1), peerId, bytes, prepared: Promise.resolve() };
}

/** Runs the waiting callbacks of all promises. Returns whether `promise` has then resolved. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => (resolved = true));
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
  return resolved;
}

test('batches of one peer are joined, up to four and up to the first of another peer', async (t) => {
  const arrived = new ArrivedBatches();
  for (let at = 0; at < 5; at += 1) arrived.add(batch(at));
  arrived.add(batch(5, 'other'));
  arrived.add(batch(6));
  arrived.end();
  const taken: unknown[] = [];
  for (let each = await arrived.take(true); each !== undefined; each = await arrived.take(true)) {
    taken.push([each.peerId, ...each.blocks.map(({ height }) => height - 2)]);
  }
  t.deepEqual(taken, [
    ['peer', 0, 1, 2, 3],
    ['peer', 4],
    ['other', 5],
    ['peer', 6],
  ]);
});

test('batches are taken one by one if they must not be joined', async (t) => {
  const arrived = new ArrivedBatches();
  for (let at = 0; at < 3; at += 1) arrived.add(batch(at));
  for (let at = 0; at < 3; at += 1) t.is((await arrived.take(false))?.blocks.length, 1);
});

test('joined blocks are prepared when each batch is, and a failed batch fails them', async (t) => {
  const arrived = new ArrivedBatches();
  let prepare: () => void = () => undefined;
  const prepared = new Promise<void>((resolve) => {
    prepare = resolve;
  });
  arrived.add(batch(0));
  arrived.add({ ...batch(1), prepared });
  const taken = await arrived.take(true);
  if (taken === undefined) return t.fail();
  t.false(await isResolved(taken.prepared));
  prepare();
  t.true(await isResolved(taken.prepared));

  arrived.add(batch(2));
  arrived.add({ ...batch(3), prepared: Promise.reject(new Error('not prepared')) });
  const failed = await arrived.take(true);
  await t.throwsAsync(() => failed?.prepared ?? Promise.resolve(), { message: 'not prepared' });
});

test('the download pauses at twelve batches, and what the consumer works on counts', async (t) => {
  const arrived = new ArrivedBatches();
  for (let at = 0; at < 11; at += 1) arrived.add(batch(at));
  t.true(await isResolved(arrived.space()));
  arrived.add(batch(11));
  const space = arrived.space();
  t.false(await isResolved(space));
  await arrived.take(true);
  t.false(await isResolved(space), 'the consumer has four of them, and they are still in memory');
  await arrived.take(true);
  t.true(await isResolved(space));
});

test('the download pauses at nine megabytes', async (t) => {
  const arrived = new ArrivedBatches();
  arrived.add(batch(0, 'peer', 8_999_999));
  t.true(await isResolved(arrived.space()));
  arrived.add(batch(1, 'peer', 1));
  const space = arrived.space();
  t.false(await isResolved(space));
  await arrived.take(true);
  t.false(await isResolved(space));
  const next = arrived.take(true);
  t.true(await isResolved(space), 'the consumer asks for the next blocks, so it has released those');
  arrived.end();
  t.is(await next, undefined);
});

test('an error comes after the batches before it, and an end frees who waits for space', async (t) => {
  const arrived = new ArrivedBatches();
  for (let at = 0; at < 12; at += 1) arrived.add(batch(at));
  const space = arrived.space();
  arrived.end({ error: new Error('silent') });
  t.true(await isResolved(space));
  for (let at = 0; at < 3; at += 1) t.is((await arrived.take(true))?.blocks.length, 4);
  await t.throwsAsync(() => arrived.take(true), { message: 'silent' });
});

test('the approximate size of JSON is near its size', (t) => {
  const json = maker.rules.codec.blockToJson(maker.tip);
  for (const value of [json, [json, json], { text: 'a'.repeat(10_000), list: ['bb', 3, null, true] }]) {
    const ratio = approximateJsonBytes(value) / JSON.stringify(value).length;
    t.true(ratio > 0.9 && ratio < 1.3, `${ratio}`);
  }
});
