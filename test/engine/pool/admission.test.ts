import test from 'ava';
import type { SubmitResult } from '../../../src/ports/node-api.ts';
import { transactionError } from '../../../src/protocol/verdict.ts';
import { LSK, person, PoolWorld } from '../../support/pool-world.ts';

const alice = person('alice');
const bob = person('bob');

function refusal(result: SubmitResult) {
  if (result.accepted) throw new Error('was accepted');
  return result;
}

test("a client's valid transaction is verified at once, kept with its time and announced once", (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.transfer(alice, bob);
  const result = world.pool.submit(json);
  t.true(result.accepted);
  t.deepEqual(world.verified, [json['id']]);
  t.deepEqual(world.pool.sizes(), { received: 0, validated: 0, verified: 1, pending: 0, ready: 0 });
  const [entry] = world.pool.entries('verified');
  t.is(entry?.transaction.id, String(json['id']));
  t.is(entry?.receivedAtMs, world.nowMs);
  t.is(entry?.ready, undefined);
  t.is(world.pool.get(String(json['id']))?.senderId, alice.address);
});

test('a transaction that is in a queue is refused without a signature check', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.transfer(alice, bob);
  const id = world.submit(json);
  const checksBefore = world.checks;
  t.deepEqual(refusal(world.pool.submit(json)), {
    accepted: false,
    code: 'TRANSACTION_KNOWN',
    message: 'Transaction was rejected with errors',
    errors: [transactionError(id, `Transaction is already processed: ${id}`, '.id')],
  });
  t.is(world.checks, checksBefore);
});

test('a confirmed transaction is refused', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = world.transfer(alice, bob);
  world.confirm([world.read(json)]);
  const { code, errors } = refusal(world.pool.submit(json));
  t.is(code, 'TRANSACTION_KNOWN');
  t.deepEqual(errors, [
    transactionError(String(json['id']), `Transaction is already confirmed: ${String(json['id'])}`, '.id'),
  ]);
});

test('an unknown type is refused with one error', (t) => {
  const world = new PoolWorld();
  const { code, message, errors } = refusal(world.pool.submit({ ...world.transfer(alice, bob), type: 77 }));
  t.is(code, 'TRANSACTION_TYPE_UNKNOWN');
  t.is(message, 'Transaction was rejected with errors');
  t.is(errors.length, 1);
  t.is(errors[0]?.message, 'Transaction type not found.');
});

for (const json of [undefined, null, 7, 'text', [], {}, { type: 8 }, { type: 8, asset: null }]) {
  test(`no transaction at all is refused: ${JSON.stringify(json)}`, (t) => {
    const world = new PoolWorld();
    const { errors } = refusal(world.pool.submit(json));
    t.true(errors.length > 0);
    t.is(world.pool.sizes().verified, 0);
  });
}

test('a wrong signature is refused', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const json = { ...world.transfer(alice, bob), signature: 'ab'.repeat(64) };
  const { code, errors } = refusal(world.pool.submit(json));
  t.is(code, 'TRANSACTION_INVALID');
  t.is(errors[0]?.message, `Failed to validate signature ${'ab'.repeat(64)}`);
  t.is(errors[0]?.dataPath, '.signature');
});

test('a timestamp in a later slot is refused, one in the current slot is accepted', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const slotEndS = world.nowS + 9;
  world.submit(world.transfer(alice, bob, LSK, { timestamp: slotEndS }));
  const { code, errors } = refusal(world.pool.submit(world.transfer(alice, bob, LSK, { timestamp: slotEndS + 1 })));
  t.is(code, 'TRANSACTION_IN_FUTURE');
  t.is(errors[0]?.message, 'Invalid transaction timestamp. Timestamp is in the future');
  t.is(errors[0]?.dataPath, '.timestamp');
});

test('a transaction that is invalid against the state is refused with the reasons', (t) => {
  const world = new PoolWorld();
  const { code, errors } = refusal(world.pool.submit(world.transfer(alice, bob)));
  t.is(code, 'TRANSACTION_NOT_APPLICABLE');
  t.is(errors[0]?.message, `Account does not have enough LSK: ${alice.address}, balance: 0`);
  t.is(errors[0]?.dataPath, '.balance');
});

test('a full queue refuses transactions', (t) => {
  const world = new PoolWorld({ limits: { perQueueMax: 1 } });
  world.setAccount(alice);
  world.submit(world.transfer(alice, bob));
  const { code, errors } = refusal(world.pool.submit(world.transfer(alice, bob)));
  t.is(code, 'POOL_FULL');
  t.deepEqual(
    errors.map(({ message }) => message),
    ['Transaction pool is full'],
  );
  t.is(world.pool.sizes().verified, 1);
});

test('a type limited to a range of heights is never admitted', (t) => {
  const world = new PoolWorld({
    bend: (rules) => ({
      ...rules,
      typeErrors: ({ id }, { blockHeight }) =>
        blockHeight === undefined ? [transactionError(id, 'Transaction type 8 is currently not allowed.', '')] : [],
    }),
  });
  world.setAccount(alice);
  const json = world.transfer(alice, bob);
  t.is(refusal(world.pool.submit(json)).code, 'TRANSACTION_TYPE_NOT_ALLOWED');
  t.is(world.pool.receive([json]).fault?.code, 'TRANSACTION_TYPE_NOT_ALLOWED');
});

test('transactions of a peer wait in received until they are verified, and are announced once', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const jsons = [world.transfer(alice, bob), world.transfer(alice, bob)];
  const ids = jsons.map((json) => String(json['id']));
  t.deepEqual(world.pool.receive(jsons), { accepted: ids, refused: [], fault: undefined, examined: ids });
  t.deepEqual(world.received, ids);
  t.is(world.pool.sizes().received, 2);
  t.deepEqual(world.verified, []);
  world.pool.step();
  world.pool.step();
  t.deepEqual(world.verified, ids);
  t.is(world.pool.sizes().ready, 2);
});

test('a known transaction in a peer’s list does not keep the others out', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const known = world.transfer(alice, bob);
  const fresh = world.transfer(alice, bob);
  world.submit(known);
  const report = world.pool.receive([known, fresh]);
  t.deepEqual(report.accepted, [fresh['id']]);
  t.deepEqual(
    report.refused.map(({ code }) => code),
    ['TRANSACTION_KNOWN'],
  );
  t.is(report.fault, undefined);
});

test('the examined ids belong to the content, whatever ids a peer states', (t) => {
  const world = new PoolWorld();
  world.setAccount(alice);
  const [known, fresh, unsigned] = [1, 2, 3].map(() => world.transfer(alice, bob));
  world.submit(known!);
  const id = '77';
  const report = world.pool.receive([
    { ...known, id },
    { ...fresh, id },
    { ...unsigned, id, signature: 'ab'.repeat(64) },
  ]);
  t.deepEqual(report.examined.slice(0, 2), [known!['id'], fresh!['id']]);
  t.is(report.examined.length, 3);
  t.false(report.examined.includes(id));
  t.deepEqual(world.pool.receive([{ id, type: 8 }]).examined, [], 'a transaction that cannot be read has no id');
});

test("an invalid transaction is the peer's fault and ends the processing of its list", (t) => {
  const world = new PoolWorld();
  const bad = { ...world.transfer(alice, bob), signature: 'ab'.repeat(64) };
  const good = world.transfer(alice, bob);
  const report = world.pool.receive([world.transfer(alice, bob), bad, good]);
  t.is(report.accepted.length, 1);
  t.is(report.fault?.code, 'TRANSACTION_INVALID');
  t.false(world.pool.has(String(good['id'])));
});

test('a transaction from a peer to a full queue costs no signature check', (t) => {
  const world = new PoolWorld({ limits: { perQueueMax: 1 } });
  world.setAccount(alice);
  const known = world.transfer(alice, bob);
  world.pool.receive([known]);
  const checksBefore = world.checks;
  const unsigned = { ...world.transfer(alice, bob), signature: 'ab'.repeat(64) };
  const { refused, fault } = world.pool.receive([known, world.transfer(alice, bob), unsigned]);
  t.deepEqual(
    refused.map(({ code }) => code),
    ['TRANSACTION_KNOWN', 'POOL_FULL', 'POOL_FULL'],
  );
  t.is(fault, undefined);
  t.is(world.checks, checksBefore);
});

test('a full queue is not the peer’s fault', (t) => {
  const world = new PoolWorld({ limits: { perQueueMax: 1 } });
  const report = world.pool.receive([world.transfer(alice, bob), world.transfer(alice, bob)]);
  t.is(report.accepted.length, 1);
  t.is(report.refused[0]?.code, 'POOL_FULL');
  t.is(report.fault, undefined);
});
