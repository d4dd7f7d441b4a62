/** The checks of a block that need nothing of its place in the chain, and its signatures ahead of them, on other threads. */

import type { Verifier } from '../ports/verifier.ts';
import type { BlockPlace, Rules } from '../protocol/rules.ts';
import type { StateReader } from '../protocol/state.ts';
import type { Block, SignatureOracle } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';
import { BranchRejected } from './commit.ts';
import { answerSearches } from './signature-searches.ts';

export interface BlockValidatorDependencies {
  readonly rules: Rules;
  readonly verifier: Verifier;
  /** The state at the tip. */
  readonly state: StateReader;
}

export class BlockValidator {
  readonly verify: SignatureOracle;
  readonly #dependencies: BlockValidatorDependencies;
  /** Blocks that need not be validated again. */
  readonly #validated = new WeakSet<Block>();

  constructor(dependencies: BlockValidatorDependencies) {
    this.#dependencies = dependencies;
    this.verify = (check) => dependencies.verifier.verify(check);
  }

  /** Takes note that another thread of this process has validated a block under the same rules. */
  markValidated(block: Block): void {
    this.#validated.add(block);
  }

  /**
   * Has the signatures of blocks checked, on other threads where there are some, so that a later `validate` or append finds
   * the answers: those that need no state, then those of groups and second keys as they are at the tip. Changes nothing and
   * may run beside other work.
   */
  async precheckSignatures(blocks: readonly Block[]): Promise<void> {
    const { rules, verifier, state } = this.#dependencies;
    await verifier.verifyAll(blocks.flatMap((block) => rules.blockSignatureChecks(block)));
    const searches = blocks.flatMap(({ transactions }) =>
      transactions.flatMap((transaction) => rules.signatureSearch(state, transaction) ?? []),
    );
    await answerSearches(searches, verifier);
  }

  /**
   * Checks everything that a block shows without its place in a chain; quick when its signatures were prechecked.
   *
   * @param place as for `Rules.validateBlock`
   * @throws BranchRejected
   */
  validate(block: Block, place?: BlockPlace): void {
    if (this.#validated.has(block)) return;
    try {
      this.#dependencies.rules.validateBlock(block, this.verify, place);
    } catch (error) {
      throw error instanceof BlockRejected ? new BranchRejected(block, error) : error;
    }
  }

  /**
   * Prechecks and validates a block of another chain: this is all that can be asked of the tip of a chain that we do not have.
   *
   * @throws BlockRejected
   */
  async validateDetached(block: Block): Promise<void> {
    await this.precheckSignatures([block]);
    this.#dependencies.rules.validateBlock(block, this.verify);
  }
}
