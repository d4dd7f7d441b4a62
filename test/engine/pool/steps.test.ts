import test from 'ava';
import { blockOf, LSK, person, PoolWorld } from '../../support/pool-world.ts';

const alice = person('alice');
const bob = person('bob');
const carol = person('carol');

test('a step processes the oldest 25 of a queue', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const jsons = Array.from({ length: 30 }, () => world.transfer(alice, bob));
  world.pool.receive(jsons);
  world.pool.step();
  t.deepEqual(world.pool.sizes(), { received: 5, validated: 0, verified: 0, pending: 0, ready: 25 });
  t.deepEqual(
    world.pool.entries('received').map(({ transaction }) => transaction.id),
    jsons.slice(25).map((json) => String(json['id'])),
  );
});

test('the ready queue holds at most one block, and candidates for the next block are in order of arrival', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const ids = Array.from({ length: 30 }, () => world.submit(world.transfer(alice, bob)));
  world.pool.step();
  world.pool.step();
  t.is(world.pool.sizes().ready, 25);
  t.is(world.pool.sizes().verified, 5);
  t.deepEqual(
    world.pool.readyForForging().map(({ id }) => id),
    ids.slice(0, 25),
  );
});

test('when two transactions spend the same money, the first to arrive becomes ready', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice, { balance: 10n * LSK });
  const first = world.submit(world.transfer(alice, bob, 9n * LSK));
  const second = world.submit(world.transfer(alice, carol, 9n * LSK));
  world.pool.step();
  t.deepEqual(
    world.pool.readyForForging().map(({ id }) => id),
    [first],
  );
  t.false(world.pool.has(second));
});

test('when two transactions register one name, the first to arrive becomes ready', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  world.setAccount(bob);
  const first = world.submit(world.delegate(alice, 'smith'));
  world.submit(world.delegate(bob, 'smith'));
  world.pool.step();
  t.deepEqual(
    world.pool.readyForForging().map(({ id }) => id),
    [first],
  );
  t.is(world.pool.sizes().verified, 0);
});

test('a received transaction that does not fit the state is dropped and never announced', (t) => {
  const world = new PoolWorld();
  world.pool.receive([world.transfer(alice, bob)]);
  world.pool.step();
  t.deepEqual(world.pool.sizes(), { received: 0, validated: 0, verified: 0, pending: 0, ready: 0 });
  t.deepEqual(world.verified, []);
});

test('the steps stop before a full queue', (t) => {
  const world = new PoolWorld({ limits: { perQueueMax: 30 } });
  world.setAccount(alice);
  for (let count = 0; count < 30; count += 1) world.submit(world.transfer(alice, bob));
  world.pool.receive([world.transfer(alice, bob)]);
  world.pool.step();
  t.is(world.pool.sizes().validated, 1);
  t.is(world.pool.sizes().ready, 25);
  world.pool.step();
  t.is(world.pool.sizes().validated, 0);
  t.is(world.pool.sizes().verified, 6);
});

test('a ready transaction that lost its money is dropped at the next step', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const id = world.submit(world.transfer(alice, bob));
  world.pool.step();
  world.setAccount(alice, { balance: 0n });
  world.pool.step();
  t.false(world.pool.has(id));
});

test('a vote leaves the ready queue when a revert removes its delegate', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  world.setDelegate(bob, 'bobby');
  const registration = world.read(world.delegate(bob, 'bobby'));
  const vote = world.submit(world.vote(alice, [`+${bob.publicKey}`]));
  world.pool.step();
  t.is(world.pool.sizes().ready, 1);

  world.resetState();
  for (const who of [alice, bob]) world.setAccount(who);
  world.pool.blocksReverted([blockOf(2, [registration])]);
  world.pool.step();
  t.deepEqual(
    world.pool.readyForForging().map(({ id }) => id),
    [registration.id],
  );
  t.false(world.pool.has(vote));
});

test('transactions that are ready together fit into one block together', (t) => {
  const world = new PoolWorld();
  for (const who of [alice, bob]) world.setAccount(who);
  for (let count = 0; count < 5; count += 1) world.submit(world.transfer(alice, carol));
  world.submit(world.delegate(bob, 'bobby'));
  world.submit(world.secondSignature(alice, carol));
  world.pool.step();
  const ready = world.pool.readyForForging();
  t.is(ready.length, 7);
  const chosen = world.rules.selectTransactions(world.state, ready, { blockTimestamp: world.nowS }, world.verify);
  t.is(chosen.length, 7);
});

test('a transaction is dropped after 10800 seconds', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const id = world.submit(world.transfer(alice, bob));
  world.nowS += 10_800;
  t.deepEqual(world.pool.expire(), []);
  world.nowS += 1;
  t.deepEqual(world.pool.expire(), [id]);
  t.false(world.pool.has(id));
});

test('a received transaction expires as well', (t) => {
  const world = new PoolWorld();
  const json = world.transfer(alice, bob);
  world.pool.receive([json]);
  world.nowS += 10_801;
  t.deepEqual(world.pool.expire(), [json['id']]);
});

test('moves between queues do not make a transaction younger', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.transfer(alice, bob);
  world.pool.receive([json]);
  world.nowS += 6_000;
  world.pool.step();
  world.nowS += 4_801;
  t.deepEqual(world.pool.expire(), [json['id']]);
});

test('taken transactions leave the pool, and unknown ids are skipped', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const id = world.submit(world.transfer(alice, bob));
  t.deepEqual(
    world.pool.take([id, '99']).map((transaction) => transaction.id),
    [id],
  );
  t.false(world.pool.has(id));
});
