/** What we tell peers unasked and what we do with what they tell us: blocks, ids of transactions, signatures. */

import { BoundedQueue, LruMap } from '../primitives/bounded.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { PeerId, PeerMessage, Transport } from '../ports/transport.ts';
import type { Block, BlockId, MemberSignature, TransactionId } from '../protocol/types.ts';
import { BlockRejected, type BlockRejectionCode } from '../protocol/verdict.ts';
import type { Chain } from './chain.ts';
import type { Customs } from './customs.ts';
import type { TransactionPool } from './pool/pool.ts';

/** Items of one announcement, as the wire allows. */
const ITEMS_PER_MESSAGE_MAX = 25;
/** Announcements that wait: as many as a full pool can cause. */
export const QUEUE_ITEMS_MAX = 5000;
/** Blocks remembered, so that the same one from many peers costs once. */
const SEEN_BLOCKS_MAX = 1000;
/** Refusals that depend on our clock: it may run slow, and the block be good in a moment. */
const PASSING_REFUSALS: ReadonlySet<BlockRejectionCode> = new Set([
  'BLOCK_TIMESTAMP_INVALID',
  'BLOCK_TRANSACTION_INVALID',
]);
/**
 * For so long no signatures of members are read of a peer that sent a false one. With all connections taken by such peers, that
 * leaves two checks in a second.
 */
const FALSE_SIGNATURE_PAUSE_MS = 60_000;
/** Peers remembered for it: far more than can be connected in that time. */
const FALSE_SIGNERS_MAX = 5000;
/** Blocks and answers of one peer that may wait for their turn; more are dropped. */
const PENDING_PER_PEER_MAX = 8;

export interface GossipDependencies {
  readonly chain: Chain;
  readonly pool: TransactionPool;
  readonly transport: Pick<Transport, 'request' | 'send' | 'connections'>;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly broadcastIntervalMs: number;
  readonly transactionGossip: Customs['transactionGossip'];
  /** Peers for a message that not everybody gets: a random choice over both directions. */
  readonly gossipTargets: () => readonly PeerId[];
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /** A peer sent a block of the chain, or one that is refused only because its slot has not come. */
  readonly noteBlockTime: (peerId: PeerId, block: Block, receivedMs: number) => void;
  readonly synchronizer: { readonly syncing: boolean; trigger(peerId?: PeerId, hasShownTip?: boolean): void };
}

const TOLD_BY_CHAIN: ReadonlySet<string> = new Set(['STORE_WRITE_FAILED', 'STORE_TAKEN_OVER']);

export class Gossip {
  readonly #dependencies: GossipDependencies;
  readonly #transactionIds = new BoundedQueue<TransactionId>(QUEUE_ITEMS_MAX);
  readonly #signatures = new BoundedQueue<MemberSignature>(QUEUE_ITEMS_MAX);
  /** Ids of blocks that were applied. */
  readonly #seenBlocks = new LruMap<BlockId, true>(SEEN_BLOCKS_MAX);
  /** Digests of whole documents that were refused or passed over: an id does not cover all of a block, so a spoilt copy must not stand for the good. */
  readonly #refusedDocuments = new LruMap<string, true>(SEEN_BLOCKS_MAX);
  readonly #pendingByPeer = new Map<PeerId, number>();
  /** Until when signatures of these peers are not read, Unix time in milliseconds. */
  readonly #unreadUntilMs = new LruMap<PeerId, number>(FALSE_SIGNERS_MAX);
  #timer: Timer | undefined;
  #stopped = true;

  constructor(dependencies: GossipDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#stopped = false;
    this.#dependencies.chain.listen({
      applied: (blocks, origin) => {
        const block = blocks.at(-1);
        if (origin !== 'synced' && block !== undefined) this.#sendBlock(block);
      },
    });
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** A transaction passed verification here for the first time. */
  announceTransaction(id: TransactionId): void {
    this.#transactionIds.push(id);
  }

  /** A member's signature was added to a pending transaction here. */
  announceSignature(signature: MemberSignature): void {
    this.#signatures.push(signature);
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (this.#stopped) return;
    switch (message.kind) {
      case 'block':
        this.#bounded(peerId, () => this.#receiveBlock(peerId, message.block));
        return;
      case 'transactionIds':
        this.#bounded(peerId, () => this.#fetchTransactions(peerId, message.ids));
        return;
      case 'transactions':
        this.#takeTransactions(peerId, message.transactions);
        return;
      case 'signatures':
        this.#takeSignatures(peerId, message.signatures);
    }
  }

  /** Asks a peer for what its pool holds; for the first connection after a start. */
  async fetchPool(peerId: PeerId): Promise<void> {
    const answer = await this.#dependencies.transport.request(peerId, { kind: 'transactions' });
    this.#takeTransactions(peerId, answer);
  }

  #arm(): void {
    if (this.#stopped) return;
    const { clock, broadcastIntervalMs } = this.#dependencies;
    this.#timer = clock.after(broadcastIntervalMs, () => {
      this.#release();
      this.#arm();
    });
  }

  /** Sends what has queued up: one message of each kind, no more than peers put up with. */
  #release(): void {
    const { pool, transport, gossipTargets } = this.#dependencies;
    this.#transactionIds.filter((id) => pool.has(id));
    const ids = this.#transactionIds.take(ITEMS_PER_MESSAGE_MAX);
    if (ids.length > 0) this.#tellTransactions(ids);
    const signatures = this.#signatures.take(ITEMS_PER_MESSAGE_MAX);
    if (signatures.length > 0) {
      for (const peerId of gossipTargets()) transport.send(peerId, { kind: 'signatures', signatures });
    }
  }

  #tellTransactions(ids: readonly TransactionId[]): void {
    const { chain, pool, transport, gossipTargets, transactionGossip } = this.#dependencies;
    if (transactionGossip === 'ids') {
      for (const { peerId } of transport.connections()) transport.send(peerId, { kind: 'transactionIds', ids });
      return;
    }
    const { codec } = chain.rules;
    const transactions = ids.flatMap((id) => pool.get(id) ?? []).map((each) => codec.transactionToJson(each));
    for (const peerId of gossipTargets()) transport.send(peerId, { kind: 'transactions', transactions });
  }

  #sendBlock(block: Block): void {
    const { chain, transport, gossipTargets, synchronizer } = this.#dependencies;
    this.#seenBlocks.set(block.id, true);
    if (synchronizer.syncing) return;
    const json = chain.rules.codec.blockToJson(block);
    for (const peerId of gossipTargets()) transport.send(peerId, { kind: 'block', block: json });
  }

  async #receiveBlock(peerId: PeerId, json: unknown): Promise<void> {
    const { chain, clock, noteBlockTime, penalise, synchronizer } = this.#dependencies;
    const receivedMs = clock.nowMs();
    let block: Block;
    try {
      block = chain.rules.codec.blockFromJson(json);
    } catch (error) {
      if (!(error instanceof BlockRejected)) throw error;
      penalise(peerId, error.code, error.message);
      return;
    }
    if (this.#seenBlocks.has(block.id)) {
      noteBlockTime(peerId, block, receivedMs);
      return;
    }
    const digest = sha256Hex(utf8(JSON.stringify(json)));
    if (this.#refusedDocuments.has(digest)) return;
    const outcome = await chain.receive(block);
    switch (outcome.kind) {
      case 'applied':
        this.#seenBlocks.set(block.id, true);
        noteBlockTime(peerId, block, receivedMs);
        return;
      case 'ignored':
        // Older blocks do not sign their height: another copy of this one may tell the right one.
        this.#refusedDocuments.set(digest, true);
        return;
      case 'refused':
        if (!PASSING_REFUSALS.has(outcome.rejection.code)) this.#refusedDocuments.set(digest, true);
        if (outcome.rejection.code === 'BLOCK_TIMESTAMP_INVALID') noteBlockTime(peerId, block, receivedMs);
        penalise(peerId, outcome.rejection.code, outcome.rejection.message);
        return;
      case 'betterChain':
        synchronizer.trigger(peerId, true);
    }
  }

  async #fetchTransactions(peerId: PeerId, announced: readonly TransactionId[]): Promise<void> {
    const { chain, pool, transport, synchronizer } = this.#dependencies;
    if (synchronizer.syncing) return;
    const ids = announced.filter((id) => !pool.has(id) && !chain.state.hasTransaction(id));
    if (ids.length === 0) return;
    this.#takeTransactions(peerId, await transport.request(peerId, { kind: 'transactions', ids }));
  }

  #takeTransactions(peerId: PeerId, transactions: readonly unknown[]): void {
    const { pool, penalise } = this.#dependencies;
    const { fault } = pool.receive(transactions);
    if (fault !== undefined) penalise(peerId, fault.code, fault.message);
  }

  /**
   * Peers pass on what they have verified, and only then. A false signature is a check that was for nothing, and all that
   * its sender has to do is to make up another; so that one is the last that is looked at for a while. It costs no points: an
   * honest peer may have had another transaction of the same id (`peers/penalties.ts`).
   */
  #takeSignatures(peerId: PeerId, signatures: readonly MemberSignature[]): void {
    const { pool, clock, observer } = this.#dependencies;
    if (clock.nowMs() < (this.#unreadUntilMs.get(peerId) ?? 0)) return;
    for (const signature of signatures) {
      const result = pool.addSignature(signature);
      if (result.accepted) continue;
      observer.log('debug', result.code, 'did not take a signature', { peer: peerId, reason: result.message });
      if (result.code !== 'MEMBER_SIGNATURE_FALSE') continue;
      this.#unreadUntilMs.set(peerId, clock.nowMs() + FALSE_SIGNATURE_PAUSE_MS);
      return;
    }
  }

  /** Lets a peer occupy only so much of us at a time. */
  #bounded(peerId: PeerId, work: () => Promise<void>): void {
    const { observer } = this.#dependencies;
    const pending = this.#pendingByPeer.get(peerId) ?? 0;
    if (pending >= PENDING_PER_PEER_MAX) {
      observer.log('debug', 'PEER_BUSY', 'dropped a message of a peer that has too many waiting', { peer: peerId });
      return;
    }
    this.#pendingByPeer.set(peerId, pending + 1);
    work()
      .catch((error: unknown) => {
        const code = error instanceof ProtocolError ? error.code : 'GOSSIP_FAILED';
        // What a peer did not answer is its affair, and of a store that cannot be written to the chain has told.
        const isOurs = code === 'GOSSIP_FAILED' || (code.startsWith('STORE_') && !TOLD_BY_CHAIN.has(code));
        observer.log(isOurs ? 'error' : 'debug', code, 'could not handle a message', {
          peer: peerId,
          reason: messageOf(error),
        });
      })
      .finally(() => {
        const left = (this.#pendingByPeer.get(peerId) ?? 1) - 1;
        if (left > 0) this.#pendingByPeer.set(peerId, left);
        else this.#pendingByPeer.delete(peerId);
      });
  }
}
