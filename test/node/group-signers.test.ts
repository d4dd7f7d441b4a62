import test from 'ava';
import { NO_PAYER, VerificationBudget, type Payer } from '../../src/engine/pool/verification-budget.ts';
import type { GroupSigners } from '../../src/ports/node-api.ts';
import { createGroupSigners } from '../../src/node/group-signers.ts';
import { person, PoolWorld, type Person } from '../support/pool-world.ts';

const alice = person('alice');
const stranger = person('stranger');
const members = ['mary', 'mike', 'mia'].map((name) => person(name));
const [mary, mike, mia] = members as [Person, Person, Person];

function setUpGroup() {
  const world = new PoolWorld();
  const group = { min: 2, lifetime: 1, members: members.map(({ publicKey }) => publicKey) };
  world.setAccount(alice, { group });
  world.setAccount(stranger);
  let turns = 0;
  const signersOf = createGroupSigners({
    rules: world.rules,
    state: () => world.state,
    verify: world.verify,
    spentMs: () => world.checks * CHECK_MS,
    pause: () => {
      turns += 1;
      return Promise.resolve();
    },
  });
  const ask = async (id: string, payer: Payer = NO_PAYER): Promise<GroupSigners | undefined> => {
    const transaction = world.pool.get(id);
    return transaction && signersOf(transaction, payer);
  };
  return { world, ask, turns: () => turns };
}

/**
 * Time in milliseconds that the test counts as spent for each signature check. The native library needs less time, and
 * the portable library needs more.
 */
const CHECK_MS = 1;

/**
 * Submits `count` transactions of a group of fifteen members. Fourteen members sign each transaction, in the order in
 * which the search for the signers takes the most checks: 119 checks for each transaction.
 */
function largeGroup(world: PoolWorld, count: number): readonly string[] {
  const many = Array.from({ length: 15 }, (_, at) => person(`member ${at}`));
  world.setAccount(alice, { group: { min: 15, lifetime: 1, members: many.map(({ publicKey }) => publicKey) } });
  return Array.from({ length: count }, () => {
    const json = world.transfer(alice, stranger);
    const id = world.submit(json);
    for (const member of many.slice(1).reverse()) {
      if (!world.pool.submitSignature(world.signatureOf(member, json)).accepted) throw new Error('refused');
    }
    return id;
  });
}

test('the signers of a group are listed in the order of the group, with the required number', async (t) => {
  const { world, ask } = setUpGroup();
  const json = world.transfer(alice, stranger);
  const id = world.submit(json);
  const signed = async () => (await ask(id))?.members.map(({ hasSigned }) => hasSigned);
  t.is((await ask(id))?.min, 2);
  t.deepEqual(
    (await ask(id))?.members.map(({ publicKey }) => publicKey),
    members.map(({ publicKey }) => publicKey),
  );
  t.deepEqual(await signed(), [false, false, false]);
  t.true(world.pool.submitSignature(world.signatureOf(mia, json)).accepted);
  t.deepEqual(await signed(), [false, false, true]);
  t.true(world.pool.submitSignature(world.signatureOf(mary, json)).accepted);
  t.deepEqual(await signed(), [true, false, true]);
});

test('a registration needs each member, whatever its transactions will need', async (t) => {
  const { world, ask } = setUpGroup();
  const json = world.multisignature(stranger, [mary, mike], 1);
  const id = world.submit(json);
  t.true(world.pool.submitSignature(world.signatureOf(mike, json)).accepted);
  t.deepEqual(await ask(id), {
    min: 2,
    members: [
      { publicKey: mary.publicKey, hasSigned: false },
      { publicKey: mike.publicKey, hasSigned: true },
    ],
  });
});

test('nothing is reported for a transaction without a group, or one that does not exist', async (t) => {
  const { world, ask } = setUpGroup();
  t.is(await ask(world.submit(world.transfer(stranger, alice))), undefined);
  t.is(await ask('1'), undefined);
});

test('a repeated request needs no new checks, and a new signature is checked at once', async (t) => {
  const { world, ask } = setUpGroup();
  const json = world.transfer(alice, stranger);
  const id = world.submit(json);
  t.true(world.pool.submitSignature(world.signatureOf(mike, json)).accepted);
  await ask(id);
  const { checks } = world;
  await ask(id);
  t.is(world.checks, checks);
  t.true(world.pool.submitSignature(world.signatureOf(mia, json)).accepted);
  t.deepEqual(
    (await ask(id))?.members.map(({ hasSigned }) => hasSigned),
    [false, true, true],
  );
});

test('endless requests of strangers use up their budget and are then refused; local programs get answers', async (t) => {
  const { world, ask } = setUpGroup();
  const ids = largeGroup(world, 12);
  const before = world.checks;
  const spentMs = () => (world.checks - before) * CHECK_MS;
  let nowMs = 0;
  const budget = new VerificationBudget({ clock: { nowMs: () => nowMs }, spentMs: () => 0 });
  const codes = new Map<string | undefined, number>();
  // For five seconds, each of fifty remote clients asks ten times in each second for the signers of a transaction.
  // There are eleven such transactions. Each client asks about one of them after another, and begins again after eleven
  // requests.
  for (; nowMs <= 5_000; nowMs += 100) {
    for (let at = 0; at < 50; at += 1) {
      const code = await ask(ids[(at + nowMs / 100) % 11] ?? '', budget.payer(`http 203.0.113.${at}`, 'clients')).then(
        () => 'answered',
        (error: unknown) => (error as { readonly code?: string }).code,
      );
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    // All remote clients share the verification budget of the group `clients`. This budget allows 300 ms of checks at
    // first, and 100 ms more for each second. The last check may exceed the budget.
    t.true(spentMs() <= 300 + nowMs / 10 + CHECK_MS, `${spentMs()} ms after ${nowMs} ms`);
  }
  t.deepEqual([...codes.keys()].sort(), ['VERIFICATION_LIMIT', 'answered']);
  t.true((codes.get('VERIFICATION_LIMIT') ?? 0) > 500, JSON.stringify([...codes]));
  // If the signers of a transaction were computed for one remote client, the other clients get the same result without
  // further checks.
  t.true((codes.get('answered') ?? 0) > 10, JSON.stringify([...codes]));
  const own = await ask(ids[11] ?? '', budget.payer('http 127.0.0.1', 'localClients'));
  t.is(own?.members.filter(({ hasSigned }) => hasSigned).length, 14);
});

test('a refused client continues where it stopped, and no pair is checked twice', async (t) => {
  const { world, ask } = setUpGroup();
  const [id = ''] = largeGroup(world, 1);
  const before = world.checks;
  let left = 0;
  const payer: Payer = {
    mayAsk: () => left > 0,
    charge: (work) => {
      left -= 1;
      return work();
    },
    wasUseful: () => undefined,
  };
  let refused = 0;
  let signers: GroupSigners | undefined;
  for (; signers === undefined && refused < 100; left = 25)
    signers = await ask(id, payer).catch((error: unknown) => {
      t.is((error as { readonly code?: string }).code, 'VERIFICATION_LIMIT');
      refused += 1;
      return undefined;
    });
  t.is(signers?.members.filter(({ hasSigned }) => hasSigned).length, 14);
  t.is(refused, 5);
  t.is(world.checks - before, 119);
});

test("two clients that ask with and without the newest signature do not restart each other's search", async (t) => {
  const { world, ask } = setUpGroup();
  const many = Array.from({ length: 15 }, (_, at) => person(`member ${at}`));
  world.setAccount(alice, { group: { min: 15, lifetime: 1, members: many.map(({ publicKey }) => publicKey) } });
  const json = world.transfer(alice, stranger);
  const id = world.submit(json);
  for (const member of many.slice(8).reverse()) world.pool.submitSignature(world.signatureOf(member, json));
  const first = ask(id);
  t.true(world.pool.submitSignature(world.signatureOf(many[7]!, json)).accepted);
  const before = world.checks;
  const answers = await Promise.all([first, ask(id)]);
  t.deepEqual(
    answers.map((each) => each?.members.filter(({ hasSigned }) => hasSigned).length),
    [7, 8],
  );
  // The node checks each member against each signature for which it has found no member yet. At most 15 members are
  // checked against 7 signatures for the first request, and against 8 signatures for the second.
  t.true(world.checks - before <= 15 * 7 + 15 * 8, `${world.checks - before} checks`);
});

test('a request for signers does not count as waste: its client may still submit transactions', async (t) => {
  const { world, ask, turns } = setUpGroup();
  const [id = ''] = largeGroup(world, 1);
  let nowMs = 0;
  const budget = new VerificationBudget({ clock: { nowMs: () => nowMs }, spentMs: () => world.checks * CHECK_MS });
  const payer = budget.payer('http 203.0.113.1', 'clients');
  await ask(id, payer);
  t.is(turns(), 14);
  nowMs = 3_000;
  t.false(budget.isWasteful('http 203.0.113.1'));
  t.true(payer.mayAsk());
});
