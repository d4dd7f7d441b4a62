/**
 * Sends and receives gossip: transaction ids, transactions, and the signatures that members of multisignature accounts
 * make. `block-gossip.ts` handles blocks.
 */

import { LruMap } from '../primitives/bounded.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';
import { type RateKind, rateOf, type Sending } from '../ports/rates.ts';
import type { PeerId, PeerMessage, Transport } from '../ports/transport.ts';
import type { Codec } from '../protocol/rules.ts';
import type { StateReader } from '../protocol/state.ts';
import type { MemberSignature, TransactionId } from '../protocol/types.ts';
import { Announcements } from './announcements.ts';
import { BlockGossip, type BlockGossipDependencies } from './block-gossip.ts';
import type { GenerationProfile } from './generation-profile.ts';
import type { TransactionPool } from './pool/pool.ts';
import type { Payer } from './pool/verification-budget.ts';
import { type TakenTransactions, TransactionFetcher } from './transaction-fetcher.ts';

/**
 * After a peer has sent a false signature of a member (of a multisignature account), the node ignores all members'
 * signatures from this peer for this time in milliseconds. The default limits allow connections to 120 peers. Each of
 * these peers can cause one check of a false signature per minute, so all of them together can cause two checks per
 * second. Peers that connect again from other ports can cause more checks.
 */
const FALSE_SIGNATURE_PAUSE_MS = 60_000;
/**
 * Maximum number of peers that the node remembers as senders of false signatures. With the default limits of
 * connections, fewer peers than this number can connect within `FALSE_SIGNATURE_PAUSE_MS`.
 */
const FALSE_SIGNERS_MAX = 5000;
/** Maximum number of characters of an id, which is a 64-bit number in decimal. */
const ID_CHARACTERS_MAX = 20;
/**
 * After the node has verified transactions of a peer for this time in milliseconds, other work can run before the node
 * verifies the next transaction of the peer.
 */
const SLICE_MS = 5;
/**
 * Maximum number of messages of one peer that the node handles at the same time. Only messages with a block or with
 * whole transactions count. The node drops further messages of these two kinds.
 */
const PENDING_PER_PEER_MAX = 8;

export interface GossipDependencies extends BlockGossipDependencies {
  readonly chain: BlockGossipDependencies['chain'] & {
    readonly state: Pick<StateReader, 'hasTransaction'>;
    readonly rules: { readonly codec: Pick<Codec, 'transactionToJson'> };
  };
  readonly pool: Pick<TransactionPool, 'has' | 'get' | 'receive' | 'verifyReceived' | 'addSignature'>;
  readonly transport: Pick<Transport, 'request' | 'send' | 'connections'>;
  readonly observer: Observer;
  /**
   * Maximum number of peers to which the node sends one member's signature or one whole transaction. Ids of
   * transactions go to all peers.
   */
  readonly gossipPeersMax: number;
  readonly transactionGossip: GenerationProfile['transactionGossip'];
  /**
   * Returns the payer of a peer. Through the payer, the node charges the time for checking the peer's transactions and
   * signatures to two verification budgets (limits on this time): the budget of the peer's address, and the budget of a
   * group of addresses.
   */
  readonly payerOf: (peerId: PeerId) => Payer;
  /**
   * Disconnects a peer if `VerificationBudget.isWasteful` is true for the peer's IP address, because too many useless
   * signatures came from this address. Peers that the operator named stay connected.
   */
  readonly cutWasteful: (peerId: PeerId) => void;
}

/** Error codes of failed writes to the store. `DiskWatch` logs these failures at the level `error`. */
const LOGGED_BY_DISK_WATCH: ReadonlySet<string> = new Set(['STORE_WRITE_FAILED', 'STORE_TAKEN_OVER']);

export class Gossip {
  readonly #dependencies: GossipDependencies;
  readonly #transactions: Announcements<TransactionId>;
  readonly #signatures: Announcements<MemberSignature>;
  readonly #fetcher: TransactionFetcher;
  readonly #blocks: BlockGossip;
  readonly #pendingByPeer = new Map<PeerId, number>();
  /**
   * For each peer, the Unix time in milliseconds until which the node ignores members' signatures from this peer.
   */
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
      send: (peerId, ids) => this.#sendTransactions(peerId, ids),
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
    this.#blocks = new BlockGossip(dependencies);
    this.#fetcher = new TransactionFetcher({
      clock,
      transport,
      rate: rateOf(dependencies.generation, 'transactionsRequest').own,
      has: (id) => pool.has(id) || chain.state.hasTransaction(id),
      take: (peerId, transactions) => this.#takeTransactions(peerId, transactions),
      failed: (peerId, error) => this.#logFailure(peerId, error),
    });
  }

  start(): void {
    this.#stopped = false;
    this.#blocks.start();
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

  /**
   * Announces a transaction. Called after the first verification of the transaction on this node, and after the block
   * of the transaction was reverted.
   */
  announceTransaction(id: TransactionId): void {
    this.#transactions.add(id);
  }

  /**
   * Called when a client submits a transaction that is already in the pool. `Announcements.addAgain` decides whether
   * the node announces the transaction again.
   */
  announceAgain(id: TransactionId): void {
    this.#transactions.addAgain(id);
  }

  /**
   * Records that a peer asked for these transactions and got them. After this call, the node does not announce these
   * transactions to the peer.
   */
  gave(peerId: PeerId, transactions: unknown): void {
    if (Array.isArray(transactions)) this.#transactions.given(peerId, idsOf(transactions));
  }

  /** Announces a member's signature that the pool added to a pending transaction of a multisignature account. */
  announceSignature(signature: MemberSignature): void {
    this.#signatures.add(signature);
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (this.#stopped) return;
    switch (message.kind) {
      case 'block':
        this.#bounded(peerId, () => this.#blocks.receive(peerId, message.block));
        return;
      case 'transactionIds':
        this.#transactions.announcedBy(peerId, message.ids);
        this.#fetchAnnounced(peerId, message.ids);
        return;
      case 'transactions':
        this.#transactions.announcedBy(peerId, idsOf(message.transactions));
        this.#bounded(peerId, () => this.#takeTransactions(peerId, message.transactions));
        return;
      case 'signatures':
        this.#signatures.announcedBy(
          peerId,
          message.signatures.map(({ signature }) => signature),
        );
        this.#takeSignatures(peerId, message.signatures);
    }
  }

  /**
   * Asks a peer for the transactions in the peer's pool. The engine calls this method for the first peers that connect
   * after the start of the node.
   */
  fetchPool(peerId: PeerId): Promise<void> {
    return this.#fetcher.pool(peerId);
  }

  /** Returns the highest rate at which the node sends announcements of a kind to one peer. */
  #pace(kind: RateKind): Sending {
    return rateOf(this.#dependencies.generation, kind).own;
  }

  #sendTransactions(peerId: PeerId, ids: readonly TransactionId[]): void {
    const { chain, pool, transport, transactionGossip } = this.#dependencies;
    if (transactionGossip === 'ids') {
      transport.send(peerId, { kind: 'transactionIds', ids });
      return;
    }
    const { codec } = chain.rules;
    const transactions = ids.flatMap((id) => pool.get(id) ?? []).map((each) => codec.transactionToJson(each));
    transport.send(peerId, { kind: 'transactions', transactions });
  }

  #fetchAnnounced(peerId: PeerId, ids: readonly TransactionId[]): void {
    const { synchronizer, payerOf } = this.#dependencies;
    // While the peer's verification budget is used up, the node verifies no transactions of the peer. The node
    // therefore does not ask the peer for the announced transactions. Other peers usually announce these transactions,
    // too.
    if (!synchronizer.syncing && payerOf(peerId).mayAsk()) this.#fetcher.announced(peerId, ids);
  }

  /**
   * Verifies the transactions of a peer in slices, so that the node handles other messages between two slices.
   *
   * @returns `examined` has the ids of the transactions that the pool examined (`ReceiveReport.examined`). It omits the
   *   transactions after an invalid transaction (`isCutShort`), and the transactions that exceed the peer's
   *   verification budget. It includes transactions that the pool refused because the pool was full. A full pool would
   *   refuse these transactions from every other peer, too.
   */
  async #takeTransactions(peerId: PeerId, transactions: readonly unknown[]): Promise<TakenTransactions> {
    const { clock, pool, penalise, payerOf, cutWasteful } = this.#dependencies;
    const payer = payerOf(peerId);
    const seen: TransactionId[] = [];
    let sliceMs = clock.nowMs();
    for (const json of transactions) {
      if (clock.nowMs() - sliceMs >= SLICE_MS) {
        await new Promise<void>((resolve) => void clock.after(0, resolve));
        if (this.#stopped) return { examined: seen, isCutShort: false };
        sliceMs = clock.nowMs();
      }
      const { accepted, fault, examined } = pool.receive([json], payer);
      seen.push(...examined);
      if (fault !== undefined) {
        penalise(peerId, fault.code, fault.message);
        return { examined: seen, isCutShort: true };
      }
      pool.verifyReceived(accepted, payer);
    }
    cutWasteful(peerId);
    return { examined: seen, isCutShort: false };
  }

  /**
   * Handles the members' signatures in a message of a peer. Adds each signature to the pending transaction that the
   * signature names. Leaves out the remaining signatures in two cases: when the verification budget of the peer is used
   * up, and after a false signature. An honest peer verifies a signature before the peer relays the signature. An
   * attacker can make a false signature without work, but this node needs time to check a signature. After a false
   * signature, the node therefore ignores the sender's signatures for `FALSE_SIGNATURE_PAUSE_MS`. The sender gets no
   * penalty, because two transactions can have the same id. It is possible that the sender is honest and has a
   * different transaction with this id, for which the signature is correct (`peers/penalties.ts`).
   */
  #takeSignatures(peerId: PeerId, signatures: readonly MemberSignature[]): void {
    const { pool, clock, observer, payerOf } = this.#dependencies;
    const payer = payerOf(peerId);
    if (clock.nowMs() < (this.#unreadUntilMs.get(peerId) ?? 0)) return;
    for (const signature of signatures) {
      if (!payer.mayAsk()) return;
      const result = pool.addSignature(signature, payer);
      if (result.accepted) continue;
      observer.log('debug', result.code, 'a signature was refused', { peer: peerId, reason: result.message });
      if (result.code !== 'MEMBER_SIGNATURE_FALSE') continue;
      this.#unreadUntilMs.set(peerId, clock.nowMs() + FALSE_SIGNATURE_PAUSE_MS);
      return;
    }
  }

  /**
   * Runs `work` for a message of a peer. Drops the message if the node already handles `PENDING_PER_PEER_MAX` messages
   * of the peer.
   */
  #bounded(peerId: PeerId, work: () => Promise<unknown>): void {
    const pending = this.#pendingByPeer.get(peerId) ?? 0;
    if (pending >= PENDING_PER_PEER_MAX) {
      const message = 'dropped a message of a peer with too many unfinished messages';
      this.#dependencies.observer.log('debug', 'PEER_BUSY', message, { peer: peerId });
      return;
    }
    this.#pendingByPeer.set(peerId, pending + 1);
    work()
      .catch((error: unknown) => this.#logFailure(peerId, error))
      .finally(() => {
        const left = (this.#pendingByPeer.get(peerId) ?? 1) - 1;
        if (left > 0) this.#pendingByPeer.set(peerId, left);
        else this.#pendingByPeer.delete(peerId);
      });
  }

  #logFailure(peerId: PeerId, error: unknown): void {
    const code = error instanceof ProtocolError ? error.code : 'GOSSIP_FAILED';
    // The level `error` is only for errors of this node. A missing answer of a peer is no error of this node. A failed
    // write to the store is an error of this node, but `DiskWatch` has already logged this error at the level `error`.
    const isOurs = code === 'GOSSIP_FAILED' || (code.startsWith('STORE_') && !LOGGED_BY_DISK_WATCH.has(code));
    this.#dependencies.observer.log(isOurs ? 'error' : 'debug', code, 'could not handle a message', {
      peer: peerId,
      reason: messageOf(error),
    });
  }
}

/**
 * Returns the ids that a peer states in its transactions. Omits values that are not strings, and strings that are too
 * long for an id.
 */
function idsOf(transactions: readonly unknown[]): readonly TransactionId[] {
  return transactions.flatMap((json) => {
    const id: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'id') : undefined;
    return typeof id === 'string' && id.length <= ID_CHARACTERS_MAX ? [id] : [];
  });
}
