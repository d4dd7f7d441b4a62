import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import type { PoolContext } from '../../../src/engine/pool/checks.ts';
import { demoteAfterRevert } from '../../../src/engine/pool/demotion.ts';
import { POOL_STATES, PoolQueues } from '../../../src/engine/pool/queues.ts';
import type { PoolState } from '../../../src/ports/node-api.ts';
import { recipientOf } from '../../../src/protocol/tx/recipient.ts';
import type { Block, Transaction } from '../../../src/protocol/types.ts';
import { transactionOf, TRANSFER } from '../../http/fake-node.ts';
import { blockOf, PoolWorld } from '../../support/pool-world.ts';

const PEOPLE = ['1L', '2L', '3L', '4L', '5L', '6L'];
const base = transactionOf(3, TRANSFER);
const world = new PoolWorld();

/** Queues that count how often their content is listed. */
class CountingQueues extends PoolQueues {
  lists = 0;

  override list(state: PoolState): ReturnType<PoolQueues['list']> {
    this.lists += 1;
    return super.list(state);
  }
}

/** A pool context that counts the checks of members' signatures. */
class CountingContext implements PoolContext {
  groupChecks = 0;
  readonly rules: PoolContext['rules'];
  readonly state = () => world.state;
  readonly tip = () => world.state.tip();
  readonly clock = { nowMs: () => 5 };
  readonly verify = () => true;

  constructor() {
    const multisignatureStatus = (): 'none' => {
      this.groupChecks += 1;
      return 'none';
    };
    this.rules = { ...world.rules, multisignatureStatus };
  }
}

function transfer(id: number, senderId: string, recipientId: string): Transaction {
  return { ...base, id: String(id), senderId, payload: { kind: 'transfer', amount: 1n, recipientId } };
}

function fill(queues: PoolQueues, content: readonly (readonly [state: PoolState, transaction: Transaction])[]): void {
  for (const [state, transaction] of content) {
    queues.add(state, { transaction, receivedAtMs: 1, group: 'none', announced: false });
  }
}

/** Reverts block by block, with a pass over all queues for each block. */
function revertedOneByOne(queues: PoolQueues, blocks: readonly Block[]): void {
  const moves = [
    ['validated', 'received'],
    ['verified', 'validated'],
    ['pending', 'validated'],
    ['ready', 'validated'],
  ] as const;
  for (const { transactions } of [...blocks].sort((a, b) => b.height - a.height)) {
    const recipients = transactions.map((transaction) => recipientOf(transaction));
    for (const [from, to] of moves) {
      for (const pooled of queues.list(from)) {
        if (recipients.includes(pooled.transaction.senderId)) queues.move(pooled, to);
      }
    }
    for (const transaction of [...transactions].reverse()) {
      queues.addBeyondLimit('verified', { transaction, receivedAtMs: 5, group: 'none', announced: true });
    }
  }
}

test('a revert of many blocks leaves the same queues as the reverts of the single blocks', (t) => {
  const who = fc.constantFrom(...PEOPLE);
  // The transaction ids come from a small range. A transaction of a block can therefore have the same id as a
  // transaction in the pool, or as a transaction of another block.
  const transaction = fc.tuple(fc.nat(60), who, who).map((parts) => transfer(...parts));
  const content = fc.array(fc.tuple(fc.constantFrom(...POOL_STATES), transaction), { maxLength: 30 });
  const blocks = fc.array(fc.array(transaction, { maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(content, blocks, fc.integer({ min: 1, max: 12 }), fc.boolean(), (pool, lists, perQueueMax, isUp) => {
      const [queues, expected] = [new PoolQueues(perQueueMax), new PoolQueues(perQueueMax)];
      for (const each of [queues, expected]) fill(each, pool);
      const reverted = lists.map((transactions, index) => blockOf(index + 2, transactions));
      demoteAfterRevert(new CountingContext(), queues, isUp ? reverted : reverted.toReversed());
      revertedOneByOne(expected, reverted);
      for (const state of POOL_STATES) t.deepEqual(queues.list(state), expected.list(state), state);
    }),
    { numRuns: 500 },
  );
});

test('a revert of many blocks passes over the queues once, and checks only transactions that fit', (t) => {
  const queues = new CountingQueues(10);
  const context = new CountingContext();
  fill(queues, [['ready', transfer(1, '1L', '2L')]]);
  const blocks = Array.from({ length: 100 }, (_, index) => {
    const transactions = [0, 1].map((at) => transfer(1_000 + index * 2 + at, '2L', '1L'));
    return blockOf(index + 2, transactions);
  });
  demoteAfterRevert(context, queues, blocks);
  t.true(queues.lists <= POOL_STATES.length, `${queues.lists} lists`);
  t.is(context.groupChecks, 49);
  t.is(queues.total, 50);
  t.is(queues.stateOf('1'), 'received');
});
