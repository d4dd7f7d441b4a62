/**
 * Stores the transactions that wait for a block, in five queues. A transaction from a peer passes the queues
 * `received`, `validated`, `verified` and `ready`; a transaction that the node verifies on arrival skips `validated`. A
 * transaction from a client begins in `verified`. A group transaction is a transaction that a multisignature account
 * sends, or that registers a multisignature account. A group transaction that lacks members' signatures waits in
 * `pending` instead of `verified`. The rules of the chain do not prescribe which transactions a pool contains, so each
 * node decides for itself which transactions its pool contains.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { PoolEntry, PoolState, ReceivedTime, SubmitResult } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { ITEM_COST_MS } from '../../ports/rates.ts';
import type { Block, MemberSignature, Transaction, TransactionId } from '../../protocol/types.ts';
import { transactionError, TransactionRejected, type TransactionError } from '../../protocol/verdict.ts';
import { admitFromClient, admitFromPeer, isFaultOfSender, verificationLimit } from './admission.ts';
import type { PoolContext } from './checks.ts';
import { addMemberSignature, inLowerCase, memberSignatureFromJson } from './member-signatures.ts';
import { POOL_STATES, PoolQueues, type Pooled } from './queues.ts';
import { demoteAfterApply, demoteAfterRevert } from './demotion.ts';
import { fillReady, validateReceived, verifyOne, verifyValidated, type StepEvents } from './steps.ts';
import { NO_PAYER, type Payer } from './verification-budget.ts';

export interface PoolLimits {
  /** Number of transactions at which a queue is full and refuses new transactions of clients and peers. */
  readonly perQueueMax: number;
  /**
   * Maximum number of transactions that one call of `step` takes from each of the queues `received` and `validated`.
   * The result of `forSharing` contains at most this number of transactions from each of the queues `ready` and
   * `pending`.
   */
  readonly releaseLimit: number;
}

/** Functions that the pool calls when an event happens. These functions must not throw. */
export interface PoolEvents {
  /**
   * Called when a transaction of a peer passes verification for the first time. A transaction that lacks only members'
   * signatures also passes. In addition, `TransactionPool.announce` calls this function for a transaction that came
   * from a client or from the transaction journal, if this transaction is still in the pool.
   */
  verified(transaction: Transaction): void;
  /** Called when a member's signature was added to a pending transaction. */
  signatureAdded(signature: MemberSignature): void;
  /** Called when the pool has put a transaction of a peer into the queue `received`. */
  received?(transaction: Transaction): void;
  /** Called when the pool dropped a transaction because the transaction is invalid or has waited too long. */
  dropped?(transaction: Transaction, reason: string): void;
}

export interface PoolDependencies extends PoolContext {
  readonly observer: Observer;
  readonly events: PoolEvents;
  readonly limits?: Partial<PoolLimits>;
}

/** The result of `receive`: which transactions of a peer the pool accepted and refused. */
export interface ReceiveReport {
  readonly accepted: readonly TransactionId[];
  /**
   * Refusals that are not the fault of the peer. For example, the transaction is known, its timestamp is in the future,
   * the pool is full, or the peer's verification budget is used up.
   */
  readonly refused: readonly TransactionRejected[];
  /**
   * The refusal of a transaction that no honest peer sends; undefined if there was no such transaction. After this
   * refusal, the pool did not read the remaining transactions of the peer.
   */
  readonly fault: TransactionRejected | undefined;
  /**
   * Ids of the transactions that the pool accepted or refused. The codec of the chain (`Codec`) reads each id from the
   * JSON of the transaction. In generation 3, the codec computes the id from the content instead. The list omits
   * transactions that the codec could not read, and transactions that the pool did not check because the verification
   * budget of the peer is used up.
   */
  readonly examined: readonly TransactionId[];
}

const DEFAULT_LIMITS: PoolLimits = { perQueueMax: 1000, releaseLimit: 25 };
/**
 * Maximum time that a transaction waits in the pool, in seconds. For a transaction that needs signatures of the members
 * of a multisignature account, `GROUP_AGE_MAX_S` applies instead.
 */
const AGE_MAX_S = 10_800;
/**
 * Maximum time, in seconds, for which a transaction that needs signatures of the members of a multisignature account
 * waits in the pool. The time is a day, because the members need time to sign.
 */
const GROUP_AGE_MAX_S = 8 * AGE_MAX_S;
export const WAITED_TOO_LONG = 'it waited too long';

/**
 * Returns true if a transaction has waited longer than its limit. The limit is `GROUP_AGE_MAX_S` for a transaction that
 * needs signatures of the members of a multisignature account, and `AGE_MAX_S` for any other transaction.
 */
export function isTooOld(receivedAtMs: number, isOfGroup: boolean, nowMs: number): boolean {
  return Math.floor((nowMs - receivedAtMs) / 1000) > (isOfGroup ? GROUP_AGE_MAX_S : AGE_MAX_S);
}

/**
 * Maximum number of confirmed transactions whose time of arrival the pool stores. When the map with these times
 * (`LruMap`) is full, it takes about 2 MB. A full map drops old times, but always keeps the 10,000 times that were set
 * or read last (half of the maximum). With 25 transactions every 10 s, these times cover over an hour.
 */
export const CONFIRMED_TIMES_MAX = 20_000;

export class TransactionPool {
  readonly #context: PoolContext;
  readonly #observer: Observer;
  readonly #events: PoolEvents;
  readonly #limits: PoolLimits;
  readonly #queues: PoolQueues;
  readonly #stepEvents: StepEvents;
  /** Times of arrival of confirmed transactions; Unix time in milliseconds. */
  readonly #receivedAtMs = new LruMap<TransactionId, number>(CONFIRMED_TIMES_MAX);

  constructor(dependencies: PoolDependencies) {
    this.#context = dependencies;
    this.#observer = dependencies.observer;
    this.#events = dependencies.events;
    this.#limits = { ...DEFAULT_LIMITS, ...dependencies.limits };
    this.#queues = new PoolQueues(this.#limits.perQueueMax);
    this.#stepEvents = {
      dropped: (transaction, errors) => this.#noteDropped(transaction, errors),
      verified: (transaction) => this.#events.verified(transaction),
    };
  }

  // ---- in -----------------------------------------------------------------------------------------------------------

  /** Verifies a client's transaction immediately, adds it to the pool, and announces it. */
  submit(json: unknown, payer = NO_PAYER): SubmitResult {
    const result = this.admit(json, payer);
    if (result.accepted) this.announce(result.transaction.id);
    return result;
  }

  /**
   * Verifies a client's transaction immediately, and adds it to the pool. Call `announce` afterwards to announce the
   * transaction.
   *
   * @param receivedAtMs time of arrival; Unix time in milliseconds, now by default
   */
  admit(json: unknown, payer = NO_PAYER, receivedAtMs = this.#context.clock.nowMs()): SubmitResult {
    return this.#answer('Transaction was rejected with errors', () => {
      const pooled = payer.charge(() => admitFromClient(this.#context, this.#queues, payer, json, receivedAtMs));
      payer.wasUseful();
      return pooled;
    });
  }

  /** Announces an admitted transaction if it is still in the pool. */
  announce(id: TransactionId): void {
    const pooled = this.#queues.get(id);
    if (pooled !== undefined) this.#events.verified(pooled.transaction);
  }

  /**
   * Checks the transactions of a peer (`admitFromPeer`), and puts each accepted transaction into the queue `received`.
   * Later, `verifyReceived` or `step` verifies the transactions in this queue. The reference (lisk-sdk) stops at the
   * first refused transaction. This node stops only if the peer is at fault or has used up its verification budget.
   * After any other refusal, this node reads the next transaction, because an honest peer can send a known transaction
   * before new transactions.
   *
   * @param payer the peer as payer; when the verification budget of the peer is used up, the pool does not read the
   *   remaining transactions
   */
  receive(jsons: readonly unknown[], payer = NO_PAYER): ReceiveReport {
    const accepted: TransactionId[] = [];
    const refused: TransactionRejected[] = [];
    const examined: TransactionId[] = [];
    for (const json of jsons) {
      // The node can get the remaining transactions later, because other peers also announce these transactions.
      if (!payer.mayAsk()) {
        refused.push(verificationLimit(''));
        break;
      }
      let id: TransactionId | undefined;
      try {
        const admit = (): Pooled => {
          const read = this.#context.rules.codec.transactionFromJson(json);
          id = read.id;
          return admitFromPeer(this.#context, this.#queues, payer, read);
        };
        const { transaction } = payer.charge(admit, ITEM_COST_MS.transaction);
        accepted.push(transaction.id);
        examined.push(transaction.id);
        this.#events.received?.(transaction);
      } catch (error) {
        if (!(error instanceof TransactionRejected)) throw error;
        this.#recordRefusal(error);
        if (id !== undefined && error.code !== 'VERIFICATION_LIMIT') examined.push(id);
        if (isFaultOfSender(error)) return { accepted, refused, fault: error, examined };
        refused.push(error);
      }
    }
    return { accepted, refused, fault: undefined, examined };
  }

  /**
   * Verifies new transactions of a peer directly after `receive`, so that the node announces them without delay. If the
   * payer's budget is used up, or the queue `verified` is full, the remaining transactions of `ids` stay in the queue
   * `received`, and `step` verifies them later. The method calls `Payer.wasUseful` for each valid transaction, and for
   * each transaction that lacks only members' signatures.
   *
   * @param ids the transactions that `receive` accepted
   */
  verifyReceived(ids: readonly TransactionId[], payer = NO_PAYER): void {
    for (const id of ids) {
      const pooled = this.#queues.stateOf(id) === 'received' ? this.#queues.get(id) : undefined;
      if (pooled === undefined) continue;
      if (this.#queues.isFull('verified') || !payer.mayAsk()) return;
      const fits = payer.charge(() => verifyOne(this.#context, this.#queues, pooled, this.#stepEvents));
      if (fits) payer.wasUseful();
    }
  }

  /**
   * Checks a member's signature from a client, and adds the signature to the pending transaction that the signature
   * names.
   */
  submitSignature(json: unknown, payer = NO_PAYER): SubmitResult {
    return this.#answer('Error processing signature', () => this.#addSignature(memberSignatureFromJson(json), payer));
  }

  /** Does the same as `submitSignature` for a signature whose format the caller has checked. */
  addSignature(signature: MemberSignature, payer = NO_PAYER): SubmitResult {
    return this.#answer('Error processing signature', () => this.#addSignature(signature, payer));
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /**
   * Moves transactions to their next queues. Validates transactions in `received`, verifies transactions in
   * `validated`, and fills `ready`. The caller should call this method every few seconds and directly before forging.
   */
  step(): void {
    const { releaseLimit } = this.#limits;
    validateReceived(this.#context, this.#queues, releaseLimit, this.#stepEvents);
    verifyValidated(this.#context, this.#queues, releaseLimit, this.#stepEvents);
    fillReady(this.#context, this.#queues, this.#stepEvents);
  }

  /**
   * Drops transactions that have waited too long.
   *
   * @returns the ids of the dropped transactions
   */
  expire(): readonly TransactionId[] {
    const nowMs = this.#context.clock.nowMs();
    const expired = POOL_STATES.flatMap((state) => this.#queues.list(state)).filter(({ receivedAtMs, group }) =>
      isTooOld(receivedAtMs, group !== 'none', nowMs),
    );
    const ids = expired.map(({ transaction }) => transaction.id);
    for (const transaction of this.take(ids)) this.#events.dropped?.(transaction, WAITED_TOO_LONG);
    if (ids.length > 0) {
      this.#observer.count('pool_expired_transactions_total', ids.length);
      this.#observer.log('debug', 'POOL_EXPIRED', 'Dropped transactions that waited too long', { count: ids.length });
    }
    return ids;
  }

  // ---- changes of the chain -----------------------------------------------------------------------------------------

  /**
   * Removes the transactions that the blocks contain. It is possible that the blocks have made two kinds of other
   * transactions invalid: transactions from the senders of the blocks' transactions, and transactions with the same
   * unique data as a transaction of the blocks. The method moves only transactions that can be of these two kinds back
   * to earlier queues (see `demoteAfterApply`). The next calls of `step` verify the moved transactions again.
   */
  blocksApplied(blocks: readonly Block[]): void {
    if (this.#queues.total === 0) return;
    for (const { id } of blocks.flatMap(({ transactions }) => transactions)) {
      const pooled = this.#queues.get(id);
      if (pooled !== undefined) this.#receivedAtMs.set(id, pooled.receivedAtMs);
    }
    demoteAfterApply(this.#context, this.#queues, blocks);
  }

  /**
   * Puts the transactions of reverted blocks back into the pool. An account that received an amount in these blocks
   * loses this amount. The next calls of `step` therefore verify again the transactions that this account sends.
   *
   * @param blocks the reverted blocks, in any order
   */
  blocksReverted(blocks: readonly Block[]): void {
    demoteAfterRevert(this.#context, this.#queues, blocks);
  }

  // ---- out ----------------------------------------------------------------------------------------------------------

  has(id: TransactionId): boolean {
    return this.#queues.has(id);
  }

  /**
   * Returns the time of arrival of a transaction (`Pooled.receivedAtMs`). The pool keeps the times of at most
   * `CONFIRMED_TIMES_MAX` confirmed transactions. The result is undefined if the pool does not have the time.
   */
  receivedAtMs(id: TransactionId): number | undefined {
    return this.#queues.get(id)?.receivedAtMs ?? this.#receivedAtMs.get(id);
  }

  /**
   * Returns the stored times of arrival of confirmed transactions, in the order in which blocks first confirmed the
   * transactions.
   */
  confirmedTimes(): readonly ReceivedTime[] {
    return [...this.#receivedAtMs.entries()];
  }

  get(id: TransactionId): Transaction | undefined {
    return this.#queues.get(id)?.transaction;
  }

  /** True if the pool has the transaction, and has found that the transaction needs members' signatures. */
  isOfGroup(id: TransactionId): boolean {
    return (this.#queues.get(id)?.group ?? 'none') !== 'none';
  }

  /** True if the pool has the transaction, and has found that members' signatures are still missing. */
  lacksSignatures(id: TransactionId): boolean {
    return this.#queues.get(id)?.group === 'pending';
  }

  /** Removes transactions from the pool, and returns the removed transactions. */
  take(ids: readonly TransactionId[]): readonly Transaction[] {
    return ids.flatMap((id) => this.#queues.remove(id)?.transaction ?? []);
  }

  sizes(): Readonly<Record<PoolState, number>> {
    const queues = this.#queues;
    return {
      received: queues.size('received'),
      validated: queues.size('validated'),
      verified: queues.size('verified'),
      pending: queues.size('pending'),
      ready: queues.size('ready'),
    };
  }

  /** Returns the transactions of a queue, in the order in which they entered the queue. */
  entries(state: PoolState): readonly PoolEntry[] {
    return this.#queues.list(state).map(({ transaction, receivedAtMs, group }) => ({
      transaction,
      receivedAtMs,
      ...(group === 'none' ? {} : { ready: group === 'ready' }),
    }));
  }

  /**
   * Returns candidates for the next block. The maximum number of candidates is the maximum number of transactions in
   * one block. The candidates are in the order of the queue `ready`, in which each transaction can be applied after the
   * transactions before it.
   *
   * The reference (lisk-sdk) takes the newest candidates first. This order can make a transaction invalid. For example,
   * a sender makes a transfer and then registers a second signature. If a block contained the registration before the
   * transfer, the transfer would be invalid, because the transfer lacks the second signature.
   */
  readyForForging(): readonly Transaction[] {
    return transactionsOf(this.#queues.first('ready', this.#context.rules.params.transactionsPerBlockMax));
  }

  /**
   * Returns at most `limit` transactions for a peer that asks for the content of the pool. At most `releaseLimit`
   * transactions in `ready` come first, then at most `releaseLimit` transactions in `pending`, then transactions in
   * `verified`. The transactions of one queue are in the order in which they entered the queue.
   */
  forSharing(limit: number): readonly Transaction[] {
    const { releaseLimit } = this.#limits;
    const shared = [
      ...this.#queues.first('ready', releaseLimit),
      ...this.#queues.first('pending', releaseLimit),
      ...this.#queues.first('verified', limit),
    ];
    return transactionsOf(shared.slice(0, limit));
  }

  /**
   * Returns the members' signatures of transactions in `pending`, in the order in which the transactions entered
   * `pending`. The result has at most `limit` transactions. Transactions without members' signatures are left out.
   */
  pendingSignatures(
    limit: number,
  ): readonly { readonly transaction: TransactionId; readonly signatures: readonly string[] }[] {
    return transactionsOf(this.#queues.list('pending'))
      .filter(({ signatures }) => signatures.length > 0)
      .slice(0, limit)
      .map(({ id, signatures }) => ({ transaction: id, signatures }));
  }

  #addSignature(given: MemberSignature, payer: Payer): Pooled {
    const signature = inLowerCase(given);
    const add = (): Pooled => addMemberSignature(this.#context, this.#queues, payer, signature);
    const pooled = payer.charge(add, ITEM_COST_MS.signature);
    payer.wasUseful();
    this.#events.signatureAdded(signature);
    return pooled;
  }

  #answer(message: string, work: () => Pooled): SubmitResult {
    try {
      const { transaction, receivedAtMs } = work();
      return { accepted: true, transaction, receivedAtMs };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#recordRefusal(error);
      return { accepted: false, code: error.code, message, errors: errorsOf(error) };
    }
  }

  #noteDropped(transaction: Transaction, errors: readonly TransactionError[]): void {
    this.#observer.count('pool_dropped_transactions_total');
    this.#observer.log('debug', 'POOL_DROPPED', 'Dropped a transaction that is no longer valid', {
      transactionId: transaction.id,
      reason: errors[0]?.message,
    });
    this.#events.dropped?.(transaction, errors[0]?.message ?? '');
  }

  #recordRefusal(error: ProtocolError): void {
    this.#observer.count('pool_refusals_total', 1, { code: error.code });
    this.#observer.log('debug', error.code, 'Refused a transaction or signature', { reason: error.message });
  }
}

function transactionsOf(pooled: readonly Pooled[]): readonly Transaction[] {
  return pooled.map(({ transaction }) => transaction);
}

/**
 * Returns the list `errors` of a `TransactionRejected`. In two cases, the result has a single entry with the message of
 * the error: this list is empty, or the error is of another class. An error of another class is, for example, a
 * `ProtocolError` with the code `SIGNATURE_MALFORMED`.
 */
function errorsOf(error: ProtocolError): readonly TransactionError[] {
  if (error instanceof TransactionRejected && error.errors.length > 0) return error.errors;
  return [transactionError('', error.message, '')];
}
