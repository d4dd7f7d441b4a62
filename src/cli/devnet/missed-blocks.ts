/**
 * Corrects the number of missed blocks of the delegate that has no slot in the first round. The delegate has no slot
 * because the genesis block uses one slot of that round. Like the reference (lisk-sdk), the node counts a missed block
 * for this delegate. The function `missedBlocks` does not count this missed block.
 */

import type { DelegateCounts, NodeClient } from '../node-client.ts';

export class FirstRound {
  readonly #activeDelegates: number;
  #forgers: readonly string[] | undefined;

  constructor(activeDelegates: number) {
    this.#activeDelegates = activeDelegates;
  }

  /**
   * Returns the public key of the delegate without a slot in the first round. This delegate has a missed block, and has
   * forged no block in the first round. The result is undefined if there is no such delegate, or before the first round
   * is over.
   *
   * @param height height of the tip of the node that `client` queries
   */
  async delegateWithoutTurn(
    height: number,
    delegates: readonly DelegateCounts[],
    client: Pick<NodeClient, 'firstForgers'>,
  ): Promise<string | undefined> {
    const blocks = this.#activeDelegates - 1;
    if (height < this.#activeDelegates) return undefined;
    this.#forgers ??= blocks === 0 ? [] : await client.firstForgers(blocks);
    const forged = new Set(this.#forgers);
    // If several delegates have no block in the first round, one of these delegates had no slot, and each of the other
    // delegates missed a slot. The function cannot tell these delegates apart, so it returns the first of these
    // delegates in the list `delegates`.
    return delegates.find(({ publicKey, missed }) => missed > 0 && !forged.has(publicKey))?.publicKey;
  }
}

export function missedBlocks({ publicKey, missed }: DelegateCounts, exempt: string | undefined): number {
  return publicKey === exempt ? missed - 1 : missed;
}
