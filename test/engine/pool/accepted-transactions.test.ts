/** Tests that accepted transactions survive restarts, reverted blocks and failures of the disk. */

import test from 'ava';
import { AcceptedTransactions } from '../../../src/engine/pool/accepted-transactions.ts';
import { JOURNALED_BYTES_MAX, MemoryTransactionJournal } from '../../../src/engine/pool/journal-entries.ts';
import { TransactionPool } from '../../../src/engine/pool/pool.ts';
import { NO_PAYER } from '../../../src/engine/pool/verification-budget.ts';
import { SILENT, type LogFields, type Observer } from '../../../src/ports/observer.ts';
import type { TransactionJournal } from '../../../src/ports/transaction-journal.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';
import { params, person, PoolWorld } from '../../support/pool-world.ts';

const alice = person('alice');
const bob = person('bob');
const carol = person('carol');

interface Life {
  readonly pool: TransactionPool;
  readonly accepted: AcceptedTransactions;
  readonly announced: string[];
  readonly logged: { readonly code: string; readonly fields: LogFields }[];
  run(seconds: number): Promise<void>;
  apply(block: Block): void;
  end(): void;
}

interface LifeOptions {
  readonly isCaughtUp?: () => boolean;
  readonly perQueueMax?: number;
  /** Time in milliseconds by which the clock of the chain is ahead of the clock of the process. */
  readonly chainAheadMs?: number;
}

/** Runs a node several times, one run after the other. All runs use the same journal and the same chain. */
class Lives {
  readonly world = new PoolWorld();
  readonly journal: TransactionJournal;
  readonly #time = new VirtualTime(params.epochMs + 1_000_000_000);
  finalized = 0;

  constructor(journal: TransactionJournal = new MemoryTransactionJournal()) {
    this.journal = journal;
    for (const who of [alice, bob, carol]) this.world.setAccount(who);
  }

  begin({ isCaughtUp = () => true, perQueueMax = 1000, chainAheadMs = 0 }: LifeOptions = {}): Life {
    const { world, journal } = this;
    const announced: string[] = [];
    const logged: Life['logged'] = [];
    const observer: Observer = {
      ...SILENT,
      log: (_level, code, _message, fields = {}) => void logged.push({ code, fields }),
    };
    const clock = this.#time.clock();
    const chainClock = { nowMs: () => clock.nowMs() + chainAheadMs };
    const pool: TransactionPool = new TransactionPool({
      rules: world.rules,
      state: () => world.state,
      tip: () => world.state.tip(),
      clock: chainClock,
      verify: world.verify,
      observer: SILENT,
      limits: { perQueueMax },
      events: {
        verified: ({ id }) => void announced.push(id),
        signatureAdded: (signature) => accepted.signatureAdded(signature),
        dropped: (transaction, reason) => accepted.dropped(transaction, reason),
      },
    });
    const accepted = new AcceptedTransactions({
      journal,
      pool,
      store: {
        tip: () => world.state.tip(),
        transactionPlace: (id) =>
          world.state.hasTransaction(id) ? { height: world.state.tip().height, index: 0 } : undefined,
      },
      rules: world.rules,
      clock,
      chainClock,
      observer,
      finalizedHeight: () => this.finalized,
      isCaughtUp,
      announceAgain: (id) => void announced.push(`again ${id}`),
    });
    accepted.start();
    return {
      pool,
      accepted,
      announced,
      logged,
      run: (seconds) => this.#time.runUntil(this.#time.nowMs + seconds * 1000),
      apply: (block) => {
        pool.blocksApplied([block]);
        accepted.blocksApplied([block]);
      },
      end: () => accepted.stop(),
    };
  }

  kept(): readonly string[] {
    return [...this.journal.entries()].map(({ id }) => id);
  }
}

async function submitted(life: Life, json: object): Promise<string> {
  const result = await life.accepted.submit(json, NO_PAYER);
  if (!result.accepted) throw new Error(JSON.stringify(result));
  return result.transaction.id;
}

test('an accepted transaction is in the pool again after a restart, with its age, and is announced again', async (t) => {
  const lives = new Lives();
  const first = lives.begin();
  const id = await submitted(first, lives.world.transfer(alice, bob));
  t.deepEqual(first.announced, [id]);
  first.end();
  await first.run(10_000);
  const second = lives.begin();
  await second.run(1);
  t.true(second.pool.has(id));
  t.deepEqual(second.announced, [id]);
  t.deepEqual(
    second.logged.map(({ code }) => code),
    ['ACCEPTED_TRANSACTIONS_RESTORED'],
  );
  await second.run(810);
  t.deepEqual(second.pool.expire(), [id], 'three hours after it was accepted');
  await second.run(2);
  t.deepEqual(lives.kept(), []);
  t.deepEqual(second.logged.at(-1), {
    code: 'ACCEPTED_TRANSACTIONS_DROPPED',
    fields: { count: 1, transactionIds: id, reason: 'it waited too long' },
  });
});

for (const chainAheadMs of [-86_400_000, 86_400_000])
  test(`an accepted transaction keeps its age beside a chain clock that is ${chainAheadMs} ms ahead`, async (t) => {
    const lives = new Lives();
    const first = lives.begin({ chainAheadMs });
    const id = await submitted(first, lives.world.transfer(alice, bob));
    first.end();
    await first.run(10_000);
    const second = lives.begin({ chainAheadMs });
    await second.run(1);
    t.true(second.pool.has(id));
    t.deepEqual(second.pool.expire(), []);
    await second.run(810);
    t.deepEqual(second.pool.expire(), [id], 'three hours after it was accepted');
  });

test('the answer and the announcement wait for the write to the disk', async (t) => {
  let written = (): void => undefined;
  const disk = new Promise<void>((resolve) => (written = resolve));
  const journal = new (class extends MemoryTransactionJournal {
    override flush = (): Promise<void> => disk;
  })();
  const lives = new Lives(journal);
  const life = lives.begin();
  const answer = submitted(life, lives.world.transfer(alice, bob));
  let isAnswered = false;
  void answer.then(() => (isAnswered = true));
  await new Promise(setImmediate);
  t.false(isAnswered);
  t.deepEqual(life.announced, []);
  t.is(lives.kept().length, 1);
  written();
  t.deepEqual(life.announced, [], 'announced after the write');
  t.deepEqual([await answer], life.announced);
});

test('a transaction that cannot be written is refused and forgotten', async (t) => {
  const journal = new (class extends MemoryTransactionJournal {
    override flush = (): Promise<void> => Promise.reject(new Error('no space'));
  })();
  const lives = new Lives(journal);
  const life = lives.begin();
  const json = lives.world.transfer(alice, bob);
  const result = await life.accepted.submit(json, NO_PAYER);
  t.like(result, { accepted: false, code: 'TRANSACTION_NOT_KEPT' });
  t.false(life.pool.has(String(json['id'])));
  t.deepEqual(lives.kept(), []);
  t.deepEqual(life.announced, []);
  t.true(life.logged.some(({ code }) => code === 'TRANSACTION_JOURNAL_FAILED'));
});

test('refusals for a full disk are logged at the start, now and then with their number, and at the end', async (t) => {
  let isFull = true;
  const journal = new (class extends MemoryTransactionJournal {
    override flush = (): Promise<void> => (isFull ? Promise.reject(new Error('no space')) : Promise.resolve());
  })();
  const lives = new Lives(journal);
  const life = lives.begin();
  const json = lives.world.transfer(alice, bob);
  const submit = () => life.accepted.submit(json, NO_PAYER);
  const logged = () => life.logged.map(({ code, fields }) => [code, fields['refused']]);
  for (let times = 0; times < 50; times += 1) await submit();
  t.deepEqual(logged(), [['TRANSACTION_JOURNAL_FAILED', undefined]]);
  await life.run(601);
  await submit();
  t.deepEqual(logged().slice(1), [['TRANSACTION_JOURNAL_FAILED', 50]]);
  await submit();
  isFull = false;
  t.like(await submit(), { accepted: true });
  t.deepEqual(logged().slice(2), [['TRANSACTION_JOURNAL_RECOVERED', 52]]);
  life.end();
});

test('a transaction that got into a block is not restored, and is forgotten when the block is final', async (t) => {
  const lives = new Lives();
  const first = lives.begin();
  const id = await submitted(first, lives.world.transfer(alice, bob));
  const transaction = first.pool.get(id);
  first.end();
  if (transaction === undefined) return t.fail();
  lives.world.confirm([transaction]);
  const second = lives.begin();
  await second.run(1);
  t.false(second.pool.has(id));
  t.deepEqual(lives.kept(), [id], 'its block may be reverted');
  lives.finalized = 10;
  second.apply(lives.world.confirm([]));
  t.deepEqual(lives.kept(), []);
  t.deepEqual(
    second.logged.filter(({ code }) => code === 'ACCEPTED_TRANSACTIONS_DROPPED'),
    [],
  );
});

test('without finality a transaction is forgotten when it is a round deep', async (t) => {
  const lives = new Lives();
  const life = lives.begin();
  const id = await submitted(life, lives.world.transfer(alice, bob));
  const transaction = life.pool.get(id);
  if (transaction === undefined) return t.fail();
  life.apply(lives.world.confirm([transaction]));
  for (let block = 1; block < 101; block += 1) life.apply(lives.world.confirm([]));
  t.deepEqual(lives.kept(), [id]);
  life.apply(lives.world.confirm([]));
  t.deepEqual(lives.kept(), []);
});

test('a transaction of a reverted block is kept, and restored when the pool has room', async (t) => {
  const lives = new Lives();
  const life = lives.begin({ perQueueMax: 1 });
  const id = await submitted(life, lives.world.transfer(alice, bob));
  const transaction = life.pool.get(id);
  if (transaction === undefined) return t.fail();
  const block = lives.world.confirm([transaction]);
  life.apply(block);
  lives.world.resetState();
  for (const who of [alice, bob, carol]) lives.world.setAccount(who);
  // With `perQueueMax` 1, the five queues together hold at most five transactions.
  const others = [1, 2, 3, 4, 5].map(() => lives.world.read(lives.world.transfer(carol, bob)));
  life.pool.blocksReverted([{ ...block, transactions: others }]);
  life.pool.blocksReverted([block]);
  life.accepted.blocksReverted([block]);
  t.false(life.pool.has(id));
  life.pool.take(others.map((other) => other.id));
  await life.run(11);
  t.true(life.pool.has(id));
});

test('signatures of members are kept, also those from peers', async (t) => {
  const lives = new Lives();
  const { world } = lives;
  const first = lives.begin();
  const json = world.multisignature(alice, [bob, carol], 2);
  const id = await submitted(first, json);
  t.true((await first.accepted.submitSignature(world.signatureOf(bob, json), NO_PAYER)).accepted);
  t.true(first.pool.addSignature(world.signatureOf(carol, json)).accepted);
  first.end();
  const second = lives.begin();
  await second.run(1);
  t.is(second.pool.get(id)?.signatures.length, 2);
  t.true(second.pool.entries('pending')[0]?.ready);
});

test('a signature for which the journal has no room is refused, unless a confirmed transaction can leave', async (t) => {
  const lives = new Lives();
  const { world, journal } = lives;
  const first = lives.begin();
  const json = world.multisignature(alice, [bob, carol], 2);
  const id = await submitted(first, json);
  const confirmed = world.transfer(carol, bob);
  const confirmedId = await submitted(first, confirmed);
  const filler = { id: '5', receivedAtMs: 0, isOfGroup: false, signatures: [] };
  const usedBytes = [...journal.entries()].reduce((sum, entry) => sum + JSON.stringify(entry).length, 0);
  const fillerBytes = JSON.stringify({ ...filler, json: { data: '' } }).length;
  const data = 'x'.repeat(JOURNALED_BYTES_MAX - usedBytes - fillerBytes - 10);
  journal.add({ ...filler, json: { data } });

  const refused = await first.accepted.submitSignature(world.signatureOf(bob, json), NO_PAYER);
  t.is(refused.accepted ? '' : refused.code, 'POOL_FULL');
  t.is(journal.get(id)?.signatures.length, 0);

  first.apply(world.confirm([world.read(confirmed)]));
  t.true((await first.accepted.submitSignature(world.signatureOf(carol, json), NO_PAYER)).accepted);
  t.is(journal.get(id)?.signatures.length, 1);
  t.is(journal.get(confirmedId), undefined);

  // Although the first request with Bob's signature was refused, the pool has kept the signature, so it refuses the
  // second request as a duplicate. The journal now has room for the signature, and stores it. The client may write the
  // signature in upper case.
  journal.remove(['5']);
  const bobs = world.signatureOf(bob, json);
  const again = await first.accepted.submitSignature(
    { ...bobs, signature: String(bobs.signature).toUpperCase() },
    NO_PAYER,
  );
  t.regex(again.accepted ? '' : (again.errors[0]?.message ?? ''), /duplicate signature/);
  t.is(journal.get(id)?.signatures.length, 2);
  t.true(journal.get(id)?.signatures.some(({ signature }) => signature === bobs.signature));
});

test('a signature in upper case is kept once, in lower case', async (t) => {
  const lives = new Lives();
  const { world, journal } = lives;
  const first = lives.begin();
  const json = world.multisignature(alice, [bob, carol], 2);
  const id = await submitted(first, json);
  const { publicKey, signature, transactionId } = world.signatureOf(bob, json);
  const inCapitals = { transactionId, publicKey: publicKey.toUpperCase(), signature: signature.toUpperCase() };
  t.true((await first.accepted.submitSignature(inCapitals, NO_PAYER)).accepted);
  t.false((await first.accepted.submitSignature(inCapitals, NO_PAYER)).accepted);
  t.deepEqual(journal.get(id)?.signatures, [{ transactionId, publicKey, signature }]);
});

test('a signature is accepted right after a start, before its transaction is restored', async (t) => {
  const lives = new Lives();
  const { world } = lives;
  const first = lives.begin();
  const json = world.multisignature(alice, [bob, carol], 2);
  await submitted(first, json);
  first.end();
  const second = lives.begin();
  t.true((await second.accepted.submitSignature(world.signatureOf(bob, json), NO_PAYER)).accepted);
  await second.run(1);
  t.is(second.pool.get(String(json['id']))?.signatures.length, 1);
});

test("a client's signature makes the node keep a transaction of a peer", async (t) => {
  const lives = new Lives();
  const { world } = lives;
  const first = lives.begin();
  const json = world.multisignature(alice, [bob, carol], 2);
  const { accepted } = first.pool.receive([json]);
  first.pool.verifyReceived(accepted);
  t.deepEqual(lives.kept(), []);
  t.true((await first.accepted.submitSignature(world.signatureOf(bob, json), NO_PAYER)).accepted);
  first.end();
  const second = lives.begin();
  await second.run(1);
  t.is(second.pool.get(String(json['id']))?.signatures.length, 1);
});

test('a transaction that does not fit the state of an old folder waits until the chain is up to date', async (t) => {
  const lives = new Lives();
  const first = lives.begin();
  const id = await submitted(first, lives.world.transfer(alice, bob));
  const other = await submitted(first, lives.world.transfer(carol, bob));
  first.end();
  lives.world.setAccount(alice, { balance: 0n });
  lives.world.setAccount(carol, { balance: 0n });
  let isCaughtUp = false;
  const second = lives.begin({ isCaughtUp: () => isCaughtUp });
  await second.run(100);
  t.false(second.pool.has(id));
  t.deepEqual(lives.kept(), [id, other]);
  lives.world.setAccount(alice);
  await second.run(11);
  t.true(second.pool.has(id));
  isCaughtUp = true;
  await second.run(12);
  t.deepEqual(lives.kept(), [id]);
  t.like(second.logged.at(-1), { code: 'ACCEPTED_TRANSACTIONS_DROPPED', fields: { count: 1, transactionIds: other } });
});

test('a transaction whose money another block spent is dropped for good, and this is logged', async (t) => {
  const lives = new Lives();
  const first = lives.begin();
  const id = await submitted(first, lives.world.transfer(alice, bob));
  lives.world.setAccount(alice, { balance: 0n });
  first.pool.step();
  await first.run(2);
  t.like(first.logged.at(-1), { code: 'ACCEPTED_TRANSACTIONS_DROPPED', fields: { count: 1, transactionIds: id } });
  first.end();
  lives.world.setAccount(alice);
  const second = lives.begin();
  await second.run(100);
  t.false(second.pool.has(id));
});

test('a transaction submitted again while it is in the pool is announced again', async (t) => {
  const lives = new Lives();
  const life = lives.begin();
  const json = lives.world.transfer(alice, bob);
  const id = await submitted(life, json);
  t.like(await life.accepted.submit(json, NO_PAYER), { accepted: false, code: 'TRANSACTION_KNOWN' });
  t.deepEqual(life.announced, [id, `again ${id}`]);
});

test('a full journal drops confirmed transactions first; after that the pool counts as full', async (t) => {
  const journal = new (class extends MemoryTransactionJournal {
    override hasRoomFor = (): boolean => [...this.entries()].length < 2;
  })();
  const lives = new Lives(journal);
  const life = lives.begin();
  const first = await submitted(life, lives.world.transfer(alice, bob));
  const transaction = life.pool.get(first);
  if (transaction === undefined) return t.fail();
  life.apply(lives.world.confirm([transaction]));
  const second = await submitted(life, lives.world.transfer(alice, bob));
  const third = await submitted(life, lives.world.transfer(alice, bob));
  t.deepEqual(lives.kept(), [second, third]);
  const json = lives.world.transfer(alice, bob);
  t.like(await life.accepted.submit(json, NO_PAYER), { accepted: false, code: 'POOL_FULL' });
  t.false(life.pool.has(String(json['id'])));
});
