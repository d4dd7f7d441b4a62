/** What we tell peers unasked and what we do with what they tell us: blocks, ids of transactions, signatures. */

import { LruMap } from '../primitives/bounded.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import { type RateKind, rateOf, type Sending } from '../ports/rates.ts';
import type { PeerId, PeerMessage, Transport } from '../ports/transport.ts';
import type { Block, BlockId, MemberSignature, TransactionId } from '../protocol/types.ts';
import type { Generation } from '../protocol/params.ts';
import { BlockRejected, type BlockRejectionCode } from '../protocol/verdict.ts';
import { Announcements } from './announcements.ts';
import { BlockSender } from './block-sender.ts';
import type { Chain } from './chain.ts';
import type { Customs } from './customs.ts';
import type { TransactionPool } from './pool/pool.ts';
import type { Payer } from './pool/verification-budget.ts';
import { TransactionFetcher } from './transaction-fetcher.ts';

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
/** Of a decimal id of 64 bits. */
const ID_CHARACTERS_MAX = 20;
/** For so long what a peer brought is verified without a pause. */
const SLICE_MS = 5;
/** Messages of one peer that may wait for their turn; more are dropped. */
const PENDING_PER_PEER_MAX = 8;

export interface GossipDependencies {
  readonly chain: Chain;
  readonly pool: TransactionPool;
  readonly transport: Pick<Transport, 'request' | 'send' | 'connections'>;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly generation: Generation;
  /** Peers that one message goes to when not everybody gets it. */
  readonly gossipPeersMax: number;
  readonly transactionGossip: Customs['transactionGossip'];
  /** Peers for a message that not everybody gets: a random choice over both directions. */
  readonly gossipTargets: () => readonly PeerId[];
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /** Whose account the signatures go to that a peer brings. */
  readonly payerOf: (peerId: PeerId) => Payer;
  /** Ends the connection of a peer that used up its budget for signatures and brought nothing of use. */
  readonly cutWasteful: (peerId: PeerId) => void;
  /** A peer sent a block of the chain, or one that is refused only because its slot has not come. */
  readonly noteBlockTime: (peerId: PeerId, block: Block, receivedMs: number) => void;
  readonly synchronizer: { readonly syncing: boolean; trigger(peerId?: PeerId, shown?: Block): void };
}

const TOLD_BY_CHAIN: ReadonlySet<string> = new Set(['STORE_WRITE_FAILED', 'STORE_TAKEN_OVER']);

export class Gossip {
  readonly #dependencies: GossipDependencies;
  readonly #transactions: Announcements<TransactionId>;
  readonly #signatures: Announcements<MemberSignature>;
  readonly #fetcher: TransactionFetcher;
  readonly #blocks: BlockSender;
  /** Ids of blocks that were applied. */
  readonly #seenBlocks = new LruMap<BlockId, true>(SEEN_BLOCKS_MAX);
  /** Digests of whole documents that were refused or passed over: an id does not cover all of a block, so a spoilt copy must not stand for the good. */
  readonly #refusedDocuments = new LruMap<string, true>(SEEN_BLOCKS_MAX);
  readonly #pendingByPeer = new Map<PeerId, number>();
  /** Until when signatures of these peers are not read, Unix time in milliseconds. */
  readonly #unreadUntilMs = new LruMap<PeerId, number>(FALSE_SIGNERS_MAX);
  #stopped = true;

  constructor(dependencies: GossipDependencies) {
    this.#dependencies = dependencies;
    const { chain, clock, gossipPeersMax, gossipTargets, pool, transactionGossip, transport } = dependencies;
    const areIds = transactionGossip === 'ids';
    this.#transactions = new Announcements({
      clock,
      targets: areIds ? () => transport.connections().map(({ peerId }) => peerId) : gossipTargets,
      peersPerItemMax: areIds ? Infinity : gossipPeersMax,
      rate: this.#pace(areIds ? 'transactionIds' : 'transactions'),
      keyOf: (id) => id,
      isCurrent: (id) => pool.has(id),
      send: (peerId, ids) => this.#tellTransactions(peerId, ids),
    });
    this.#signatures = new Announcements({
      clock,
      targets: gossipTargets,
      peersPerItemMax: gossipPeersMax,
      rate: this.#pace('signatures'),
      keyOf: ({ signature }) => signature,
      isCurrent: ({ transactionId }) => pool.has(transactionId),
      send: (peerId, signatures) => transport.send(peerId, { kind: 'signatures', signatures }),
    });
    this.#blocks = new BlockSender(clock, transport, rateOf(dependencies.generation, 'block').own);
    this.#fetcher = new TransactionFetcher({
      clock,
      transport,
      rate: rateOf(dependencies.generation, 'transactionsQuestion').own,
      has: (id) => pool.has(id) || chain.state.hasTransaction(id),
      take: (peerId, transactions) => this.#takeTransactions(peerId, transactions),
      failed: (peerId, error) => this.#noteFailure(peerId, error),
    });
  }

  start(): void {
    this.#stopped = false;
    this.#dependencies.chain.listen({
      applied: (blocks, origin) => {
        const block = blocks.at(-1);
        if (origin !== 'synced' && block !== undefined) this.#sendBlock(block);
      },
    });
    this.#transactions.start();
    this.#signatures.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#transactions.stop();
    this.#signatures.stop();
    this.#fetcher.stop();
  }

  connected(): void {
    this.#transactions.connected();
    this.#signatures.connected();
  }

  disconnected(peerId: PeerId): void {
    this.#transactions.disconnected(peerId);
    this.#signatures.disconnected(peerId);
    this.#fetcher.disconnected(peerId);
  }

  /** A transaction passed verification here for the first time. */
  announceTransaction(id: TransactionId): void {
    this.#transactions.add(id);
  }

  /** A transaction that is here was handed in again: its client may have heard nothing of it since. */
  announceAgain(id: TransactionId): void {
    this.#transactions.addAgain(id);
  }

  /** A peer asked for transactions and was given these. */
  gave(peerId: PeerId, transactions: unknown): void {
    if (Array.isArray(transactions)) this.#transactions.given(peerId, idsOf(transactions));
  }

  /** A member's signature was added to a pending transaction here. */
  announceSignature(signature: MemberSignature): void {
    this.#signatures.add(signature);
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (this.#stopped) return;
    switch (message.kind) {
      case 'block':
        this.#bounded(peerId, () => this.#receiveBlock(peerId, message.block));
        return;
      case 'transactionIds':
        this.#transactions.heard(peerId, message.ids);
        this.#heardOf(peerId, message.ids);
        return;
      case 'transactions':
        this.#transactions.heard(peerId, idsOf(message.transactions));
        this.#bounded(peerId, () => this.#takeTransactions(peerId, message.transactions));
        return;
      case 'signatures':
        this.#signatures.heard(
          peerId,
          message.signatures.map(({ signature }) => signature),
        );
        this.#takeSignatures(peerId, message.signatures);
    }
  }

  /** Asks a peer for what its pool holds; for the first connection after a start. */
  fetchPool(peerId: PeerId): Promise<void> {
    return this.#fetcher.pool(peerId);
  }

  /** What one peer may be told of something that is announced. */
  #pace(kind: RateKind): Sending {
    return rateOf(this.#dependencies.generation, kind).own;
  }

  #tellTransactions(peerId: PeerId, ids: readonly TransactionId[]): void {
    const { chain, pool, transport, transactionGossip } = this.#dependencies;
    if (transactionGossip === 'ids') {
      transport.send(peerId, { kind: 'transactionIds', ids });
      return;
    }
    const { codec } = chain.rules;
    const transactions = ids.flatMap((id) => pool.get(id) ?? []).map((each) => codec.transactionToJson(each));
    transport.send(peerId, { kind: 'transactions', transactions });
  }

  #sendBlock(block: Block): void {
    const { chain, gossipTargets, synchronizer } = this.#dependencies;
    this.#seenBlocks.set(block.id, true);
    if (synchronizer.syncing) return;
    this.#blocks.send(chain.rules.codec.blockToJson(block), gossipTargets());
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
        synchronizer.trigger(peerId, block);
    }
  }

  #heardOf(peerId: PeerId, ids: readonly TransactionId[]): void {
    const { synchronizer, payerOf } = this.#dependencies;
    // What would not be looked at is not asked for: others announce it too.
    if (!synchronizer.syncing && payerOf(peerId).mayAsk()) this.#fetcher.announced(peerId, ids);
  }

  /**
   * Transactions of a peer are verified as they come, in slices, so that other messages do not wait for all of them.
   *
   * @returns ids of those that were looked at, by the peer's word. A peer whose budget is used up, or that has one at fault among
   *   them, says nothing about the rest. A full pool counts: no other peer would get it in.
   */
  async #takeTransactions(peerId: PeerId, transactions: readonly unknown[]): Promise<readonly TransactionId[]> {
    const { clock, pool, penalise, payerOf, cutWasteful } = this.#dependencies;
    const payer = payerOf(peerId);
    const seen: unknown[] = [];
    let sliceMs = clock.nowMs();
    for (const json of transactions) {
      if (clock.nowMs() - sliceMs >= SLICE_MS) {
        await new Promise<void>((resolve) => void clock.after(0, resolve));
        if (this.#stopped) return idsOf(seen);
        sliceMs = clock.nowMs();
      }
      const { accepted, refused, fault } = pool.receive([json], payer);
      if (!refused.some(({ code }) => code === 'VERIFICATION_LIMIT')) seen.push(json);
      if (fault !== undefined) {
        penalise(peerId, fault.code, fault.message);
        return idsOf(seen);
      }
      pool.verifyReceived(accepted, payer);
    }
    cutWasteful(peerId);
    return idsOf(seen);
  }

  /**
   * Peers pass on what they have verified, and only then. A false signature is a check that was for nothing, and all that
   * its sender has to do is to make up another; so that one is the last that is looked at for a while. It costs no points: an
   * honest peer may have had another transaction of the same id (`peers/penalties.ts`).
   */
  #takeSignatures(peerId: PeerId, signatures: readonly MemberSignature[]): void {
    const { pool, clock, observer, payerOf } = this.#dependencies;
    const payer = payerOf(peerId);
    if (clock.nowMs() < (this.#unreadUntilMs.get(peerId) ?? 0)) return;
    for (const signature of signatures) {
      if (!payer.mayAsk()) return;
      const result = pool.addSignature(signature, payer);
      if (result.accepted) continue;
      observer.log('debug', result.code, 'did not take a signature', { peer: peerId, reason: result.message });
      if (result.code !== 'MEMBER_SIGNATURE_FALSE') continue;
      this.#unreadUntilMs.set(peerId, clock.nowMs() + FALSE_SIGNATURE_PAUSE_MS);
      return;
    }
  }

  /** Lets a peer occupy only so much of us at a time. */
  #bounded(peerId: PeerId, work: () => Promise<unknown>): void {
    const pending = this.#pendingByPeer.get(peerId) ?? 0;
    if (pending >= PENDING_PER_PEER_MAX) {
      this.#dependencies.observer.log('debug', 'PEER_BUSY', 'dropped a message of a peer that has too many waiting', {
        peer: peerId,
      });
      return;
    }
    this.#pendingByPeer.set(peerId, pending + 1);
    work()
      .catch((error: unknown) => this.#noteFailure(peerId, error))
      .finally(() => {
        const left = (this.#pendingByPeer.get(peerId) ?? 1) - 1;
        if (left > 0) this.#pendingByPeer.set(peerId, left);
        else this.#pendingByPeer.delete(peerId);
      });
  }

  #noteFailure(peerId: PeerId, error: unknown): void {
    const code = error instanceof ProtocolError ? error.code : 'GOSSIP_FAILED';
    // An unanswered question is the peer's affair, and the chain has told of a store that cannot be written to.
    const isOurs = code === 'GOSSIP_FAILED' || (code.startsWith('STORE_') && !TOLD_BY_CHAIN.has(code));
    this.#dependencies.observer.log(isOurs ? 'error' : 'debug', code, 'could not handle a message', {
      peer: peerId,
      reason: messageOf(error),
    });
  }
}

/** Ids that a peer's transactions go by, by its own word. */
function idsOf(transactions: readonly unknown[]): readonly TransactionId[] {
  return transactions.flatMap((json) => {
    const id: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'id') : undefined;
    return typeof id === 'string' && id.length <= ID_CHARACTERS_MAX ? [id] : [];
  });
}
