import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { isLastOfRound } from '../../../src/protocol/rounds.ts';
import { openMemoryChainStore } from '../../../src/store/chain/open.ts';
import { ChainMaker, makeNetwork, verify } from '../../support/chain-maker.ts';
import { randomTransactions } from '../../support/random-transactions.ts';

const rewards = { milestones: [500n], offset: 20, distance: 1_000_000 };
const network = makeNetwork({
  generation: 2,
  rewards,
  votes: [
    { account: 0, delegates: [1, 2, 3] },
    { account: 1, delegates: [1] },
  ],
});

function expectWeights(t: { is(actual: bigint, expected: bigint): void }, maker: ChainMaker): void {
  const voted = new Map<string, bigint>();
  for (const { votes, balance } of maker.state.accounts()) {
    for (const key of votes) voted.set(key, (voted.get(key) ?? 0n) + balance);
  }
  for (const { publicKey, voteWeight } of maker.state.delegates()) t.is(voteWeight, voted.get(publicKey) ?? 0n);
}

test("for any transactions the supply is exact, weights are voters' balances at round ends, and blocks revert", (t) => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      let state = seed;
      const below = (limit: number): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return (state >>> 8) % limit;
      };
      const maker = new ChainMaker(network);
      const { codec } = maker.rules;
      const store = openMemoryChainStore({ codec, params: network.params });
      const digests: string[] = [];
      store.transact((writer) => {
        writer.append(network.genesis, (to) => {
          maker.rules.applyGenesis(to, network.genesis);
        });
      });
      while (maker.tip.height < 204) {
        digests.push(store.stateDigest());
        const busy = below(3) === 0;
        const block = maker.forge({
          transactions: busy ? randomTransactions(maker, 8, below) : [],
          missedSlots: below(10) === 0 ? below(30) : 0,
        });
        const copy = codec.blockFromJson(JSON.parse(JSON.stringify(codec.blockToJson(block))));
        t.deepEqual(copy, block);
        store.transact((writer) => {
          writer.append(copy, (to) => {
            maker.rules.applyBlock(to, copy, { nowS: copy.timestamp, verify });
          });
        });
        if (isLastOfRound(block.height, maker.rules.params)) expectWeights(t, maker);
      }
      let balances = 0n;
      let earned = 0n;
      for (const { balance, forgedRewards } of maker.state.accounts()) {
        balances += balance;
        earned += forgedRewards;
      }
      // The delegates have received the rewards and fees of two rounds. They have not yet received the rewards and fees
      // of the third round, but the senders have already paid these fees. The balance of the genesis generator is minus
      // the supply. The sum of all balances therefore equals the received rewards minus the fees of the third round.
      const unpaid = [203, 204].reduce((sum, height) => sum + (maker.state.header(height)?.totalFee ?? 0n), 0n);
      t.is(earned, 183n * 500n);
      t.is(balances + unpaid, earned);

      while (digests.length > 0) {
        store.transact((writer) => writer.revert());
        t.is(store.stateDigest(), digests.pop() ?? '');
      }
    }),
    { numRuns: 4 },
  );
});
