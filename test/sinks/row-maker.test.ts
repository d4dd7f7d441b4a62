import test from 'ava';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { joinedRows, type Rows } from '../../src/sinks/tables.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import { NO_EXCEPTIONS } from '../../src/protocol/params.ts';
import type { KeyPair } from '../../src/protocol/types.ts';
import { addressOfPair, ChainMaker, LIVE_KINDS, LSK, makeNetwork } from '../support/chain-maker.ts';
import { fullChain, ROUND, type FullChain } from './full-chain.ts';

function rowsOf({ maker, blocks }: FullChain): Rows {
  const rows = new RowMaker(maker.rules);
  return joinedRows(blocks.map((block) => rows.rowsOf(block)));
}

function sumsBy<T>(rows: readonly T[], keyOf: (row: T) => string, valueOf: (row: T) => bigint): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0n) + valueOf(row));
  return sums;
}

for (const generation of [2, 3] as const) {
  const chain = fullChain(generation, 103);
  const rows = rowsOf(chain);
  const accounts = [...chain.maker.state.accounts()];

  test(`generation ${generation}: the chain of these tests has a transaction of every live kind`, (t) => {
    const kinds = chain.blocks.flatMap(({ transactions }) => transactions.map(({ payload }) => payload.kind));
    t.deepEqual(
      LIVE_KINDS.filter((kind) => !kinds.includes(kind)),
      [],
    );
  });

  test(`generation ${generation}: the balance changes of each account sum up to its balance`, (t) => {
    const sums = sumsBy(
      rows.balance_changes,
      ({ address }) => address,
      ({ amount }) => amount,
    );
    for (const { address, balance } of accounts) t.is(sums.get(address) ?? 0n, balance, address);
    t.is(
      [...sums.values()].filter((sum) => sum !== 0n).length,
      accounts.filter(({ balance }) => balance !== 0n).length,
    );
    t.deepEqual(
      new Set(rows.balance_changes.map(({ cause }) => cause)),
      new Set(['genesis', 'fee', 'transfer', 'reward']),
    );
  });

  test(`generation ${generation}: the rounds of each delegate sum up to the totals of its account`, (t) => {
    t.is(new Set(rows.rounds.map(({ round }) => round)).size, Math.floor(103 / ROUND));
    const of = (value: (row: Rows['rounds'][number]) => bigint) =>
      sumsBy(rows.rounds, ({ delegate }) => delegate, value);
    const [missed, fees, rewards] = [of((row) => BigInt(row.missed)), of((row) => row.fees), of((row) => row.rewards)];
    t.true(
      [...missed.values()].some((count) => count > 0n),
      'slots are missed',
    );
    for (const account of accounts) {
      t.is(missed.get(account.address) ?? 0n, BigInt(account.missedBlocks));
      t.is(fees.get(account.address) ?? 0n, account.forgedFees);
      t.is(rewards.get(account.address) ?? 0n, account.forgedRewards);
    }
    const forged = of((row) => BigInt(row.forged));
    t.is(
      [...forged.values()].reduce((sum, count) => sum + count, 0n),
      100n,
      'all blocks of rounds that are over',
    );
  });

  test(`generation ${generation}: rows contain each transaction, vote and signature`, (t) => {
    const transactions = chain.blocks.flatMap((block) => block.transactions);
    t.deepEqual(
      rows.transactions.map(({ id }) => id.toString()),
      transactions.map(({ id }) => id),
    );
    t.deepEqual(new Set(rows.transactions.map(({ kind }) => kind)).size, 5);
    const carol = chain.maker.state.account(rows.votes.at(-1)?.voter ?? '');
    const held = sumsBy(
      rows.votes.filter(({ voter }) => voter === carol?.address),
      ({ delegate_key }) => delegate_key,
      ({ change }) => BigInt(change),
    );
    t.deepEqual([...held].flatMap(([key, sum]) => (sum === 1n ? [key] : [])).sort(), [...(carol?.votes ?? [])].sort());
    const kinds = sumsBy(
      rows.signatures,
      ({ kind }) => kind,
      () => 1n,
    );
    t.is(kinds.get('block'), BigInt(chain.blocks.length));
    t.is(kinds.get('sender'), BigInt(transactions.length));
    t.is(kinds.get('second'), 1n);
    t.is(kinds.get('member'), 4n);
  });

  test(`generation ${generation}: a block applied again after a revert has the same rows`, (t) => {
    const maker = new RowMaker(chain.maker.rules);
    const [first, second] = [chain.blocks.slice(0, 50), chain.blocks.slice(50, 75)];
    for (const block of first) maker.rowsOf(block);
    const once = second.map((block) => maker.rowsOf(block));
    for (const _ of second) maker.revert();
    t.deepEqual(
      second.map((block) => maker.rowsOf(block)),
      once,
    );
  });
}

test('the balance changes of transactions of applications sum up to the balances', (t) => {
  const precedent = { disableDappTransaction: 1000, disableDappTransfer: 1000, disableV1Transactions: 0 };
  const maker = new ChainMaker(makeNetwork({ generation: 2, exceptions: { ...NO_EXCEPTIONS, precedent } }));
  const [owner, sender, third] = maker.network.accounts as [KeyPair, KeyPair, KeyPair];
  const dapp = { name: 'app', type: 0, category: 0, link: 'https://x.test/app.zip' };
  const registration = maker.transaction(owner, { kind: 'dapp', dapp });
  const [dappId, recipientId] = [registration.id, addressOfPair(third)];
  const blocks = [
    maker.network.genesis,
    maker.forge({ transactions: [registration] }),
    maker.forge({ transactions: [maker.transaction(sender, { kind: 'inTransfer', amount: 3n * LSK, dappId })] }),
    maker.forge({
      transactions: [
        maker.transaction(sender, { kind: 'outTransfer', amount: LSK, recipientId, dappId, transactionId: '5' }),
      ],
    }),
  ];
  const rows = new RowMaker(maker.rules);
  const { balance_changes: changes } = joinedRows(blocks.map((block) => rows.rowsOf(block)));
  const sums = sumsBy(
    changes,
    ({ address }) => address,
    ({ amount }) => amount,
  );
  for (const who of [owner, sender, third])
    t.is(sums.get(addressOfPair(who)), maker.state.account(addressOfPair(who))?.balance);
  t.is(sums.get(recipientId), 10_001n * LSK);
});

test('a block that breaks a rule is refused', (t) => {
  const { maker, blocks } = fullChain(3, 20);
  const rows = new RowMaker(maker.rules);
  for (const block of blocks.slice(0, 18)) rows.rowsOf(block);
  const [next, after] = blocks.slice(18);
  if (next === undefined || after === undefined) return t.fail();
  t.is(codeOf(t.throws(() => rows.rowsOf(after))), 'SINK_BLOCK_REFUSED');
  t.is(codeOf(t.throws(() => rows.rowsOf({ ...next, reward: next.reward + 1n }))), 'SINK_BLOCK_REFUSED');
  t.notThrows(() => rows.rowsOf(next));
});
