/**
 * Makes chains of both generations. A chain of at least 20 blocks has transactions of each type that live networks
 * accept, a multisignature group, missed slots and several rounds.
 */

import { codeOf } from '../../src/primitives/errors.ts';
import type { Block, Transaction } from '../../src/protocol/types.ts';
import {
  ChainMaker,
  keyPairOf,
  LSK,
  makeNetwork,
  publicKeyOf,
  type NetworkOptions,
  type TestNetwork,
} from '../support/chain-maker.ts';

export interface FullChain {
  readonly maker: ChainMaker;
  readonly network: TestNetwork;
  /** All blocks in ascending order; the first one is the genesis block. */
  readonly blocks: readonly Block[];
}

/** Number of missed slots before every seventh block. These slots of 2 s last 100 minutes. */
const LONG_GAP_SLOTS = 3_003;

/** Number of active delegates, which is also the number of blocks in a round. */
export const ROUND = 5;

/**
 * Makes a chain. Two chains with different values of `branch` have the same blocks below height `from`, and different
 * blocks from height `from` on.
 *
 * @param branch number of the branch that begins at height `from`; 0 for the main chain
 */
export function fullChain(generation: 2 | 3, height: number, branch = 0, from = Infinity): FullChain {
  const rewards = { milestones: [5n * LSK, 4n * LSK], offset: 7, distance: 40 };
  const options: NetworkOptions = { generation, activeDelegates: ROUND, delegates: 8, accounts: 8, rewards };
  const network = makeNetwork(
    generation === 2 ? { ...options, delegateListRoundOffset: 0 } : { ...options, delegateListRoundOffset: 1 },
  );
  const maker = new ChainMaker(network);
  const blocks: Block[] = [network.genesis];
  while (blocks.length < height) {
    const next = blocks.length + 1;
    const turn = next < from ? 0 : branch;
    const missedSlots = next % 7 === turn ? LONG_GAP_SLOTS : next === from ? 1 : 0;
    blocks.push(forged(maker, transactionsAt(maker, next, turn), missedSlots));
  }
  return { maker, network, blocks };
}

/**
 * Forges the next block. In generation 3, a delegate that is not active in the next round cannot forge the last block
 * of a round. In this case, the function skips one more slot and tries again.
 */
function forged(maker: ChainMaker, transactions: readonly Transaction[], missedSlots: number): Block {
  try {
    return maker.forge({ transactions, missedSlots });
  } catch (error) {
    if (codeOf(error) !== 'FORGER_LEAVES' || missedSlots > LONG_GAP_SLOTS + 3 * ROUND) throw error;
    return forged(maker, transactions, missedSlots + 1);
  }
}

function transactionsAt(maker: ChainMaker, height: number, branch: number): readonly Transaction[] {
  const { accounts, delegates } = maker.network;
  const [alice, bob, carol, dora, erin] = accounts;
  if (!alice || !bob || !carol || !dora || !erin) throw new Error('there are eight accounts');
  const second = keyPairOf('second');
  const key = (index: number): string => publicKeyOf(delegates[index] ?? alice);
  switch (height) {
    case 4:
      return [
        maker.transaction(alice, { kind: 'secondSignature', publicKey: publicKeyOf(second) }),
        maker.transaction(bob, { kind: 'delegate', username: 'bob' }),
        maker.transaction(carol, { kind: 'vote', votes: [`+${key(6)}`, `+${key(7)}`], amount: 0n }),
      ];
    case 6: {
      const keysgroup = [`+${publicKeyOf(bob)}`, `+${publicKeyOf(carol)}`];
      const payload = { kind: 'multisignature', min: 2, lifetime: 24, keysgroup } as const;
      return [
        maker.transaction(dora, payload, { members: [bob, carol] }),
        maker.transfer(alice, bob, 3n * LSK, { second }),
        maker.transfer(erin, erin, 7n),
      ];
    }
    case 9:
      return [maker.transfer(dora, erin, 2n * LSK, { members: [bob, carol] })];
    case 11:
      return [maker.transaction(carol, { kind: 'vote', votes: [`-${key(6)}`, `+${publicKeyOf(bob)}`], amount: 0n })];
    default: {
      if (height < 12) return [];
      const recipient = keyPairOf(`new ${height % 9} ${branch}`);
      const payload = {
        kind: 'transfer',
        amount: BigInt(height) * 1000n,
        recipientId: '',
        data: `at ${height}`,
      } as const;
      return [
        maker.transfer(erin, bob, BigInt(height + branch)),
        maker.transfer(carol, recipient, BigInt(height)),
        maker.transaction(bob, { ...payload, recipientId: maker.transfer(bob, alice, 1n).senderId }),
      ];
    }
  }
}
