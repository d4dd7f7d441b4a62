/** Validates blocks with `Rules.validateBlock`. Other threads can verify the signatures in advance. */

import type { Verifier } from '../ports/verifier.ts';
import type { BlockContext, Rules } from '../protocol/rules.ts';
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
  /** Blocks that another thread has validated. The node does not validate these blocks again. */
  readonly #validated = new WeakSet<Block>();

  constructor(dependencies: BlockValidatorDependencies) {
    this.#dependencies = dependencies;
    this.verify = (check) => dependencies.verifier.verify(check);
  }

  /** Records that another thread of this process has validated a block, under the same rules. */
  markValidated(block: Block): void {
    this.#validated.add(block);
  }

  /**
   * Checks the signatures of blocks and of their transactions. If there are more than `INLINE_CHECKS_MAX` signatures
   * (`workers/verifier-pool.ts`) and the verifier has worker threads, these threads check the signatures. The results
   * go into the signature cache, from which later calls of `validate` and `Chain.commit` take the results. The method
   * first checks the block signatures and the primary signatures of the transactions; these checks need no state. After
   * that, the method checks second signatures, and members' signatures of multisignature transactions. For these
   * checks, the method takes the public keys from the state at the tip. The method changes neither chain nor state, so
   * other work can run at the same time.
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
   * Checks a block against all rules that do not depend on the other blocks of its chain. If the caller passes a
   * context, the method also checks the reward (generation 3) or the slot (generation 2). In generation 2, the method
   * accepts a block whose only fault is a wrong slot; `Rules.applyBlock` later refuses the block. If a block with a
   * wrong slot also has other faults, the method adds the wrong slot to the message of the error. Does nothing for a
   * block that `markValidated` has marked. The validation is quick if `precheckSignatures` has checked the signatures
   * in advance.
   *
   * @param context the same as for `Rules.validateBlock`
   * @throws BranchRejected if the rules refuse the block
   */
  validate(block: Block, context?: BlockContext): void {
    if (this.#validated.has(block)) return;
    try {
      this.#dependencies.rules.validateBlock(block, this.verify, context);
    } catch (error) {
      throw error instanceof BlockRejected ? new BranchRejected(block, error) : error;
    }
  }

  /**
   * Checks the signatures of a block, and validates the block without a context. The method makes all checks that are
   * possible without the earlier blocks of the chain.
   *
   * @throws BlockRejected if the rules refuse the block
   */
  async validateDetached(block: Block): Promise<void> {
    await this.precheckSignatures([block]);
    this.#dependencies.rules.validateBlock(block, this.verify);
  }
}
