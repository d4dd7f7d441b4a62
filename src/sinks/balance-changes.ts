/**
 * Which balances the transactions of a block change, and why. The rules themselves say it: a transaction is applied to accounts
 * of which nothing is known, so what it leaves of a balance of 0 is its change. Nothing is verified here, and of the state of the
 * chain only the owners of applications are needed.
 */

import type { ChainParams } from '../protocol/params.ts';
import { StateOverlay, type StateReader } from '../protocol/state.ts';
import { GEN2_DIALECT, GEN3_DIALECT, type ApplyTransactionContext } from '../protocol/tx/apply-context.ts';
import { applyTransaction } from '../protocol/tx/apply.ts';
import type { Address, Block, Transaction, TransactionId } from '../protocol/types.ts';

type Cause = 'transfer' | 'fee' | 'reward' | 'genesis';

export interface BalanceChange {
  readonly address: Address;
  /** Beddows, never 0. */
  readonly amount: bigint;
  readonly cause: Cause;
  /** Undefined for the payout of a round. */
  readonly transactionId: TransactionId | undefined;
}

const NO_DIGEST = new Uint8Array(32);

/** Reads the balance changes that transactions of one chain make. */
export class BalanceChanges {
  readonly #context: ApplyTransactionContext;
  readonly #unknown: StateReader;

  /** @param facts of the chain: who owns an application */
  constructor(params: ChainParams, facts: Pick<StateReader, 'fact'>) {
    this.#context = {
      dialect: params.generation === 2 ? GEN2_DIALECT : GEN3_DIALECT,
      exceptions: params.exceptions,
      digests: { signingDigest: () => NO_DIGEST, secondSigningDigest: () => NO_DIGEST },
      verify: () => true,
    };
    this.#unknown = unknownState(facts);
  }

  /** In the order of the transactions; of each the fee first. */
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
    // Accounts of which nothing is known are found at fault; what the transaction moves is written all the same.
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

function unknownState({ fact }: Pick<StateReader, 'fact'>): StateReader {
  return {
    account: () => undefined,
    delegate: () => undefined,
    delegateKeyByUsername: () => undefined,
    delegates: () => [],
    roundList: () => undefined,
    ledger: () => undefined,
    fact,
    header: () => undefined,
    hasTransaction: () => false,
  };
}
