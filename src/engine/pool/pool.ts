/**
 * Transactions that wait for a block. Transactions from peers go `received` -> `validated` -> `verified` -> `ready`;
 * transactions from clients begin at `verified`. Group transactions wait in `pending` for members' signatures. The pool
 * is not part of consensus, so each node decides alone which transactions its pool has.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { PoolEntry, PoolState, SubmitResult } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { ITEM_COST_MS } from '../../ports/rates.ts';
import type { Block, MemberSignature, Transaction, TransactionId } from '../../protocol/types.ts';
import { transactionError, TransactionRejected, type TransactionError } from '../../protocol/verdict.ts';
import { admitFromClient, admitFromPeer, isFaultOfSender, verificationLimit } from './admission.ts';
import type { PoolContext } from './checks.ts';
import { addMemberSignature, memberSignatureFromJson } from './member-signatures.ts';
import { POOL_STATES, PoolQueues, type Pooled } from './queues.ts';
import { demoteAfterApply, demoteAfterRevert } from './reactions.ts';
import { fillReady, validateReceived, verifyOne, verifyValidated, type StepEvents } from './steps.ts';
import { NO_PAYER, type Payer } from './verification-budget.ts';

export interface PoolLimits {
  /** Maximum of transactions that a queue accepts from clients and peers. */
  readonly perQueueMax: number;
  /**
   * Maximum of transactions that one step handles. The same limit is the maximum of transactions of one queue in an
   * answer to a peer.
   */
  readonly releaseLimit: number;
}

/** Listeners to events of the pool. Listeners must not throw. */
export interface PoolEvents {
  /**
   * Called when a transaction passed verification for the first time. A transaction that lacks only members' signatures
   * counts as passed.
   */
  verified(transaction: Transaction): void;
  /** Called when a member's signature was added to a pending transaction. */
  signatureAdded(signature: MemberSignature): void;
  /** Called when the pool has received a transaction of a peer. */
  received?(transaction: Transaction): void;
  /** Called when a transaction was dropped although no block contains it. */
  dropped?(transaction: Transaction, reason: string): void;
}

export interface PoolDependencies extends PoolContext {
  readonly observer: Observer;
  readonly events: PoolEvents;
  readonly limits?: Partial<PoolLimits>;
}

/** The results for the transactions of a peer. */
export interface ReceiveReport {
  readonly accepted: readonly TransactionId[];
  /** Refusals that are not the fault of the peer: the transaction is known or in the future, or the pool is full. */
  readonly refused: readonly TransactionRejected[];
  /** The refusal of a transaction that no honest peer sends. The transactions after the refused one were not read. */
  readonly fault: TransactionRejected | undefined;
}

const DEFAULT_LIMITS: PoolLimits = { perQueueMax: 1000, releaseLimit: 25 };
/** Maximum time that a transaction waits, in seconds. */
const AGE_MAX_S = 10_800;
/** Maximum time that a group transaction waits, in seconds; it is longer because members need time to sign. */
const GROUP_AGE_MAX_S = 8 * AGE_MAX_S;
export const WAITED_TOO_LONG = 'it waited too long';

/** Whether a transaction has waited longer than the maximum time. */
export function isTooOld(receivedAtMs: number, isOfGroup: boolean, nowMs: number): boolean {
  return Math.floor((nowMs - receivedAtMs) / 1000) > (isOfGroup ? GROUP_AGE_MAX_S : AGE_MAX_S);
}

/** Maximum of confirmed transactions whose time of arrival is stored. Two hours of full blocks take about 2 MB. */
const CONFIRMED_TIMES_MAX = 20_000;

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

  /** Takes a client's transaction, verifies it at once, and announces it. */
  submit(json: unknown, payer = NO_PAYER): SubmitResult {
    const result = this.admit(json, payer);
    if (result.accepted) this.tell(result.transaction.id);
    return result;
  }

  /**
   * Takes a client's transaction and verifies it at once. Call `tell` afterwards to announce the transaction.
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

  /** Announces a transaction that was admitted, if it is still in the pool. */
  tell(id: TransactionId): void {
    const pooled = this.#queues.get(id);
    if (pooled !== undefined) this.#events.verified(pooled.transaction);
  }

  /**
   * Receives the transactions of a peer; `verifyReceived` or the next steps verify them. The reference (lisk-sdk) stops
   * at the first refused transaction. This node also reads the rest, unless the peer is at fault. One transaction that
   * is known already tells nothing about the next.
   *
   * @param payer pays for checking the peer's signatures; when its budget is used up, the remaining transactions are
   *   refused
   */
  receive(jsons: readonly unknown[], payer = NO_PAYER): ReceiveReport {
    const accepted: TransactionId[] = [];
    const refused: TransactionRejected[] = [];
    for (const json of jsons) {
      // Other peers announce the refused transactions, too, so none is lost.
      if (!payer.mayAsk()) {
        refused.push(verificationLimit(''));
        break;
      }
      try {
        const admit = (): Pooled => admitFromPeer(this.#context, this.#queues, payer, json);
        const { transaction } = payer.charge(admit, ITEM_COST_MS.transaction);
        accepted.push(transaction.id);
        this.#events.received?.(transaction);
      } catch (error) {
        if (!(error instanceof TransactionRejected)) throw error;
        this.#noteRefusal(error);
        if (isFaultOfSender(error)) return { accepted, refused, fault: error };
        refused.push(error);
      }
    }
    return { accepted, refused, fault: undefined };
  }

  /**
   * Verifies transactions that were received just now, so that they are announced at once. If the payer's budget is
   * used up, or the queue is full, the steps verify the remaining transactions later. Only a transaction that is valid
   * in the state counts as useful.
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

  /** Takes a signature object from a client. */
  submitSignature(json: unknown, payer = NO_PAYER): SubmitResult {
    return this.#answer('Error processing signature', () => this.#addSignature(memberSignatureFromJson(json), payer));
  }

  /** Adds a member's signature whose form was checked before. */
  addSignature(signature: MemberSignature, payer = NO_PAYER): SubmitResult {
    return this.#answer('Error processing signature', () => this.#addSignature(signature, payer));
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /**
   * Moves transactions to their next queues: validate, verify, process. The caller should call this method every few
   * seconds and directly before forging.
   */
  step(): void {
    const { releaseLimit } = this.#limits;
    validateReceived(this.#context, this.#queues, releaseLimit, this.#stepEvents);
    verifyValidated(this.#context, this.#queues, releaseLimit, this.#stepEvents);
    fillReady(this.#context, this.#queues, this.#stepEvents);
    for (const state of POOL_STATES) this.#observer.gauge('pool_transactions', this.#queues.size(state), { state });
  }

  /**
   * Drops transactions that have waited too long.
   *
   * @returns their ids
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

  /** Forgets the transactions that the blocks confirmed. Transactions that the blocks may affect are checked again. */
  blocksApplied(blocks: readonly Block[]): void {
    if (this.#queues.total === 0) return;
    for (const { id } of blocks.flatMap(({ transactions }) => transactions)) {
      const pooled = this.#queues.get(id);
      if (pooled !== undefined) this.#receivedAtMs.set(id, pooled.receivedAtMs);
    }
    demoteAfterApply(this.#context, this.#queues, blocks);
  }

  /**
   * Puts the transactions of reverted blocks back into the pool, and checks again the transactions that depend on them.
   *
   * @param blocks in any order
   */
  blocksReverted(blocks: readonly Block[]): void {
    demoteAfterRevert(this.#context, this.#queues, blocks);
  }

  // ---- out ----------------------------------------------------------------------------------------------------------

  has(id: TransactionId): boolean {
    return this.#queues.has(id);
  }

  /**
   * Unix time in milliseconds at which a transaction arrived, even if a block contains it by now; undefined if it was
   * never in the pool.
   */
  receivedAtMs(id: TransactionId): number | undefined {
    return this.#queues.get(id)?.receivedAtMs ?? this.#receivedAtMs.get(id);
  }

  get(id: TransactionId): Transaction | undefined {
    return this.#queues.get(id)?.transaction;
  }

  /** Whether a transaction in the pool needs members' signatures. */
  isOfGroup(id: TransactionId): boolean {
    return (this.#queues.get(id)?.group ?? 'none') !== 'none';
  }

  /** Whether a transaction of the pool still lacks members' signatures. */
  lacksSignatures(id: TransactionId): boolean {
    return this.#queues.get(id)?.group === 'pending';
  }

  /** Removes transactions from their queues, and returns those that were there. */
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

  /** The transactions of a queue, oldest arrival first. */
  entries(state: PoolState): readonly PoolEntry[] {
    return this.#queues.list(state).map(({ transaction, receivedAtMs, group }) => ({
      transaction,
      receivedAtMs,
      ...(group === 'none' ? {} : { ready: group === 'ready' }),
    }));
  }

  /**
   * Candidates for the next block, at most as many as fit into one block. The candidates are in the order in which the
   * pool found that they can be applied.
   *
   * The reference (lisk-sdk) offers the newest transactions first. For example, a sender makes a transfer and then
   * registers a second signature. If the newest came first, the transfer would be invalid, because it lacks the second
   * signature.
   */
  readyForForging(): readonly Transaction[] {
    return transactionsOf(this.#queues.oldest('ready', this.#context.rules.params.transactionsPerBlockMax));
  }

  /**
   * The transactions for a peer that asks for the pool, at most `limit`. The transactions in `ready` come first, then
   * those in `pending`, then those in `verified`, each oldest first.
   */
  forSharing(limit: number): readonly Transaction[] {
    const { releaseLimit } = this.#limits;
    const shared = [
      ...this.#queues.oldest('ready', releaseLimit),
      ...this.#queues.oldest('pending', releaseLimit),
      ...this.#queues.oldest('verified', limit),
    ];
    return transactionsOf(shared.slice(0, limit));
  }

  /** The members' signatures of up to `limit` pending transactions, oldest first. */
  pendingSignatures(
    limit: number,
  ): readonly { readonly transaction: TransactionId; readonly signatures: readonly string[] }[] {
    return transactionsOf(this.#queues.list('pending'))
      .filter(({ signatures }) => signatures.length > 0)
      .slice(0, limit)
      .map(({ id, signatures }) => ({ transaction: id, signatures }));
  }

  // ---- helpers ------------------------------------------------------------------------------------------------------

  #addSignature(signature: MemberSignature, payer: Payer): Pooled {
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
      this.#noteRefusal(error);
      return { accepted: false, code: error.code, message, errors: errorsOf(error) };
    }
  }

  #noteDropped(transaction: Transaction, errors: readonly TransactionError[]): void {
    this.#observer.count('pool_dropped_transactions_total');
    this.#observer.log('debug', 'POOL_DROPPED', 'Dropped a transaction that does not fit', {
      transactionId: transaction.id,
      reason: errors[0]?.message,
    });
    this.#events.dropped?.(transaction, errors[0]?.message ?? '');
  }

  #noteRefusal(error: ProtocolError): void {
    this.#observer.count('pool_refusals_total', 1, { code: error.code });
    this.#observer.log('debug', error.code, 'Refused what was handed in', { reason: error.message });
  }
}

function transactionsOf(pooled: readonly Pooled[]): readonly Transaction[] {
  return pooled.map(({ transaction }) => transaction);
}

/**
 * The reasons of an error as a list. If the error has no list, as for an unknown type, the error itself becomes the
 * only element.
 */
function errorsOf(error: ProtocolError): readonly TransactionError[] {
  if (error instanceof TransactionRejected && error.errors.length > 0) return error.errors;
  return [transactionError('', error.message, '')];
}
