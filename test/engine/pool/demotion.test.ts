import test from 'ava';
import { LSK, person, PoolWorld } from '../../support/pool-world.ts';

const alice = person('alice');
const bob = person('bob');
const carol = person('carol');

function fundedWorld(): PoolWorld {
  const world = new PoolWorld();
  for (const who of [alice, bob, carol]) world.setAccount(who);
  return world;
}

test('confirmed transactions leave the pool from any queue', (t) => {
  const world = fundedWorld();
  const jsons = [world.transfer(alice, bob), world.transfer(bob, carol), world.transfer(carol, bob)];
  world.submit(jsons[0]!);
  world.pool.step();
  world.submit(jsons[1]!);
  world.pool.receive([jsons[2]!]);
  world.pool.blocksApplied([world.confirm(jsons.map((json) => world.read(json)))]);
  t.deepEqual(world.pool.sizes(), { received: 0, validated: 0, verified: 0, pending: 0, ready: 0 });
});

test('the arrival time of a transaction is known after its confirmation, unless it arrived in a block', (t) => {
  const world = fundedWorld();
  const known = world.transfer(alice, bob);
  const id = world.submit(known);
  const receivedAtMs = world.nowMs;
  t.is(world.pool.receivedAtMs(id), receivedAtMs);
  world.nowS += 20;
  const stranger = world.read(world.transfer(carol, bob));
  world.pool.blocksApplied([world.confirm([world.read(known), stranger])]);
  t.false(world.pool.has(id));
  t.is(world.pool.receivedAtMs(id), receivedAtMs);
  t.is(world.pool.receivedAtMs(stranger.id), undefined);
});

test("a confirmed transaction causes a new check of its sender's other transactions, but of no others", (t) => {
  const world = fundedWorld();
  const readyOfAlice = world.submit(world.transfer(alice, bob));
  const readyOfBob = world.submit(world.transfer(bob, alice));
  world.pool.step();
  const verifiedOfAlice = world.submit(world.transfer(alice, bob));
  world.pool.blocksApplied([world.confirm([world.read(world.transfer(alice, carol))])]);
  t.deepEqual(world.pool.sizes(), { received: 0, validated: 2, verified: 0, pending: 0, ready: 1 });
  t.is(world.pool.readyForForging()[0]?.id, readyOfBob);
  world.pool.step();
  t.deepEqual(
    world.pool
      .readyForForging()
      .map(({ id }) => id)
      .sort(),
    [readyOfAlice, readyOfBob, verifiedOfAlice].sort(),
  );
  t.is(world.verified.length, 3);
});

test('a transaction whose sender ran out of money in a block is dropped after it', (t) => {
  const world = fundedWorld();
  const id = world.submit(world.transfer(alice, bob, 900n * LSK));
  world.pool.step();
  const block = world.confirm([world.read(world.transfer(alice, carol, 900n * LSK))]);
  world.setAccount(alice, { balance: 99n * LSK });
  world.pool.blocksApplied([block]);
  world.pool.step();
  t.false(world.pool.has(id));
});

test('a confirmed registration moves other registrations of its kind back by a queue, but no transfer', (t) => {
  const world = fundedWorld();
  const rival = world.submit(world.delegate(bob, 'smith'));
  const transfer = world.submit(world.transfer(carol, bob));
  world.pool.step();
  const block = world.confirm([world.read(world.delegate(alice, 'smith'))]);
  world.setDelegate(alice, 'smith');
  world.pool.blocksApplied([block]);
  t.is(world.pool.entries('validated')[0]?.transaction.id, rival);
  t.is(world.pool.readyForForging()[0]?.id, transfer);
  world.pool.step();
  t.false(world.pool.has(rival));
});

test('blocks applied together move no transaction back by more than one queue', (t) => {
  const world = fundedWorld();
  const id = world.submit(world.transfer(alice, bob));
  const blocks = [1, 2].map(() => world.confirm([world.read(world.transfer(alice, carol))]));
  world.pool.blocksApplied(blocks);
  t.is(world.pool.entries('validated')[0]?.transaction.id, id);
});

test('empty blocks change nothing', (t) => {
  const world = fundedWorld();
  world.submit(world.transfer(alice, bob));
  world.pool.blocksApplied([world.confirm([])]);
  world.pool.blocksReverted([world.confirm([])]);
  t.is(world.pool.sizes().verified, 1);
});

test('transactions of reverted blocks come back as verified and are not announced again', (t) => {
  const world = fundedWorld();
  const jsons = [world.transfer(alice, bob), world.transfer(bob, carol)];
  const block = { ...world.confirm([]), transactions: jsons.map((json) => world.read(json)) };
  world.pool.blocksReverted([block]);
  t.is(world.pool.sizes().verified, 2);
  t.deepEqual(world.verified, []);
  t.is(world.pool.entries('verified')[0]?.receivedAtMs, world.nowMs);
  world.pool.step();
  t.is(world.pool.sizes().ready, 2);
});

test('a sender that may have spent money of a reverted transaction is checked again', (t) => {
  const world = fundedWorld();
  const spent = world.submit(world.transfer(bob, carol));
  const unrelated = world.submit(world.transfer(carol, alice));
  world.pool.step();
  const block = { ...world.confirm([]), transactions: [world.read(world.transfer(alice, bob))] };
  world.pool.blocksReverted([block]);
  t.is(world.pool.entries('validated')[0]?.transaction.id, spent);
  t.is(world.pool.readyForForging()[0]?.id, unrelated);
});

test('a reorg does not restore transactions that the new branch contains', (t) => {
  const world = fundedWorld();
  const both = world.read(world.transfer(alice, bob));
  const old = world.read(world.transfer(bob, carol));
  const reverted = { ...world.confirm([]), transactions: [both, old] };
  const applied = world.confirm([both]);
  world.pool.blocksReverted([reverted]);
  world.pool.blocksApplied([applied]);
  t.false(world.pool.has(both.id));
  t.true(world.pool.has(old.id));
});

test('reverted blocks may come in either order', (t) => {
  const orders = [false, true].map((isReversed) => {
    const world = fundedWorld();
    const blocks = [alice, bob, carol].map((who) => ({
      ...world.confirm([]),
      transactions: [world.read(world.transfer(who, who))],
    }));
    world.pool.blocksReverted(isReversed ? blocks.reverse() : blocks);
    return (['validated', 'verified'] as const).map((state) =>
      world.pool.entries(state).map((entry) => entry.transaction.id),
    );
  });
  t.deepEqual(orders[0], orders[1]);
});
