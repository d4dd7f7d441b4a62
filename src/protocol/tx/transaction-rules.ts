/**
 * Creates the rules for single transactions and for batches of transactions. Both generations use this code. Each
 * generation passes its own parts of the rules as a parameter (`TransactionRuleParts`).
 */

import { applyGenesisTransactions } from '../block/apply-genesis.ts';
import { PAYLOAD_BYTES_MAX, type ChainParams } from '../params.ts';
import type { Rules, TransactionContext } from '../rules.ts';
import { slotAt } from '../slots.ts';
import { StateOverlay, writeChanges, type StateReader, type StateWriter } from '../state.ts';
import type { Address, Block, PayloadKind, SignatureOracle, Transaction } from '../types.ts';
import { timestampInFuture, transactionError, type TransactionError, type TransactionVerdict } from '../verdict.ts';
import type { ApplyTransactionContext, TransactionDialect } from './apply-context.ts';
import { applyTransaction } from './apply.ts';
import { isExcepted } from './exceptions.ts';
import { addMemberSignature } from './member-signature.ts';
import { groupSignatureStatus, searchSigners } from './signatures.ts';
import { spendingErrors } from './spending.ts';
import type { TransactionBytes } from './transaction-bytes.ts';
import { amountOf } from './amounts.ts';
import { applyVoteWeight, noUnfinishedWeights, finishWeights } from './vote-weight.ts';
import { isLowerCase, poolFault, lowerKeys } from './unsigned-json.ts';

/** The parts of the rules that are different in each generation. */
export interface TransactionRuleParts {
  readonly dialect: TransactionDialect;
  readonly bytes: TransactionBytes;
  /** True if a block with the properties in `context` is allowed to contain a transaction of this type. */
  isAllowed(transaction: Transaction, context: TransactionContext): boolean;
  /**
   * Returns the errors in the values that a well-formed transaction states, such as its id and fee. The function does
   * not check the signature.
   */
  statedErrors(transaction: Transaction): readonly TransactionError[];
  /**
   * Returns true if the transaction is malformed and the network has an exception for this transaction. The exception
   * excuses all errors of the malformed transaction, including errors of its signature, id and fee.
   */
  isExceptedShape(transaction: Transaction): boolean;
  /**
   * Returns the reason why no forger should include a transaction in a block, even if the transaction is valid. The
   * pool drops such a transaction. Returns undefined if there is no such reason.
   */
  forgingFault?(transaction: Transaction): TransactionError | undefined;
  /** Kinds of transactions for which `hasUniqueData` returns true. */
  readonly uniqueKinds: ReadonlySet<PayloadKind>;
  /**
   * Returns the reason why lisk-sdk cannot update the vote weights after the transaction, and therefore cannot apply
   * the block. Returns undefined if lisk-sdk can update the weights.
   */
  voteWeightFault?(
    state: StateReader,
    transaction: Transaction,
    batch: readonly Transaction[],
  ): TransactionError | undefined;
}

export interface TransactionRules extends Pick<
  Rules,
  | 'validateTransaction'
  | 'typeErrors'
  | 'primarySignatureChecks'
  | 'signatureSearch'
  | 'verifyTransaction'
  | 'processTransactions'
  | 'addMemberSignature'
  | 'multisignatureStatus'
  | 'poolFault'
  | 'hasUniqueData'
  | 'selectTransactions'
> {
  /**
   * Verifies a transaction like `verifyTransaction`. The caller must not pass a transaction that is already in the
   * chain. The caller must not pass an inert transaction either. (An inert transaction is a transaction without effect
   * that the exceptions of the network list in `inertTransactions`.)
   *
   * @param scratch overlay over the state; if the verdict is `ok`, the caller can pass this overlay to
   *   `applyInSequence`
   */
  tryTransaction(
    scratch: StateOverlay,
    transaction: Transaction,
    nowS: number,
    verify: SignatureOracle,
  ): TransactionVerdict;
  /**
   * Applies the transactions of a batch to `state`, one after another, and updates vote weights. Also checks that the
   * balance of each sender before the batch covers the spending of the sender in the batch (`spending.ts`). Returns a
   * verdict for each transaction. A transaction with the verdict `fail` or `pending` changes nothing.
   *
   * @param tried contains, for each transaction, the overlay over `state` with which `tryTransaction` returned the
   *   verdict `ok`
   */
  applyInSequence(
    state: StateWriter,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
    tried?: readonly StateOverlay[],
  ): {
    readonly verdicts: readonly TransactionVerdict[];
    /**
     * The reason why lisk-sdk could not store the result of the batch although each transaction is valid; undefined if
     * lisk-sdk can store the result.
     */
    readonly fault: TransactionError | undefined;
  };
  /** Applies the transactions of a genesis block without verification. Votes are applied last. */
  applyGenesisTransactions(state: StateWriter, genesis: Block): void;
}

const OK: TransactionVerdict = { status: 'ok' };

export function createTransactionRules(params: ChainParams, parts: TransactionRuleParts): TransactionRules {
  const { exceptions, networkIdentifier } = params;
  const { dialect, bytes } = parts;
  const digests = {
    signingDigest: (transaction: Transaction) => bytes.signingDigest(transaction, networkIdentifier),
    secondSigningDigest: (transaction: Transaction) => bytes.secondSigningDigest(transaction, networkIdentifier),
  };
  let lastContext: ApplyTransactionContext = { dialect, digests, exceptions, verify: () => false };
  /**
   * Returns the context of the previous call if `verify` is the same function as in that call, so that all transactions
   * of a block share one context.
   */
  const contextFor = (verify: SignatureOracle): ApplyTransactionContext => {
    if (lastContext.verify !== verify) lastContext = { ...lastContext, verify };
    return lastContext;
  };
  const isInert = (transaction: Transaction): boolean => exceptions.inertTransactions.has(transaction.id);

  const typeErrors: Rules['typeErrors'] = (transaction, context) =>
    parts.isAllowed(transaction, context) ? [] : [notAllowed(transaction)];

  const validateTransaction: Rules['validateTransaction'] = (transaction, context, verify) => {
    // An inert transaction (a transaction without effect that the exceptions of the network list in
    // `inertTransactions`) can occur at any height. Live networks have inert transactions at heights at which the type
    // of the transaction is no longer allowed.
    if (!isInert(transaction) && !parts.isAllowed(transaction, context)) return [notAllowed(transaction)];
    const errors = [...parts.statedErrors(transaction)];
    if (!verify(bytes.primaryCheck(transaction, networkIdentifier))) {
      const message = `Failed to validate signature ${transaction.signature}`;
      errors.unshift(transactionError(transaction.id, message, '.signature'));
    }
    if (errors.length === 0 || isExcepted(errors, transaction, exceptions, dialect)) return [];
    return parts.isExceptedShape(transaction) ? [] : errors;
  };

  const tryTransaction: TransactionRules['tryTransaction'] = (scratch, transaction, nowS, verify) => {
    const verdict = applyTransaction(scratch, transaction, contextFor(verify));
    if (slotAt(transaction.timestamp, params) <= slotAt(nowS, params)) return verdict;
    const late = timestampInFuture(transaction.id);
    return { status: 'fail', errors: verdict.status === 'ok' ? [late] : [...verdict.errors, late] };
  };

  const runBatch = (
    state: StateWriter,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
    afterEach: (state: StateWriter, transaction: Transaction) => TransactionError | undefined,
    tried: readonly StateOverlay[] = NOTHING_TRIED,
    keysInCapitals = new Set<Address>(),
  ): TransactionVerdict[] => {
    const context = contextFor(verify);
    const written = new Set<Address>();
    const overspent = spendingErrors(
      state,
      transactions.filter((transaction) => !isInert(transaction)),
    );
    return transactions.map((transaction, index) => {
      if (isInert(transaction)) return OK;
      const error = overspent.get(transaction);
      if (error !== undefined) return { status: 'fail', errors: [error] };
      const known = isApart(transaction, written) ? tried[index] : undefined;
      const scratch = known ?? new StateOverlay(state);
      const verdict = known === undefined ? applyTransaction(scratch, transaction, context) : OK;
      if (verdict.status !== 'ok') return verdict;
      const fault = afterEach(scratch, transaction);
      if (fault !== undefined) return { status: 'fail', errors: [fault] };
      const changes = scratch.changes();
      for (const address of changes.accounts.keys()) written.add(address);
      for (const { publicKey, address } of changes.accounts.values()) {
        if (publicKey !== undefined && !isLowerCase(publicKey)) keysInCapitals.add(address);
      }
      writeChanges(changes, state);
      return verdict;
    });
  };

  const applyInSequence: TransactionRules['applyInSequence'] = (state, transactions, verify, tried) => {
    const weights = noUnfinishedWeights();
    const keysInCapitals = new Set<Address>();
    const applyWeights = (scratch: StateWriter, transaction: Transaction): TransactionError | undefined => {
      const fault = parts.voteWeightFault?.(scratch, transaction, transactions);
      if (fault === undefined) applyVoteWeight(scratch, transaction, dialect.voteWeight, exceptions, weights);
      return fault;
    };
    const verdicts = runBatch(state, transactions, verify, applyWeights, tried, keysInCapitals);
    lowerKeys(state, keysInCapitals);
    const delegate = finishWeights(state, weights, dialect.voteWeight);
    const message = 'Vote weight cannot be stored';
    const fault = delegate === undefined ? undefined : transactionError('', message, '.asset.amount', delegate);
    return { verdicts, fault };
  };

  const processTransactions: Rules['processTransactions'] = (state, transactions, verify) => {
    const fresh = transactions.filter((transaction) => !state.hasTransaction(transaction.id));
    // No check of a transaction in the batch reads vote weights, so this function does not update the vote weights in
    // its copy of the state.
    const verdicts = runBatch(
      new StateOverlay(state),
      fresh,
      verify,
      (_, transaction) => poolFault(transaction) ?? parts.forgingFault?.(transaction),
    );
    const byTransaction = new Map(fresh.map((transaction, index) => [transaction, verdicts[index] ?? OK]));
    return transactions.map((transaction) => byTransaction.get(transaction) ?? alreadyConfirmed(transaction));
  };

  return {
    validateTransaction,
    typeErrors,
    verifyTransaction: (state, transaction, nowS, verify) => {
      if (isInert(transaction)) return OK;
      if (state.hasTransaction(transaction.id)) return alreadyConfirmed(transaction);
      return tryTransaction(new StateOverlay(state), transaction, nowS, verify);
    },
    tryTransaction,
    processTransactions,
    primarySignatureChecks: (transaction) => [bytes.primaryCheck(transaction, networkIdentifier)],
    signatureSearch: (state, transaction) => {
      const { signatures, signSignature, senderId } = transaction;
      if (signatures.length === 0 && signSignature === undefined) return undefined;
      return searchSigners(transaction, state.account(senderId), digests);
    },
    applyInSequence,
    applyGenesisTransactions: (state, genesis) =>
      applyGenesisTransactions(
        state,
        genesis,
        contextFor(() => true),
      ),
    addMemberSignature: (state, transaction, signature, verify) =>
      addMemberSignature(state, transaction, signature, contextFor(verify)),
    multisignatureStatus: (state, transaction, verify) => {
      const { status } = groupSignatureStatus(transaction, state.account(transaction.senderId), contextFor(verify));
      // It is possible that the sender became a group after the members' signatures were added to the transaction. In
      // this case, perhaps keys outside the group made some of the signatures. Such a signature counts as missing until
      // `addMemberSignature` removes the signature.
      return status === 'fail' ? 'pending' : status;
    },
    poolFault,
    hasUniqueData: ({ payload }) => parts.uniqueKinds.has(payload.kind),
    selectTransactions: (state, candidates, context, verify) => {
      const alone = candidates.filter((transaction) => parts.isAllowed(transaction, context) && !isInert(transaction));
      const together = withVerdictOk(alone, processTransactions(state, alone, verify));
      const ordered = together.slice(0, params.transactionsPerBlockMax).sort(forgingOrder);
      // The function processes the transactions again, because the order of the transactions has changed.
      return fitting(withVerdictOk(ordered, processTransactions(state, ordered, verify)), bytes);
    },
  };
}

const NOTHING_TRIED: readonly StateOverlay[] = [];

/**
 * Returns true only if earlier transactions of the batch have not changed any part of the state on which a transaction
 * depends. `written` contains the accounts that these transactions have changed.
 */
function isApart({ payload, senderId }: Transaction, written: ReadonlySet<Address>): boolean {
  // A transfer depends only on two accounts. Other transactions are rare, and can also depend on usernames, delegates
  // or applications. For these transactions, the result is therefore always false.
  return payload.kind === 'transfer' && !written.has(senderId) && !written.has(payload.recipientId);
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

/**
 * Orders two transactions of a forged block: group registrations come last, and all other transactions are ordered by
 * type, then by amount. The sort is stable, so equal transactions keep their order.
 */
function forgingOrder(a: Transaction, b: Transaction): number {
  const groups = Number(a.payload.kind === 'multisignature') - Number(b.payload.kind === 'multisignature');
  if (groups !== 0) return groups;
  if (a.type !== b.type) return a.type - b.type;
  const [amountA, amountB] = [amountOf(a), amountOf(b)];
  return amountA < amountB ? -1 : amountA > amountB ? 1 : 0;
}

/**
 * Takes transactions from the start of the list, until the next transaction does not fit into the payload of a block.
 */
function fitting(transactions: readonly Transaction[], { transactionBytes }: TransactionBytes): Transaction[] {
  let bytes = 0;
  return transactions.filter((transaction) => {
    bytes += transactionBytes(transaction).length;
    return bytes <= PAYLOAD_BYTES_MAX;
  });
}
