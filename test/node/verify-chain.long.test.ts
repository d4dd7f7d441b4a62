import test, { type ExecutionContext } from 'ava';
import {
  chainDirectory,
  clockOfChain,
  openChain,
  openScratchChain,
  openSnapshot,
  type ChainLocation,
} from '../../src/node/chain-tool.ts';
import { BranchRejected } from '../../src/engine/commit.ts';
import { systemClock } from '../../src/node/system.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { verifyChain, type VerifyResult } from '../../src/node/verify-chain.ts';
import type { Block } from '../../src/protocol/types.ts';
import { BlockRejected } from '../../src/protocol/verdict.ts';
import { COUNTED_TABLES, type TableName, TABLES } from '../../src/store/tables/layout.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const HEIGHT = 110;
const { network, blocks } = madeChain(HEIGHT);

async function verify(place: ChainLocation, clockOf = (_: StoredChain): Clock => systemClock): Promise<VerifyResult> {
  const { store } = await openSnapshot(place);
  const scratch = await openScratchChain(place, clockOf(store));
  try {
    return await verifyChain({ examined: store, scratch });
  } finally {
    await scratch.close();
    await store.close();
  }
}

async function stored(t: ExecutionContext): Promise<ChainLocation> {
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  return place;
}

/**
 * Damages one entry of the store directly in the database: the first entry of a table, or the entry with a given key.
 * `turn` flips the last bit of the entry's value. `add` keeps the entry, and stores its value also under a longer key.
 */
async function damage(
  place: ChainLocation,
  what: TableName | Buffer,
  change: 'turn' | 'remove' | 'add',
): Promise<void> {
  const keys = openLmdb(chainDirectory(place), false);
  keys.transact((writer) => {
    const range = typeof what === 'string' ? TABLES[what].all : { gte: what, lt: Buffer.from([255]) };
    const [entry] = writer.entries({ ...range, limit: 1 });
    if (entry === undefined) throw new Error('there is nothing to damage');
    if (change === 'remove') writer.remove(entry.key);
    else if (change === 'add') writer.put(Buffer.concat([entry.key, Buffer.from([7])]), entry.value);
    else
      writer.put(entry.key, Buffer.concat([entry.value.subarray(0, -1), Buffer.from([(entry.value.at(-1) ?? 0) ^ 1])]));
  });
  await keys.close();
}

test('an intact store passes, and its tip and digest are reported', async (t) => {
  const place = locationIn(temporaryFolder(t), network);
  const digest = await storeChain(place, blocks);
  const { keys, ...result } = await verify(place);
  t.deepEqual(result, { height: HEIGHT, blockId: blocks.at(-1)?.id ?? '', digest, deviation: undefined });
  t.true(keys > 1000);
});

test('a store with blocks that are ahead of the clock of this machine passes', async (t) => {
  const place = await stored(t);
  const slow: Clock = { ...systemClock, nowMs: () => network.params.epochMs };
  t.regex((await verify(place, () => slow)).deviation ?? '', /BLOCK_TIMESTAMP_INVALID/);
  t.is((await verify(place, (store) => clockOfChain(store, network.params, slow))).deviation, undefined);
});

test('a store with reverted blocks passes, too', async (t) => {
  const place = await stored(t);
  const { chain, close } = await openChain(place, false);
  await chain.rollback(70);
  await chain.append(blocks.slice(70, 90));
  await close();
  const { height, deviation } = await verify(place);
  t.deepEqual({ height, deviation }, { height: 90, deviation: undefined });
});

test('a changed block is named with its height and reason', async (t) => {
  for (const [key, words] of [
    [TABLES.headers.key(40), /block [0-9]+ at height 40: Invalid block signature \(BLOCK_SIGNATURE_INVALID\)/],
    [TABLES.transactions.key({ height: 50, index: 0 }), /block( [0-9]+)? at height 50( cannot be read)?: /],
  ] as const) {
    const place = await stored(t);
    await damage(place, key, 'turn');
    t.regex((await verify(place)).deviation ?? '', words);
  }
  const gap = await stored(t);
  await damage(gap, TABLES.headers.key(41), 'remove');
  t.is((await verify(gap)).deviation, 'there is no block at height 41');
  const cut = await stored(t);
  await damage(cut, TABLES.transactions.key({ height: 50, index: 0 }), 'remove');
  t.regex((await verify(cut)).deviation ?? '', /block( [0-9]+)? at height 50( cannot be read)?: /);
});

test('a store of many commits passes, and a changed block far up is named', async (t) => {
  const { network: longNetwork, blocks: longBlocks } = madeChain(800);
  const place = locationIn(temporaryFolder(t), longNetwork);
  await storeChain(place, longBlocks);
  t.is((await verify(place)).deviation, undefined);
  await damage(place, TABLES.headers.key(700), 'turn');
  t.regex((await verify(place)).deviation ?? '', /block [0-9]+ at height 700: Invalid block signature/);
});

test('the verification ends when signatures cannot be checked, and the process continues', async (t) => {
  const { network: longNetwork, blocks: longBlocks } = madeChain(400);
  const place = locationIn(temporaryFolder(t), longNetwork);
  await storeChain(place, longBlocks);
  const { store } = await openSnapshot(place);
  const { chain, store: scratchStore, close } = await openScratchChain(place);
  // The signature check of the second group of blocks (from height 342) fails while the chain still applies the first
  // group. If the verification did not handle this rejection immediately, the unhandled rejection would make this test
  // file fail.
  const validator = {
    precheckSignatures: (group: readonly Block[]): Promise<void> =>
      group[0]?.height === 342
        ? Promise.reject(new Error('no thread answers'))
        : chain.validator.precheckSignatures(group),
  };
  const scratch = (append: typeof chain.append) => ({
    store: scratchStore,
    chain: { rules: chain.rules, validator, append },
  });
  const slowly: typeof chain.append = async (group, perCommit) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await chain.append(group, perCommit);
  };
  await t.throwsAsync(verifyChain({ examined: store, scratch: scratch(slowly) }), { message: 'no thread answers' });
  t.is(chain.tip.header.height, 341);
  await chain.rollback(chain.finalizedHeight);

  const refusing: typeof chain.append = async (group) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new BranchRejected(group[0]!, new BlockRejected('BLOCK_REWARD_INVALID', 'too much'));
  };
  const { deviation } = await verifyChain({ examined: store, scratch: scratch(refusing) });
  t.is(deviation, `block ${longBlocks[1]!.id} at height 2: too much (BLOCK_REWARD_INVALID)`);
  await close();
  await store.close();
});

/**
 * Tables that the next test damages. The list `empty` contains the other tables: they have no entries in this chain, or
 * another test damages them.
 */
const FILLED = (Object.keys(TABLES) as TableName[]).filter((name) => {
  const empty = [
    'meta',
    'headers',
    'transactions',
    'notes',
    'innerBlocks',
    'transactionsByData',
    'secondPublicKeys',
    'memberships',
  ];
  return !empty.includes(name);
});

test('a wrong, missing or extra entry of any table is named with its table', async (t) => {
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  const { store } = await openSnapshot(place);
  const filled = FILLED.filter((name) => [...store.tables.keys({ ...TABLES[name].all, limit: 1 })].length);
  await store.close();
  t.true(filled.length > 15, filled.join());
  for (const [index, name] of filled.entries()) {
    const change = (['turn', 'remove', 'add'] as const)[index % 3] ?? 'turn';
    const damaged = await stored(t);
    await damage(damaged, name, change);
    const { deviation } = await verify(damaged);
    const words = { turn: 'holds a wrong value under the key', remove: 'lacks the key', add: 'has the surplus key' };
    // The keys of a counted table are in the leaf blocks of an order-statistic tree. If a leaf block is damaged, the
    // verification reports a missing key, a surplus key, or a wrong value of an inner block.
    const expected = COUNTED_TABLES.includes(name)
      ? new RegExp(
          `^table (${name} (lacks the key|has the surplus key)|innerBlocks holds a wrong value under the key) `,
        )
      : new RegExp(`^table ${name} ${words[change]} `);
    t.regex(deviation ?? '', expected, `${name} ${change}: ${deviation}`);
  }
});

test('a wrong, missing or extra inner block of counted keys is detected', async (t) => {
  for (const change of ['turn', 'remove', 'add'] as const) {
    const damaged = await stored(t);
    await damage(damaged, 'innerBlocks', change);
    t.regex(
      (await verify(damaged)).deviation ?? '',
      /^table (innerBlocks holds a wrong value under|[a-zA-Z]+ lacks) the key /,
      change,
    );
  }
});

test('a wrong counter and a key of no table are named', async (t) => {
  const counter = await stored(t);
  await damage(counter, TABLES.meta.key('accounts'), 'turn');
  t.regex((await verify(counter)).deviation ?? '', /^table meta holds a wrong value under the key /);
  const foreign = await stored(t);
  const keys = openLmdb(chainDirectory(foreign), false);
  keys.transact((writer) => writer.put(Buffer.from([99, 1]), Buffer.from('x')));
  await keys.close();
  t.is((await verify(foreign)).deviation, 'table unknown has the surplus key 6301');
});
