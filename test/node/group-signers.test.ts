import test from 'ava';
import { createGroupSigners } from '../../src/node/group-signers.ts';
import { person, PoolWorld, type Person } from '../support/pool-world.ts';

const alice = person('alice');
const stranger = person('stranger');
const members = ['mary', 'mike', 'mia'].map((name) => person(name));
const [mary, mike, mia] = members as [Person, Person, Person];

function scene() {
  const world = new PoolWorld();
  const group = { min: 2, lifetime: 1, members: members.map(({ publicKey }) => publicKey) };
  world.setAccount(alice, { group });
  world.setAccount(stranger);
  const signersOf = createGroupSigners({ rules: world.rules, state: () => world.state, verify: world.verify });
  const ask = (id: string) => {
    const transaction = world.pool.get(id);
    return transaction && signersOf(transaction);
  };
  return { world, ask };
}

test('who of a group has signed is told in the order of the group, whoever signed first, with how many must', (t) => {
  const { world, ask } = scene();
  const json = world.transfer(alice, stranger);
  const id = world.submit(json);
  const standing = () => ask(id)?.members.map(({ hasSigned }) => hasSigned);
  t.is(ask(id)?.min, 2);
  t.deepEqual(
    ask(id)?.members.map(({ publicKey }) => publicKey),
    members.map(({ publicKey }) => publicKey),
  );
  t.deepEqual(standing(), [false, false, false]);
  t.true(world.pool.submitSignature(world.signatureOf(mia, json)).accepted);
  t.deepEqual(standing(), [false, false, true]);
  t.true(world.pool.submitSignature(world.signatureOf(mary, json)).accepted);
  t.deepEqual(standing(), [true, false, true]);
});

test('a registration needs every member, whatever its transactions will need', (t) => {
  const { world, ask } = scene();
  const json = world.multisignature(stranger, [mary, mike], 1);
  const id = world.submit(json);
  t.true(world.pool.submitSignature(world.signatureOf(mike, json)).accepted);
  t.deepEqual(ask(id), {
    min: 2,
    members: [
      { publicKey: mary.publicKey, hasSigned: false },
      { publicKey: mike.publicKey, hasSigned: true },
    ],
  });
});

test('nothing is told of a transaction that no group signs, nor of one that is not there', (t) => {
  const { world, ask } = scene();
  t.is(ask(world.submit(world.transfer(stranger, alice))), undefined);
  t.is(ask('1'), undefined);
});

test('asking again costs no checks, and a new signature is looked for at once', (t) => {
  const { world, ask } = scene();
  const json = world.transfer(alice, stranger);
  const id = world.submit(json);
  t.true(world.pool.submitSignature(world.signatureOf(mike, json)).accepted);
  ask(id);
  const { checks } = world;
  ask(id);
  t.is(world.checks, checks);
  t.true(world.pool.submitSignature(world.signatureOf(mia, json)).accepted);
  t.deepEqual(
    ask(id)?.members.map(({ hasSigned }) => hasSigned),
    [false, true, true],
  );
});
