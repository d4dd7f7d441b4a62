/**
 * Corrects the number of missed blocks of the delegate that has no slot in the first round. The delegate has no slot
 * because the genesis block counts as one of the blocks of that round. Like the reference (lisk-sdk), the node counts a
 * missed block for this delegate. The function `missedBlocks` does not count this missed block.
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
   * Returns the public key of the delegate without a slot in the first round. This delegate has a missed block, and has
   * forged no block in the first round. The result is undefined before the first round is over, or if each delegate had
   * a slot, because a slot between two blocks of the round has no block.
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
    // The first slot of the round is the slot of the first block, and each delegate has one slot in any
    // `activeDelegates` slots of the round.
    const slotsOfRound = count === 0 ? 0 : Math.max(...slots) - Math.min(...slots) + 1;
    if (slotsOfRound >= activeDelegates) return undefined;
    const forged = new Set(this.#blocks.map(({ generatorPublicKey }) => generatorPublicKey));
    return delegates.find(({ publicKey, missed }) => missed > 0 && !forged.has(publicKey))?.publicKey;
  }
}

export function missedBlocks({ publicKey, missed }: DelegateCounts, exempt: string | undefined): number {
  return publicKey === exempt ? missed - 1 : missed;
}
