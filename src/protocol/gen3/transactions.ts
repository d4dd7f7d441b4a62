/** The rules of single transactions and of batches, generation 3. */

import { applyGenesisTransactions } from '../block/apply-genesis.ts';
import { PAYLOAD_BYTES_MAX, type ChainParams } from '../params.ts';
import type { Rules, TransactionContext } from '../rules.ts';
import { slotAt } from '../slots.ts';
import { StateOverlay, writeChanges, type StateWriter } from '../state.ts';
import { GEN3_DIALECT, type ApplyTransactionContext } from '../tx/apply-context.ts';
import { applyTransaction } from '../tx/apply.ts';
import { isExcepted } from '../tx/exceptions.ts';
import { addMemberSignature } from '../tx/member-signature.ts';
import { groupStanding } from '../tx/signatures.ts';
import { spendingErrors } from '../tx/spending.ts';
import { bookVoteWeight } from '../tx/vote-weight.ts';
import type { Block, SignatureOracle, Transaction } from '../types.ts';
import { transactionError, type TransactionError, type TransactionVerdict } from '../verdict.ts';
import type { Gen3Codec } from './codec.ts';
import { primaryCheck, secondSigningDigest, signingDigest, transactionBytes } from './transaction-bytes.ts';

export interface Gen3TransactionRules extends Pick<
  Rules,
  | 'validateTransaction'
  | 'primarySignatureChecks'
  | 'verifyTransaction'
  | 'processTransactions'
  | 'addMemberSignature'
  | 'multisignatureStatus'
  | 'hasUniqueData'
  | 'selectTransactions'
> {
  /**
   * The spending and sequential rules over a batch in order, written to `state`, weights of delegates included: a verdict
   * for each. What fails leaves no trace.
   */
  applyInSequence(
    state: StateWriter,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
  ): { readonly verdicts: readonly TransactionVerdict[] };
  /** Applies the content of a genesis block: votes last, nothing refused, nothing verified. */
  applyGenesisTransactions(state: StateWriter, genesis: Block): void;
}

const OK: TransactionVerdict = { status: 'ok' };

export function createTransactionRules(params: ChainParams, codec: Gen3Codec): Gen3TransactionRules {
  const { exceptions, networkIdentifier } = params;
  const digests = {
    signingDigest: (transaction: Transaction) => signingDigest(transaction, networkIdentifier),
    secondSigningDigest: (transaction: Transaction) => secondSigningDigest(transaction, networkIdentifier),
  };
  const contextFor = (verify: SignatureOracle): ApplyTransactionContext => ({
    dialect: GEN3_DIALECT,
    digests,
    exceptions,
    verify,
  });
  const isInert = (transaction: Transaction): boolean => exceptions.inertTransactions.has(transaction.id);

  const isAllowed = (transaction: Transaction, context: TransactionContext): boolean =>
    codec.types.get(transaction.type)?.matches?.(context) ?? true;

  const validateTransaction: Rules['validateTransaction'] = (transaction, context, verify) => {
    if (!isAllowed(transaction, context)) return [notAllowed(transaction)];
    if (verify(primaryCheck(transaction, networkIdentifier))) return [];
    const message = `Failed to validate signature ${transaction.signature}`;
    const errors = [transactionError(transaction.id, message, '.signature')];
    return isExcepted(errors, transaction, exceptions, GEN3_DIALECT) ? [] : errors;
  };

  const verifyTransaction: Rules['verifyTransaction'] = (state, transaction, nowS, verify) => {
    if (isInert(transaction)) return OK;
    if (state.hasTransaction(transaction.id)) return alreadyConfirmed(transaction);
    const verdict = applyTransaction(new StateOverlay(state), transaction, contextFor(verify));
    if (slotAt(transaction.timestamp, params) <= slotAt(nowS, params)) return verdict;
    const message = 'Invalid transaction timestamp. Timestamp is in the future';
    const late = transactionError(transaction.id, message, '.timestamp');
    return { status: 'fail', errors: verdict.status === 'ok' ? [late] : [...verdict.errors, late] };
  };

  const runBatch = (
    state: StateWriter,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
    afterEach: (state: StateWriter, transaction: Transaction) => void,
  ): TransactionVerdict[] => {
    const context = contextFor(verify);
    const overspent = spendingErrors(
      state,
      transactions.filter((transaction) => !isInert(transaction)),
    );
    return transactions.map((transaction) => {
      if (isInert(transaction)) return OK;
      const error = overspent.get(transaction);
      if (error !== undefined) return { status: 'fail', errors: [error] };
      const scratch = new StateOverlay(state);
      const verdict = applyTransaction(scratch, transaction, context);
      if (verdict.status !== 'ok') return verdict;
      afterEach(scratch, transaction);
      writeChanges(scratch.changes(), state);
      return verdict;
    });
  };

  const bookWeight = (state: StateWriter, transaction: Transaction): void => {
    bookVoteWeight(state, transaction, GEN3_DIALECT.voteWeight, exceptions);
  };

  const processTransactions: Rules['processTransactions'] = (state, transactions, verify) => {
    const fresh = transactions.filter((transaction) => !state.hasTransaction(transaction.id));
    // Weights decide nothing inside a batch, so a scratch copy goes without them.
    const verdicts = runBatch(new StateOverlay(state), fresh, verify, () => undefined);
    const byTransaction = new Map(fresh.map((transaction, index) => [transaction, verdicts[index] ?? OK]));
    return transactions.map((transaction) => byTransaction.get(transaction) ?? alreadyConfirmed(transaction));
  };

  return {
    validateTransaction,
    verifyTransaction,
    processTransactions,
    primarySignatureChecks: (transaction) => [primaryCheck(transaction, networkIdentifier)],
    applyInSequence: (state, transactions, verify) => ({
      verdicts: runBatch(state, transactions, verify, bookWeight),
    }),
    applyGenesisTransactions: (state, genesis) =>
      applyGenesisTransactions(
        state,
        genesis,
        contextFor(() => true),
      ),
    addMemberSignature: (state, transaction, signature, verify) =>
      addMemberSignature(state, transaction, signature, contextFor(verify)),
    multisignatureStatus: (state, transaction, verify) => {
      const { status } = groupStanding(transaction, state.account(transaction.senderId), contextFor(verify));
      // Signatures that no longer fit (a group registered meanwhile) wait for their removal like missing ones.
      return status === 'fail' ? 'pending' : status;
    },
    hasUniqueData: ({ payload }) => payload.kind === 'delegate' || payload.kind === 'vote',
    selectTransactions: (state, candidates, context, verify) => {
      const alone = candidates.filter((transaction) => isAllowed(transaction, context) && !isInert(transaction));
      const together = withVerdictOk(alone, processTransactions(state, alone, verify));
      const ordered = together.slice(0, params.transactionsPerBlockMax).sort(forgingOrder);
      // The order in the block is another one than the order of the check above, so it is checked as well.
      return fitting(withVerdictOk(ordered, processTransactions(state, ordered, verify)));
    },
  };
}

function notAllowed({ id, type }: Transaction): TransactionError {
  return transactionError(id, `Transaction type ${type} is currently not allowed.`, '');
}

function alreadyConfirmed({ id }: Transaction): TransactionVerdict {
  const errors = [transactionError(id, `Transaction is already confirmed: ${id}`, '.id')];
  return { status: 'fail', errors };
}

function withVerdictOk(transactions: readonly Transaction[], verdicts: readonly TransactionVerdict[]): Transaction[] {
  return transactions.filter((_, index) => verdicts[index]?.status === 'ok');
}

/** Registrations of groups last, then by type, transfers by amount; the sort is stable, so ties keep their order. */
function forgingOrder(a: Transaction, b: Transaction): number {
  const groups = Number(a.payload.kind === 'multisignature') - Number(b.payload.kind === 'multisignature');
  if (groups !== 0) return groups;
  if (a.type !== b.type) return a.type - b.type;
  if (a.payload.kind !== 'transfer' || b.payload.kind !== 'transfer') return 0;
  return a.payload.amount < b.payload.amount ? -1 : a.payload.amount > b.payload.amount ? 1 : 0;
}

/** As many of the first as a block's payload can hold. */
function fitting(transactions: readonly Transaction[]): Transaction[] {
  let bytes = 0;
  return transactions.filter((transaction) => {
    bytes += transactionBytes(transaction).length;
    return bytes <= PAYLOAD_BYTES_MAX;
  });
}
