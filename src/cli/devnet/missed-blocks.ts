/**
 * Corrects the number of missed blocks that a node reports for the delegate without a slot in the first round. The
 * genesis block counts as one of the blocks of that round. If no slot between two forged blocks of the round is empty,
 * the round therefore has one slot fewer than it has delegates. Like the reference (lisk-sdk), the node counts a missed
 * block for each delegate of a round that forged no block of the round, even if the delegate had no slot. For the
 * delegate without a slot, the function `missedBlocks` of this file returns the number of the node minus one.
 */

import { slotAt } from '../../protocol/slots.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { DelegateCounts, ForgedBlock, NodeClient } from '../node-client.ts';

export class FirstRound {
  readonly #params: Pick<ChainParams, 'activeDelegates' | 'blockTimeS'>;
  #blocks: readonly ForgedBlock[] | undefined;

  constructor(params: Pick<ChainParams, 'activeDelegates' | 'blockTimeS'>) {
    this.#params = params;
  }

  /**
   * Returns the public key of the delegate without a slot in the first round. The function looks for a delegate that
   * forged no block in the first round, and that has a missed block. The node counts a missed block for each delegate
   * of a round that forged no block of the round, even if the delegate had no slot. The result is undefined before the
   * first round is over. The result is also undefined if a slot between two forged blocks of the first round was empty.
   * The empty slot made the round longer, so each delegate had a slot.
   *
   * @param height height of the tip of the node that `client` queries
   */
  async delegateWithoutTurn(
    height: number,
    delegates: readonly DelegateCounts[],
    client: Pick<NodeClient, 'firstBlocks'>,
  ): Promise<string | undefined> {
    const { activeDelegates } = this.#params;
    const count = activeDelegates - 1;
    if (height < activeDelegates) return undefined;
    this.#blocks ??= count === 0 ? [] : await client.firstBlocks(count);
    const slots = this.#blocks.map(({ timestamp }) => slotAt(timestamp, this.#params));
    // The first slot of the round is the slot of the first block after the genesis block. Each empty slot between two
    // forged blocks makes the round one slot longer. In any `activeDelegates` consecutive slots of one round, each
    // delegate has one slot. If the round has at least `activeDelegates` slots, each delegate therefore had a slot.
    const slotsOfRound = count === 0 ? 0 : Math.max(...slots) - Math.min(...slots) + 1;
    if (slotsOfRound >= activeDelegates) return undefined;
    const forged = new Set(this.#blocks.map(({ generatorPublicKey }) => generatorPublicKey));
    return delegates.find(({ publicKey, missed }) => missed > 0 && !forged.has(publicKey))?.publicKey;
  }
}

export function missedBlocks({ publicKey, missed }: DelegateCounts, exempt: string | undefined): number {
  return publicKey === exempt ? missed - 1 : missed;
}
