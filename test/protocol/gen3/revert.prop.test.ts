import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { openMemoryChainStore } from '../../../src/store/chain/open.ts';
import { ChainMaker, makeNetwork, verify } from '../../support/chain-maker.ts';
import { randomTransactions } from '../../support/random-transactions.ts';

const network = makeNetwork({
  rewards: { milestones: [503n], offset: 20, distance: 1_000_000 },
  votes: [
    { account: 0, delegates: [0, 1, 2] },
    { account: 1, delegates: [2, 3] },
  ],
});

test('applying and reverting blocks leaves the digest of each height unchanged, over rounds and finality', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (seed) => {
      let state = seed;
      const below = (limit: number): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return (state >>> 8) % limit;
      };
      const maker = new ChainMaker(network);
      for (const person of network.accounts) maker.know(person);
      const { codec } = maker.rules;
      const store = openMemoryChainStore({ codec, params: network.params });
      store.transact((writer) => {
        writer.append(network.genesis, (to) => {
          maker.rules.applyGenesis(to, network.genesis);
        });
      });
      const digests: string[] = [];
      const finalized: number[] = [];
      while (maker.tip.height < 320) {
        digests.push(store.stateDigest());
        finalized.push(maker.rules.finalizedHeight(store));
        const block = maker.forge({
          transactions: below(3) === 0 ? randomTransactions(maker, 8, below) : [],
          missedSlots: below(12) === 0 ? below(20) : 0,
        });
        store.transact((writer) => {
          writer.append(block, (to) => {
            maker.rules.applyBlock(to, block, { nowS: block.timestamp, verify });
          });
        });
      }
      t.true(maker.rules.finalizedHeight(store) > 1);
      while (digests.length > 0) {
        store.transact((writer) => writer.revert());
        t.is(store.stateDigest(), digests.pop() ?? '');
        t.is(maker.rules.finalizedHeight(store), finalized.pop() ?? -1);
      }
      t.is(store.tip()?.height, 1);
    }),
    { numRuns: 3 },
  );
});
