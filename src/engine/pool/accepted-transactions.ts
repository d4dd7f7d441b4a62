/**
 * Keeps the transactions that this node has accepted from clients, so that a restart of the node does not lose them.
 * The node writes each of these transactions to the transaction journal (`TransactionJournal`) before the node answers
 * the client. A transaction leaves the journal when its block is final or at least one round below the tip. A
 * transaction also leaves the journal if it has waited too long for a block. A transaction that has become invalid
 * leaves the journal only after the node has caught up with the network. If the journal is full, transactions that are
 * in the chain leave the journal to make room.
 *
 * After a start, the node rechecks the transactions of the journal that are not in the chain. The node puts the valid
 * transactions into the pool and announces them. A transaction from a peer enters the journal only if a client of this
 * node sends a member's signature for the transaction. A member's signature is the signature of one member of a
 * multisignature account.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import type { SubmitResult } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { ChainStore } from '../../ports/store.ts';
import type { JournaledTransaction, TransactionJournal } from '../../ports/transaction-journal.ts';
import { messageOf } from '../../primitives/errors.ts';
import type { Rules } from '../../protocol/rules.ts';
import type { Block, MemberSignature, Transaction, TransactionId } from '../../protocol/types.ts';
import { transactionError } from '../../protocol/verdict.ts';
import { DroppedLog } from './dropped-log.ts';
import { hasSignature } from './journal-entries.ts';
import { memberSignatureFromJson } from './member-signatures.ts';
import { JournalWriteLog } from './journal-write-log.ts';
import { isTooOld, type TransactionPool, WAITED_TOO_LONG } from './pool.ts';
import { NO_PAYER, type Payer } from './verification-budget.ts';

export interface AcceptedDependencies {
  readonly journal: TransactionJournal;
  readonly pool: TransactionPool;
  readonly store: Pick<ChainStore, 'tip' | 'transactionPlace'>;
  readonly rules: Rules;
  readonly clock: Clock;
  /** Chain clock, by which the pool measures the age of its transactions; differs from `clock` on some devnets. */
  readonly chainClock: Pick<Clock, 'nowMs'>;
  readonly observer: Observer;
  readonly finalizedHeight: () => number;
  /**
   * Returns true if the chain of this node has caught up with the network. Until the chain has caught up, transactions
   * that the node finds invalid stay in the journal. A transaction that is invalid in the old state of this node can be
   * valid at the tip of the network.
   */
  readonly isCaughtUp: () => boolean;
  /** Announces a transaction of the pool to peers again if no connected peer is known to have the transaction. */
  readonly announceAgain: (id: TransactionId) => void;
}

/** Maximum time in milliseconds for which the node restores transactions before other work can run. */
const SLICE_MS = 5;
/**
 * Maximum number of transactions that the node restores before other work can run. Simulations need this limit: the
 * clock of a simulation stands still during the checks, so the time limit `SLICE_MS` has no effect.
 */
const SLICE_COUNT = 25;
/**
 * Time in milliseconds after which the node again checks the transactions of the journal that are neither in the chain
 * nor in the pool.
 */
const RETRY_MS = 10_000;
/**
 * Codes of rejections for reasons that can be temporary. After a rejection with one of these codes, the transaction
 * stays in the journal.
 */
const RETRYABLE_REJECTIONS: ReadonlySet<string> = new Set(['POOL_FULL', 'TRANSACTION_IN_FUTURE', 'TRANSACTION_KNOWN']);

type Refusal = Extract<SubmitResult, { accepted: false }>;

export class AcceptedTransactions {
  readonly #dependencies: AcceptedDependencies;
  /**
   * For each transaction of the journal that is in the chain, the height of its block. The entries are in the order in
   * which this object found the transactions in the chain. `#makeRoom` removes the entries in this order.
   */
  readonly #confirmed = new Map<TransactionId, number>();
  /**
   * Ids of the transactions that the node will check again. If such a transaction is valid, the node puts the
   * transaction into the pool. At the start, the set has the ids of all transactions of the journal. Later, the set has
   * the ids of the transactions that are neither in the chain nor in the pool.
   */
  readonly #waiting = new Set<TransactionId>();
  #isRestored = false;
  #timer: Timer | undefined;
  #stopped = true;
  readonly #writeLog: JournalWriteLog;
  readonly #droppedLog: DroppedLog;

  constructor(dependencies: AcceptedDependencies) {
    this.#dependencies = dependencies;
    this.#writeLog = new JournalWriteLog(dependencies);
    this.#droppedLog = new DroppedLog(dependencies);
    for (const { id } of dependencies.journal.entries()) this.#waiting.add(id);
  }

  /** Begins to restore the transactions that an earlier run of the node accepted. The work runs in the background. */
  start(): void {
    this.#stopped = false;
    this.#arm(0);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#droppedLog.close();
  }

  /**
   * Checks a client's transaction and writes it to the journal. If the check and the write succeed, the node accepts
   * the transaction and announces it to the peers of the node. If the journal has no room, the node refuses the
   * transaction with the code `POOL_FULL`. If the write fails, the code of the refusal is `TRANSACTION_NOT_KEPT`. If a
   * block already contains the transaction, the client gets neither of these two refusals. If the pool already has the
   * transaction, the node refuses the new copy. After the refusal of a copy, the node announces the transaction again
   * if no connected peer is known to have the transaction.
   */
  async submit(json: unknown, payer: Payer): Promise<SubmitResult> {
    const { pool, announceAgain } = this.#dependencies;
    const result = pool.admit(json, payer);
    if (!result.accepted) {
      const known = result.code === 'TRANSACTION_KNOWN' ? result.errors[0]?.id : undefined;
      if (known !== undefined && pool.has(known)) announceAgain(known);
      return result;
    }
    const { transaction, receivedAtMs } = result;
    const refusal = await this.#keep(transaction, receivedAtMs);
    if (refusal !== undefined) {
      this.#giveUp(transaction.id);
      // If a block has confirmed the transaction during the failed write, the client gets no refusal.
      if (this.#dependencies.store.transactionPlace(transaction.id) === undefined) return refusal;
    }
    pool.announce(transaction.id);
    return result;
  }

  /**
   * Checks a signature that a member of a multisignature account made and that a client sent. Adds the signature to the
   * pending transaction that the signature names. Then writes the transaction with the signature to the journal, even
   * if the transaction came from a peer. If the journal has no room, or if the write fails, the client gets a refusal,
   * but the pool keeps the signature.
   */
  async submitSignature(json: unknown, payer: Payer): Promise<SubmitResult> {
    const id: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'transactionId') : undefined;
    // It is possible that the signed transaction is in the journal but not yet in the pool, for example after a start
    // of the node.
    if (typeof id === 'string' && this.#waiting.has(id)) this.#restoreOne(id);
    const result = this.#dependencies.pool.submitSignature(json, payer);
    if (!result.accepted) {
      await this.#keepKnownSignature(json);
      return result;
    }
    if (!this.#keepSignature(memberSignatureFromJson(json))) return noRoom(result.transaction.id);
    return (await this.#keep(result.transaction, result.receivedAtMs)) ?? result;
  }

  /**
   * Writes a member's signature to the journal if the journal has the signed transaction and has room for the
   * signature. Called after the pool has added the signature to the pending transaction. The signature can come from a
   * client or from a peer.
   */
  signatureAdded(signature: MemberSignature): void {
    const { journal } = this.#dependencies;
    if (journal.get(signature.transactionId) === undefined) return;
    journal.addSignature(signature);
    void this.#flush();
  }

  /**
   * Called after the pool has dropped a transaction. The transaction leaves the journal if the node has caught up with
   * the network, or if the transaction has waited too long. While the node has not caught up, it is possible that a
   * transaction that this node finds invalid is valid at the tip of the network. Such a transaction therefore stays in
   * the journal, and the node checks it again later.
   */
  dropped({ id }: Transaction, reason: string): void {
    const { journal, isCaughtUp } = this.#dependencies;
    if (journal.get(id) === undefined) return;
    if (isCaughtUp() || reason === WAITED_TOO_LONG) this.#drop(id, reason);
    else this.#wait(id);
  }

  blocksApplied(blocks: readonly Block[]): void {
    const { journal } = this.#dependencies;
    for (const { height, transactions } of blocks) {
      for (const { id } of transactions) {
        if (journal.get(id) === undefined) continue;
        this.#confirmed.delete(id);
        this.#confirmed.set(id, height);
        this.#waiting.delete(id);
      }
    }
    this.#forgetDeep();
  }

  /**
   * Called after the pool has put the transactions of the reverted blocks back into its queues. If the pool had no room
   * for a transaction of the journal, the node checks this transaction again later.
   */
  blocksReverted(blocks: readonly Block[]): void {
    for (const { id } of blocks.flatMap(({ transactions }) => transactions)) {
      if (this.#confirmed.delete(id) && !this.#dependencies.pool.has(id)) this.#wait(id);
    }
  }

  // ---- keeping ------------------------------------------------------------------------------------------------------

  async #keep(transaction: Transaction, receivedAtMs: number): Promise<Refusal | undefined> {
    const { journal, pool, rules } = this.#dependencies;
    const { id } = transaction;
    const json = rules.codec.transactionToJson(transaction);
    const entry = { id, json, receivedAtMs, isOfGroup: pool.isOfGroup(id), signatures: [] };
    if (journal.get(id) === undefined) {
      if (!this.#makeRoom(entry)) return noRoom(id);
      journal.add(entry);
    }
    const failure = await this.#flush();
    if (failure === undefined) return undefined;
    this.#writeLog.refused();
    return refusal('TRANSACTION_NOT_KEPT', id, 'The transaction could not be written to the disk of this node.');
  }

  /**
   * Adds a client's signature to the journal if the journal has the transaction but not yet the signature. Such a
   * signature is missing from the journal because the journal had no room when `signatureAdded` tried to add it.
   *
   * @returns false if the journal has no room for the signature
   */
  #keepSignature(signature: MemberSignature): boolean {
    const { journal } = this.#dependencies;
    const entry = journal.get(signature.transactionId);
    if (entry === undefined || hasSignature(entry, signature)) return true;
    if (!this.#makeRoom(signature)) return false;
    journal.addSignature(signature);
    return true;
  }

  /**
   * Called when the pool has refused a member's signature from a client. If the refused signature is in the pool but
   * not in the journal, the method tries again to write the signature to the journal. Such a signature is missing from
   * the journal because the journal had no room when the signature first arrived. The client gets the refusal in any
   * case.
   */
  async #keepKnownSignature(json: unknown): Promise<void> {
    const signature = signatureIn(json);
    const pooled = signature && this.#dependencies.pool.get(signature.transactionId);
    if (!signature || !pooled?.signatures.includes(signature.signature)) return;
    if (this.#keepSignature(signature)) await this.#flush();
  }

  /**
   * Makes room in the journal by removing transactions that are in the chain. The node needs a confirmed transaction of
   * the journal only if a reorg reverts the block of the transaction.
   *
   * @returns false if the journal still has no room after all confirmed transactions have left the journal
   */
  #makeRoom(added: JournaledTransaction | MemberSignature): boolean {
    const { journal } = this.#dependencies;
    while (!journal.hasRoomFor(added)) {
      const [oldest] = this.#confirmed.keys();
      if (oldest === undefined) return false;
      this.#giveUp(oldest);
    }
    return true;
  }

  #giveUp(id: TransactionId): void {
    const { journal, pool } = this.#dependencies;
    journal.remove([id]);
    if (!this.#confirmed.delete(id)) pool.take([id]);
    this.#waiting.delete(id);
  }

  async #flush(): Promise<unknown> {
    try {
      await this.#dependencies.journal.flush();
      this.#writeLog.succeeded();
      return undefined;
    } catch (error) {
      this.#writeLog.failed(messageOf(error));
      return error;
    }
  }

  /**
   * Removes confirmed transactions from the journal if their blocks are final or at least a round below the tip. The
   * node expects no revert of these blocks.
   */
  #forgetDeep(): void {
    const { journal, store, rules, finalizedHeight } = this.#dependencies;
    const deep = Math.max(finalizedHeight(), (store.tip()?.height ?? 0) - rules.params.activeDelegates);
    const ids = [...this.#confirmed].flatMap(([id, height]) => (height <= deep ? [id] : []));
    if (ids.length === 0) return;
    for (const id of ids) this.#confirmed.delete(id);
    journal.remove(ids);
    void this.#flush();
  }

  // ---- restoring ----------------------------------------------------------------------------------------------------

  #wait(id: TransactionId): void {
    this.#waiting.add(id);
    this.#arm(RETRY_MS);
  }

  #arm(delayMs: number): void {
    if (this.#stopped || this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = this.#dependencies.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#restore([...this.#waiting]);
    });
  }

  /**
   * Checks transactions of `#waiting` in slices, so that other work can run between two slices.
   *
   * @param ids the ids of the transactions that wait for the check
   * @param before the ids of the transactions that earlier slices checked
   */
  #restore(ids: readonly TransactionId[], before: readonly TransactionId[] = []): void {
    const { clock, observer, pool } = this.#dependencies;
    const startedMs = clock.nowMs();
    let index = 0;
    for (; index < Math.min(ids.length, SLICE_COUNT) && clock.nowMs() - startedMs < SLICE_MS; index += 1) {
      const id = ids[index];
      if (id !== undefined && this.#waiting.has(id)) this.#restoreOne(id);
    }
    if (index < ids.length) {
      this.#timer = clock.after(0, () => {
        this.#timer = undefined;
        if (!this.#stopped) this.#restore(ids.slice(index), [...before, ...ids.slice(0, index)]);
      });
      return;
    }
    this.#forgetDeep();
    if (!this.#isRestored) {
      this.#isRestored = true;
      const pooled = [...before, ...ids].filter((id) => pool.has(id)).length;
      const message = 'restored transactions that an earlier run accepted';
      const counts = { pool: pooled, inChain: this.#confirmed.size, waiting: this.#waiting.size };
      observer.log('info', 'ACCEPTED_TRANSACTIONS_RESTORED', message, counts);
    }
    this.#arm(RETRY_MS);
  }

  #restoreOne(id: TransactionId): void {
    const { journal, pool, store, chainClock, isCaughtUp } = this.#dependencies;
    const entry = journal.get(id);
    const place = store.transactionPlace(id);
    if (place !== undefined && entry !== undefined) this.#confirmed.set(id, place.height);
    if (entry === undefined || place !== undefined || pool.has(id)) {
      this.#waiting.delete(id);
      return;
    }
    const nowMs = chainClock.nowMs();
    if (isTooOld(entry.receivedAtMs, entry.isOfGroup, nowMs)) {
      this.#drop(id, WAITED_TOO_LONG);
      return;
    }
    // If the clock was set back, the stored time of arrival can be in the future, and the transaction would wait longer
    // than allowed. The node therefore uses the current time instead of a future time.
    const result = pool.admit(entry.json, NO_PAYER, Math.min(entry.receivedAtMs, nowMs));
    if (result.accepted) {
      this.#waiting.delete(id);
      // In a damaged journal file, the stored id of an entry can differ from the id of the transaction in the entry.
      if (result.transaction.id !== id) this.#drop(id, 'its id in the journal is the id of another transaction');
      for (const signature of entry.signatures) pool.addSignature(signature);
      pool.announce(result.transaction.id);
    } else if (isCaughtUp() && !RETRYABLE_REJECTIONS.has(result.code)) {
      this.#drop(id, result.errors[0]?.message ?? result.message);
    }
  }

  // ---- dropping -----------------------------------------------------------------------------------------------------

  #drop(id: TransactionId, reason: string): void {
    this.#waiting.delete(id);
    this.#dependencies.journal.remove([id]);
    void this.#flush();
    this.#droppedLog.add(id, reason);
  }
}

/** The member's signature in JSON from a client; undefined if the JSON does not have the form of such a signature. */
function signatureIn(json: unknown): MemberSignature | undefined {
  try {
    return memberSignatureFromJson(json);
  } catch {
    return undefined;
  }
}

function noRoom(id: TransactionId): Refusal {
  return refusal('POOL_FULL', id, 'Transaction pool is full');
}

function refusal(code: string, id: TransactionId, message: string): Refusal {
  return { accepted: false, code, message, errors: [transactionError(id, message, '')] };
}
