import test from 'ava';
import { VerificationBudget, type Payer } from '../../../src/engine/pool/verification-budget.ts';
import { pointsOf } from '../../../src/engine/peers/penalties.ts';
import type { SubmitResult } from '../../../src/ports/node-api.ts';
import { ITEM_COST_MS } from '../../../src/ports/rates.ts';
import type { Rules } from '../../../src/protocol/rules.ts';
import { person, PoolWorld, type Person } from '../../support/pool-world.ts';
import { signedWithNonce } from '../../support/nonce-signatures.ts';

/** Verification budget of one IP address: milliseconds of work that the address can cause in one burst. */
const OWN_BUDGET_MS = 200;
const alice = person('alice');
const stranger = person('stranger');
const members = ['mary', 'mike', 'mia'].map((name) => person(name));
const [mary, mike, mia] = members as [typeof alice, typeof alice, typeof alice];

function groupWorld(): PoolWorld {
  const world = new PoolWorld();
  const group = { min: 2, lifetime: 1, members: members.map(({ publicKey }) => publicKey) };
  world.setAccount(alice, { group });
  return world;
}

function reasons(result: SubmitResult): readonly string[] {
  return result.accepted ? [] : result.errors.map(({ message, dataPath }) => `${message} @ ${dataPath}`);
}

test('a group transaction waits in pending, is announced, and is not ready', (t) => {
  const world = groupWorld();
  const id = world.submit(world.transfer(alice, stranger));
  t.deepEqual(world.verified, [id]);
  t.is(world.pool.entries('pending')[0]?.ready, false);
  world.pool.step();
  t.is(world.pool.sizes().pending, 1);
});

for (const signers of [
  [mary, mike],
  [mike, mary],
  [mia, mary],
]) {
  test(`a transaction is ready after signatures by ${signers.map(({ passphrase }) => passphrase).join(', ')}`, (t) => {
    const world = groupWorld();
    const json = world.transfer(alice, stranger);
    const id = world.submit(json);
    const [first, second] = signers.map((member) => world.signatureOf(member, json));
    t.true(world.pool.addSignature(first!).accepted);
    world.pool.step();
    t.is(world.pool.sizes().pending, 1);
    t.true(world.pool.submitSignature(second).accepted);
    t.is(world.pool.entries('pending')[0]?.ready, true);
    world.pool.step();
    t.deepEqual(
      world.pool
        .entries('ready')
        .map(({ transaction, ready }) => [transaction.id, transaction.signatures.length, ready]),
      [[id, 2, true]],
    );
    t.deepEqual(
      world.signatures.map(({ publicKey }) => publicKey),
      signers.map(({ publicKey }) => publicKey),
    );
    t.deepEqual(world.verified, [id]);
  });
}

test('a copy with a corrupted signature does not block the valid one', (t) => {
  for (const [world, sound] of [
    [new PoolWorld(), []],
    [groupWorld(), [mary, mike]],
  ] as const) {
    if (sound.length === 0) world.setAccount(alice);
    const json = world.transfer(alice, stranger);
    const signatures = sound.map((member) => world.signatureOf(member, json).signature);
    const good = { ...json, signatures };
    const corrupted = { ...json, signatures: [...signatures, 'ab'.repeat(64)] };
    const report = world.pool.receive([corrupted, good]);
    t.deepEqual(
      report.refused.map(({ code }) => code),
      ['TRANSACTION_NOT_APPLICABLE'],
    );
    t.is(report.fault, undefined);
    t.deepEqual(report.accepted, [json['id']]);
    for (let step = 0; step < 3; step += 1) world.pool.step();
    t.is(world.pool.sizes().ready, 1);
  }
});

/**
 * Returns a world in which a transaction of Alice needs the signatures of fifteen members. Also returns a transfer of
 * Alice, the valid signatures of the members, and a function that makes invalid signatures.
 */
function fifteenWorld() {
  const world = new PoolWorld();
  const fifteen = Array.from({ length: 15 }, (_, index) => person(`member ${index}`));
  world.setAccount(alice, { group: { min: 15, lifetime: 1, members: fifteen.map(({ publicKey }) => publicKey) } });
  const json = world.transfer(alice, stranger);
  let made = 0;
  const junk = (): string => (made += 1).toString(16).padStart(128, '0');
  const good = fifteen.map((member) => world.signatureOf(member, json).signature);
  return { world, json, junk, good };
}

test('a copy with invalid signatures costs one check per member, not one per member and signature', (t) => {
  const { world, json, junk, good } = fifteenWorld();
  const before = world.checks;
  const report = world.pool.receive([{ ...json, signatures: good.map(junk) }]);
  t.is(report.refused[0]?.code, 'TRANSACTION_NOT_APPLICABLE');
  t.is(world.checks - before, 1 + 15);
});

test('fifteen valid signatures cost 120 checks in the worst order, and fifteen each time afterwards', (t) => {
  const { world, json, good } = fifteenWorld();
  const before = world.checks;
  t.deepEqual(world.pool.receive([{ ...json, signatures: [...good].reverse() }]).accepted, [json['id']]);
  t.is(world.checks - before, 1 + 120);
  const again = world.checks;
  world.pool.step();
  t.is(world.pool.sizes().ready, 1);
  const looksOfOneStep = 6;
  t.true(world.checks - again <= 1 + looksOfOneStep * 15, `${world.checks - again} checks`);
});

test('among fourteen valid signatures, an invalid one costs one check, for the remaining member', (t) => {
  const { world, json, junk, good } = fifteenWorld();
  const before = world.checks;
  world.pool.receive([{ ...json, signatures: [...good.slice(1).reverse(), junk()] }]);
  t.true(world.checks - before <= 1 + 120);
});

test('a sender of signatures pays for all checks, and beyond its budget its signatures are not checked', (t) => {
  const { world, json, junk, good } = fifteenWorld();
  const budget = new VerificationBudget({ clock: { nowMs: () => world.nowMs }, spentMs: () => world.checks });
  const corrupted = () => ({ ...json, signatures: good.map(junk) });
  const attacker = budget.payer('1.1.1.1', 'peers');
  const codes = new Set<string>();
  for (let messages = 0; messages < 4; messages += 1) {
    const flood = Array.from({ length: 25 }, corrupted);
    for (const { code } of world.pool.receive(flood, attacker).refused) codes.add(code);
  }
  t.deepEqual([...codes], ['TRANSACTION_NOT_APPLICABLE', 'VERIFICATION_LIMIT']);
  t.true(world.checks <= 100 + 16, `${world.checks} checks`);
  t.true(budget.isWasteful('1.1.1.1'));
  t.is(world.pool.sizes().received, 0);
  const signature = world.pool.addSignature(world.signatureOf(mary, json), attacker);
  t.false(signature.accepted);
  const named = budget.payer('3.3.3.3', 'namedPeers');
  t.deepEqual(world.pool.receive([corrupted(), { ...json, signatures: good }], named).accepted, [json['id']]);
  t.false(budget.isWasteful('3.3.3.3'));
});

test('a transaction or signature from a peer costs budget even when nothing is checked, and does not count as waste', (t) => {
  const { world, json, good } = fifteenWorld();
  const budget = new VerificationBudget({ clock: { nowMs: () => world.nowMs }, spentMs: () => 0 });
  world.pool.receive([{ ...json, signatures: good }]);
  const brought = (payer: Payer, bring: () => unknown): number => {
    let items = 0;
    for (; payer.mayAsk() && items < 1_000_000; items += 1) bring();
    return items;
  };
  const unknown = { ...world.signatureOf(mary, json), transactionId: '5' };
  const [first, second] = [budget.payer('1.1.1.1', 'namedPeers'), budget.payer('2.2.2.2', 'peers')];
  const signatures = brought(first, () => world.pool.addSignature(unknown, first));
  const transactions = brought(second, () => world.pool.receive([json], second));
  t.true(Math.abs(signatures - OWN_BUDGET_MS / ITEM_COST_MS.signature) <= 1, `${signatures} signatures`);
  t.true(Math.abs(transactions - OWN_BUDGET_MS / ITEM_COST_MS.transaction) <= 1, `${transactions} transactions`);
  for (const address of ['1.1.1.1', '2.2.2.2']) t.false(budget.isWasteful(address));
});

test('a client that used up its budget gets this reason, for a transaction and for a signature', (t) => {
  const { world, json, junk, good } = fifteenWorld();
  const budget = new VerificationBudget({ clock: { nowMs: () => world.nowMs }, spentMs: () => world.checks });
  const client = budget.payer('1.1.1.1', 'clients');
  const codes = Array.from({ length: 40 }, () => {
    const result = world.pool.submit({ ...json, signatures: good.map(junk) }, client);
    return result.accepted ? '' : result.code;
  });
  t.deepEqual([codes[0], codes.at(-1)], ['TRANSACTION_NOT_APPLICABLE', 'VERIFICATION_LIMIT']);
  world.submit(json);
  const before = world.checks;
  const result = world.pool.submitSignature(world.signatureOf(person('member 0'), json), client);
  t.is(result.accepted ? '' : result.code, 'VERIFICATION_LIMIT');
  t.is(world.checks, before);
});

test('a registration waits for all members', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.multisignature(alice, members, 2);
  const id = world.submit(json);
  for (const member of [mia, mary]) {
    t.true(world.pool.addSignature(world.signatureOf(member, json)).accepted);
    t.is(world.pool.entries('pending')[0]?.ready, false);
  }
  t.true(world.pool.addSignature(world.signatureOf(mike, json)).accepted);
  world.pool.step();
  t.is(world.pool.readyForForging()[0]?.id, id);
  t.is(world.pool.readyForForging()[0]?.signatures.length, 3);
});

test('a complete transaction of a group is verified at once', (t) => {
  const world = groupWorld();
  const json = world.transfer(alice, stranger);
  const signatures = [mary, mia].map((member) => world.signatureOf(member, json).signature);
  world.submit({ ...json, signatures });
  t.is(world.pool.entries('verified')[0]?.ready, true);
});

test('a signature for a transaction that is not pending is refused', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.transfer(alice, stranger);
  world.submit(json);
  const expected = 'Unable to process signature, corresponding transaction not found @ .signature';
  const result = world.pool.addSignature(world.signatureOf(mary, json));
  t.deepEqual(reasons(result), [expected]);
  t.is(result.accepted ? '' : result.message, 'Error processing signature');
  t.deepEqual(reasons(world.pool.addSignature({ ...world.signatureOf(mary, json), transactionId: '5' })), [expected]);
  t.deepEqual(world.signatures, []);
});

test("signatures that do not fit a group's transaction are refused with reasons", (t) => {
  const world = groupWorld();
  const json = world.transfer(alice, stranger);
  world.submit(json);
  const good = world.signatureOf(mary, json);
  const wrong = { ...good, publicKey: mike.publicKey };
  t.deepEqual(reasons(world.pool.addSignature(world.signatureOf(stranger, json))), [
    `Public Key '${stranger.publicKey}' is not a member for account '${alice.address}'. @ `,
  ]);
  t.deepEqual(reasons(world.pool.addSignature(wrong)), [`Failed to add signature '${good.signature}'. @ .signatures`]);
  t.true(world.pool.addSignature(good).accepted);
  t.deepEqual(reasons(world.pool.addSignature(good)), [
    `Signature '${good.signature}' already present in transaction. @ `,
  ]);
  t.is(world.pool.entries('pending')[0]?.transaction.signatures.length, 1);
});

test('signatures that do not fit a registration are refused with reasons', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.multisignature(alice, members, 2);
  world.submit(json);
  const good = world.signatureOf(mary, json);
  t.deepEqual(reasons(world.pool.addSignature(world.signatureOf(stranger, json))), [
    `Public Key '${stranger.publicKey}' is not a member. @ `,
  ]);
  t.deepEqual(reasons(world.pool.addSignature({ ...good, publicKey: mike.publicKey })), [
    `Failed to add signature ${good.signature}. @ .signatures`,
  ]);
  t.true(world.pool.addSignature(good).accepted);
  t.deepEqual(reasons(world.pool.addSignature(good)), ['Encountered duplicate signature in transaction @ ']);
});

test('the same signature in capitals does not corrupt the transaction', (t) => {
  const world = groupWorld();
  const json = world.transfer(alice, stranger);
  world.submit(json);
  const good = world.signatureOf(mary, json);
  t.true(world.pool.addSignature(good).accepted);
  t.false(world.pool.addSignature({ ...good, signature: good.signature.toUpperCase() }).accepted);
  t.true(world.pool.addSignature(world.signatureOf(mike, json)).accepted);
  world.pool.step();
  t.is(world.pool.sizes().ready, 1);
});

function keysOf(people: readonly Person[]): readonly string[] {
  return people.map(({ publicKey }) => publicKey);
}

function codeOf(result: SubmitResult): string {
  return result.accepted ? 'accepted' : result.code;
}

test('only a signature that the named member did not make is called false', (t) => {
  const world = groupWorld();
  const json = world.transfer(alice, stranger);
  const good = world.signatureOf(mary, json);
  // Honest peers can also send signatures that this node refuses, because this node does not know the transaction, or
  // because the group is different at the tip of the peer.
  t.is(codeOf(world.pool.addSignature(good)), 'TRANSACTION_INVALID');
  world.submit(json);
  t.is(codeOf(world.pool.addSignature(world.signatureOf(stranger, json))), 'TRANSACTION_INVALID');
  t.is(codeOf(world.pool.addSignature({ ...good, publicKey: mike.publicKey })), 'MEMBER_SIGNATURE_FALSE');
  t.is(codeOf(world.pool.addSignature(good)), 'accepted');
  t.is(codeOf(world.pool.addSignature(good)), 'TRANSACTION_INVALID');
  t.is(codeOf(world.pool.addSignature(world.signatureOf(mike, json))), 'accepted');
  t.is(codeOf(world.pool.addSignature(world.signatureOf(mia, json))), 'accepted');
  t.is(codeOf(world.pool.addSignature({ ...good, publicKey: mike.publicKey })), 'TRANSACTION_INVALID');
  world.pool.step();
  t.is(codeOf(world.pool.addSignature(world.signatureOf(mia, json))), 'TRANSACTION_INVALID');
});

test("the sender's second signature does not make a member's signature false", (t) => {
  const world = new PoolWorld();
  world.setAccount(alice, {
    secondPublicKey: mary.publicKey,
    group: { min: 2, lifetime: 1, members: keysOf(members) },
  });
  const json = world.transfer(alice, stranger, 1n, { second: mary.passphrase });
  world.submit(json);
  t.is(typeof json['signSignature'], 'string');
  t.is(codeOf(world.pool.addSignature(world.signatureOf(mike, json))), 'accepted');
});

test('a signature for a group that is unknown at our tip is neither verified nor called false', (t) => {
  const world = groupWorld();
  const json = world.transfer(alice, stranger);
  world.submit(json);
  // The block with the registration of the group has been reverted: the account still exists, but it is no longer a
  // multisignature account.
  world.resetState();
  world.setAccount(alice);
  const before = world.checks;
  t.deepEqual(reasons(world.pool.addSignature(world.signatureOf(mary, json))), [
    'Sender is not a multisignature account @ .signatures',
  ]);
  t.is(world.checks, before);
  world.setAccount(alice, { group: { min: 2, lifetime: 1, members: keysOf([mike, mia]) } });
  t.is(codeOf(world.pool.addSignature(world.signatureOf(mary, json))), 'TRANSACTION_INVALID');
});

for (const registers of [false, true]) {
  const what = registers ? 'registration of a group' : 'transfer of a group';

  test(`invalid signatures that came with the ${what} are replaced by those of members`, (t) => {
    const world = registers ? new PoolWorld() : groupWorld();
    if (registers) world.setAccount(alice);
    const json = registers ? world.multisignature(alice, members, 2) : world.transfer(alice, stranger);
    const signers = registers ? members : [mary, mia];
    // The transaction has too few signatures, so the pool does not verify the signatures on arrival.
    const corrupted = signers.slice(1).map((_, index) => index.toString(16).repeat(128));
    world.submit({ ...json, signatures: corrupted });
    for (const member of signers) t.is(codeOf(world.pool.addSignature(world.signatureOf(member, json))), 'accepted');
    world.pool.step();
    const given = signers.map((member) => world.signatureOf(member, json).signature);
    t.deepEqual(world.pool.readyForForging()[0]?.signatures, given);
    t.is(world.signatures.length, signers.length, 'each signature is announced');
  });
}

test('a member whose signature came with the transaction does not block others by a second one', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice, { group: { min: 3, lifetime: 1, members: keysOf(members) } });
  const json = world.transfer(alice, stranger);
  const { signature: first } = world.signatureOf(mary, json);
  world.submit({ ...json, signatures: [first] });
  const second = signedWithNonce(mary, world.signingDigest(json), 1n);
  world.pool.addSignature({ ...world.signatureOf(mary, json), signature: second });
  for (const member of [mike, mia]) t.true(world.pool.addSignature(world.signatureOf(member, json)).accepted);
  world.pool.step();
  t.is(world.pool.readyForForging()[0]?.signatures.length, 3);
});

test('a signature for another transaction with the same id is false, and costs an honest peer nothing', (t) => {
  // An id is 64 bits of a hash, so an attacker with enough time finds two transactions with the same id.
  const shareId = (rules: Rules): Rules => {
    const read: Rules['codec']['transactionFromJson'] = (json) => {
      return { ...rules.codec.transactionFromJson(json), id: '7' };
    };
    return { ...rules, codec: { ...rules.codec, transactionFromJson: read } };
  };
  const [theirs, ours] = [new PoolWorld({ bend: shareId }), new PoolWorld({ bend: shareId })];
  for (const world of [theirs, ours]) world.setAccount(alice);
  const [json, other] = [1, 2].map((min) => ours.multisignature(alice, members, min)) as [object, object];
  theirs.submit({ ...json });
  ours.submit({ ...other });
  const signature = { ...theirs.signatureOf(mary, { ...json }), transactionId: '7' };
  t.is(codeOf(theirs.pool.addSignature(signature)), 'accepted');
  t.is(codeOf(ours.pool.addSignature(signature)), 'MEMBER_SIGNATURE_FALSE');
  t.is(pointsOf('MEMBER_SIGNATURE_FALSE'), 0);
});

test('a second signature of the same member costs no check and corrupts nothing', (t) => {
  const world = new PoolWorld();
  const fifteen = Array.from({ length: 15 }, (_, index) => person(`member ${index}`));
  const [first, second] = fifteen as [typeof alice, typeof alice];
  world.setAccount(alice, { group: { min: 15, lifetime: 1, members: fifteen.map(({ publicKey }) => publicKey) } });
  const json = world.transfer(alice, stranger);
  // The transaction has too few signatures, so the pool does not verify the signatures.
  const corrupted = Array.from({ length: 14 }, (_, index) => index.toString(16).repeat(128));
  for (const [name, signatures] of Object.entries({ untouched: [], corrupted })) {
    world.pool.take([String(json['id'])]);
    world.submit({ ...json, signatures });
    const again = (nonce: bigint): SubmitResult =>
      world.pool.addSignature({
        ...world.signatureOf(first, json),
        signature: signedWithNonce(first, world.signingDigest(json), nonce),
      });
    world.pool.addSignature(world.signatureOf(first, json));
    const before = world.checks;
    for (let nonce = 1n; nonce <= 50n; nonce += 1n) t.is(codeOf(again(nonce)), 'TRANSACTION_INVALID', name);
    t.is(world.checks, before, name);
    t.deepEqual(reasons(again(1n)), [`Member '${first.publicKey}' has signed the transaction already. @ .signatures`]);
    const ofSecond = world.pool.addSignature(world.signatureOf(second, json));
    t.true(ofSecond.accepted, name);
  }
});

for (const json of [
  undefined,
  null,
  'text',
  {},
  [],
  { transactionId: 5, publicKey: mary.publicKey, signature: 'ab'.repeat(64) },
  { transactionId: '-1', publicKey: mary.publicKey, signature: 'ab'.repeat(64) },
  { transactionId: '5', publicKey: 'zz', signature: 'ab'.repeat(64) },
  { transactionId: '5', publicKey: mary.publicKey, signature: 'ab' },
]) {
  test(`a value that is not a signature object is refused: ${JSON.stringify(json)?.slice(0, 60)}`, (t) => {
    const result = groupWorld().pool.submitSignature(json);
    t.is(result.accepted ? '' : result.code, 'SIGNATURE_MALFORMED');
    t.is(reasons(result).length, 1);
  });
}

test('a group transaction may wait 86400 seconds', (t) => {
  const world = groupWorld();
  const id = world.submit(world.transfer(alice, stranger));
  world.nowS += 86_400;
  t.deepEqual(world.pool.expire(), []);
  world.nowS += 1;
  t.deepEqual(world.pool.expire(), [id]);
});

test('the signatures of pending transactions are shared, oldest transaction first', (t) => {
  const world = groupWorld();
  const jsons = Array.from({ length: 3 }, () => world.transfer(alice, stranger));
  for (const json of jsons) world.submit(json);
  for (const json of [jsons[2]!, jsons[1]!]) world.pool.addSignature(world.signatureOf(mary, json));
  t.deepEqual(world.pool.pendingSignatures(25), [
    { transaction: String(jsons[1]!['id']), signatures: [world.signatureOf(mary, jsons[1]!).signature] },
    { transaction: String(jsons[2]!['id']), signatures: [world.signatureOf(mary, jsons[2]!).signature] },
  ]);
  t.is(world.pool.pendingSignatures(1).length, 1);
});

test('a peer gets ready, then pending, then verified transactions, each oldest first', (t) => {
  const world = groupWorld();
  world.setAccount(mary);
  const ready = [world.submit(world.transfer(mary, mike)), world.submit(world.transfer(mary, mike))];
  world.pool.step();
  const verified = [world.submit(world.transfer(mary, mike)), world.submit(world.transfer(mary, mike))];
  const pending = [world.submit(world.transfer(alice, mike)), world.submit(world.transfer(alice, mike))];
  const all = [...ready, ...pending, ...verified];
  t.deepEqual(
    world.pool.forSharing(25).map(({ id }) => id),
    all,
  );
  t.deepEqual(
    world.pool.forSharing(5).map(({ id }) => id),
    all.slice(0, 5),
  );
});
