import test from 'ava';
import { ChainAsOf } from '../../src/http/events/chain-as-of.ts';
import { createChainLog } from '../../src/store/chain/chain-log.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import type { Block } from '../../src/protocol/types.ts';
import { FAKE_CODEC } from '../support/fake-codec.ts';
import { paramsWith } from '../support/fixtures.ts';
import { Dice, nextStep } from '../store/world.ts';

/**
 * A chain with its event log (`ChainLog`), which has one record for each appended or reverted block. The fixture counts
 * the reads of records, and stores the chain as it was after each record.
 */
function setUpChain() {
  const params = paramsWith();
  const store = openMemoryChainStore({ codec: FAKE_CODEC, params });
  const reads = { records: 0 };
  const note = store.note.bind(store);
  Object.assign(store, {
    note: (name: Parameters<typeof note>[0]) => {
      reads.records += 1;
      return note(name);
    },
  });
  const log = createChainLog(store, { finalizedHeight: () => 0 });
  const dice = new Dice(5);
  const chains: (readonly Block[])[] = [[]];
  const chainNow = (): readonly Block[] => chains.at(-1) ?? [];
  return {
    api: { chain: createQueries(store, params), log },
    reads,
    chains,
    append(count: number) {
      for (let i = 0; i < count; i += 1) {
        const { block, apply } = nextStep(dice, store.tip());
        store.transact((writer) => writer.append(block, apply));
        chains.push([...chainNow(), block]);
      }
    },
    revert(count: number) {
      for (let i = 0; i < count; i += 1) {
        store.transact((writer) => writer.revert());
        chains.push(chainNow().slice(0, -1));
      }
    },
  };
}

test('after reorgs, each block of the chain as of any record is found', (t) => {
  const { api, chains, append, revert } = setUpChain();
  const dice = new Dice(6);
  const pasts: ChainAsOf[] = [new ChainAsOf(api, 0)];
  const look = (): void => {
    for (let sequence = pasts.length; sequence < chains.length; sequence += 1) pasts.push(new ChainAsOf(api, sequence));
    // Reads blocks between the changes of the chain, not only after the last change.
    for (let i = 0; i < 5; i += 1) dice.pick(pasts).block(1 + dice.below(20));
  };
  append(1);
  for (let step = 0; step < 15; step += 1) {
    append(dice.below(6));
    look();
    revert(Math.min(dice.below(5), (chains.at(-1)?.length ?? 1) - 1));
    look();
  }
  for (const past of pasts) {
    const chain = chains[past.sequence] ?? [];
    t.is(past.tipHeight(), chain.length);
    t.deepEqual(
      chain.map(({ height }) => past.block(height)?.id),
      chain.map(({ id }) => id),
    );
  }
});

test('a block of the chain as of an old record is found in a long log with few reads', (t) => {
  const { api, reads, chains, append, revert } = setUpChain();
  append(5);
  for (let reorg = 0; reorg < 10; reorg += 1) {
    append(40);
    revert(3);
  }
  t.true(api.log.last() > 400);
  for (const sequence of [1, 5, 44, 47, 200])
    for (const { height, id } of chains[sequence] ?? []) {
      reads.records = 0;
      t.is(new ChainAsOf(api, sequence).block(height)?.id, id);
      t.true(reads.records < 20, `${reads.records} reads for block ${height} as of record ${sequence}`);
    }
});

test('the block of a record that a deep reorg reverted is found with few reads', (t) => {
  const { api, reads, append, revert } = setUpChain();
  append(120);
  revert(100);
  for (const record of api.log.records(1, 1_000)) {
    reads.records = 0;
    t.is(api.log.block(record)?.id, record.blockId);
    t.true(reads.records < 20, `${reads.records} reads for the block of record ${record.sequence}`);
  }
});
