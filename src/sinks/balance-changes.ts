/**
 * Finds the balance changes that the transactions of a block make, and the cause of each change. The module applies
 * each transaction to empty accounts, with the rules of the protocol. The balance of an account after the transaction
 * is therefore the amount by which the transaction changes the account's balance. The module verifies nothing. From the
 * state of the chain, the module needs only the owners of applications, because a transfer into an application pays the
 * owner of the application.
 */

import type { ChainParams } from '../protocol/params.ts';
import { StateOverlay, type StateReader } from '../protocol/state.ts';
import { GEN2_DIALECT, GEN3_DIALECT, type ApplyTransactionContext } from '../protocol/tx/apply-context.ts';
import { applyTransaction } from '../protocol/tx/apply.ts';
import type { Address, Block, Transaction, TransactionId } from '../protocol/types.ts';

type Cause = 'transfer' | 'fee' | 'reward' | 'genesis';

export interface BalanceChange {
  readonly address: Address;
  /** Amount in beddows by which the balance changes. The amount is never 0; it is negative if the balance falls. */
  readonly amount: bigint;
  readonly cause: Cause;
  /**
   * Id of the transaction that makes the change. Undefined if the change is a payment of fees or rewards to a delegate
   * at the end of a round.
   */
  readonly transactionId: TransactionId | undefined;
}

const NO_DIGEST = new Uint8Array(32);

/** Finds the balance changes that the transactions of one chain make. */
export class BalanceChanges {
  readonly #context: ApplyTransactionContext;
  readonly #unknown: StateReader;

  /** @param facts facts of the chain, which include the owners of applications */
  constructor(params: ChainParams, facts: Pick<StateReader, 'fact'>) {
    this.#context = {
      dialect: params.generation === 2 ? GEN2_DIALECT : GEN3_DIALECT,
      exceptions: params.exceptions,
      digests: { signingDigest: () => NO_DIGEST, secondSigningDigest: () => NO_DIGEST },
      verify: () => true,
    };
    this.#unknown = unknownState(facts);
  }

  /**
   * Returns the changes in the order of the transactions. For each transaction, the change for the fee comes before the
   * other changes. Inert transactions (known exceptions of the network that have no effect) change no balances.
   */
  of(block: Block): readonly BalanceChange[] {
    const { inertTransactions } = this.#context.exceptions;
    const isGenesis = block.height === 1;
    return block.transactions.flatMap((transaction) =>
      inertTransactions.has(transaction.id) ? [] : this.#ofTransaction(transaction, isGenesis),
    );
  }

  #ofTransaction(transaction: Transaction, isGenesis: boolean): readonly BalanceChange[] {
    const { id: transactionId, fee, senderId } = transaction;
    const scratch = new StateOverlay(this.#unknown);
    // All accounts are empty, so the rules report faults, for example a balance that is too low. The rules write the
    // effects of the transaction in spite of these faults, so this code ignores the faults.
    applyTransaction(scratch, transaction, this.#context);
    const changes: BalanceChange[] = [];
    if (fee !== 0n)
      changes.push({ address: senderId, amount: -fee, cause: isGenesis ? 'genesis' : 'fee', transactionId });
    for (const { address, balance } of scratch.changes().accounts.values()) {
      const amount = address === senderId ? balance + fee : balance;
      if (amount !== 0n) changes.push({ address, amount, cause: isGenesis ? 'genesis' : 'transfer', transactionId });
    }
    return changes;
  }
}

function unknownState(facts: Pick<StateReader, 'fact'>): StateReader {
  return {
    account: () => undefined,
    delegate: () => undefined,
    delegateKeyByUsername: () => undefined,
    delegates: () => [],
    roundList: () => undefined,
    bftState: () => undefined,
    fact: (name) => facts.fact(name),
    header: () => undefined,
    hasTransaction: () => false,
  };
}
