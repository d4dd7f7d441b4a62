/**
 * Missed blocks as a user counts them. The genesis block takes one place of the first round, so one delegate has no block in it
 * although nobody missed a slot: the chain counts that as missed, as the reference does.
 */

import type { DelegateCounts, NodeClient } from '../node-client.ts';

export class FirstRound {
  readonly #activeDelegates: number;
  #forgers: readonly string[] | undefined;

  constructor(activeDelegates: number) {
    this.#activeDelegates = activeDelegates;
  }

  /**
   * The delegate that had no place in the first round; undefined before that round is over.
   *
   * @param height of the node that is asked
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
    // Of several that have no block all but one did miss their slots.
    return delegates.find(({ publicKey, missed }) => missed > 0 && !forged.has(publicKey))?.publicKey;
  }
}

export function missedBlocks({ publicKey, missed }: DelegateCounts, exempt: string | undefined): number {
  return publicKey === exempt ? missed - 1 : missed;
}
