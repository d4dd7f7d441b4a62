/**
 * The transport of a devnet node whose links can be cut, slow or lossy. Only the agent of a devnet node
 * (`node-agent.ts`) creates this transport. `bloomery start` does not even load this file.
 *
 * Both nodes of a link get the faults of the link (`set`). The sender applies the faults to each message and each
 * request. The node that receives an answer applies the faults to this answer. The receiving node also applies the
 * faults to the information that a peer sends about itself. The sender cannot apply faults to this information, because
 * one call of `announce` sends the information to all peers. The faults do not affect heartbeats and measurements of
 * latency, so connections stay open. A dial fails if the link is cut, and is delayed if the link is slow.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import { REQUEST_TIMEOUT_MS } from '../../ports/rates.ts';
import type {
  AnswerTo,
  CloseReason,
  Connection,
  NodeInfo,
  PeerAddress,
  PeerId,
  PeerInfo,
  PeerMessage,
  PeerRequest,
  Transport,
  TransportHandlers,
} from '../../ports/transport.ts';
import { DelayLine } from './delay-line.ts';
import type { LinkFaults, NodeFaults } from './faults.ts';

export interface FaultyTransportOptions {
  /** The wrapped transport, which has no simulated faults. */
  readonly over: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly links: NodeFaults['links'];
}

const NONE: LinkFaults = { isCut: false, delayMs: 0, loss: 0 };
const CUT: CloseReason = { code: 1006, reason: 'the devnet has cut this link' };
/**
 * Maximum number of delayed messages of one link in one direction; further messages are dropped. With one block in each
 * slot, a node sends fewer messages than this maximum during the longest delay (`DELAY_MS_MAX`).
 */
const WAITING_MAX = 2_000;

interface PendingRequest {
  fail(reason: string): void;
  /**
   * Starts the time limit for the answer. Until `limit` is called, only the timeout of the wrapped transport applies to
   * the request.
   */
  limit(): void;
}

/** State of the link between this node and a peer. */
interface Line {
  readonly outgoing: DelayLine;
  readonly incoming: DelayLine;
  /** Requests of this node to the peer that wait for an answer. */
  readonly asked: Set<PendingRequest>;
  /**
   * Last information that the peer sent about itself. If a fault dropped this information, the engine of this node (the
   * code that uses this transport) has not received the information.
   */
  latest: PeerInfo | undefined;
  /**
   * Last information that the peer sent about itself and that no fault dropped. The engine of this node has received
   * this information, or waits for it during the delay of the link. If the link is cut at the end of the delay, the
   * information is dropped, and this member becomes undefined.
   */
  delivered: PeerInfo | undefined;
}

export class FaultyTransport implements Transport {
  readonly #options: FaultyTransportOptions;
  readonly #lines = new Map<PeerId, Line>();
  #faults: ReadonlyMap<number, LinkFaults>;
  #handlers: TransportHandlers | undefined;

  constructor(options: FaultyTransportOptions) {
    this.#options = options;
    this.#faults = byPort(options.links);
  }

  /**
   * Replaces the faults. For each peer, `Line.latest` keeps the latest information that the peer sent about itself. If
   * the old faults dropped this information, and the link to the peer is now neither cut nor lossy, this method passes
   * the kept information to the engine (the code that uses this transport). The engine receives the information after
   * the delay of the link.
   */
  set(links: NodeFaults['links']): void {
    this.#faults = byPort(links);
    for (const [peerId, line] of this.#lines) {
      // If a link has faults now, answers to open requests can be lost, so these requests need a time limit.
      if (this.#faultsOf(peerId) !== NONE) for (const pending of line.asked) pending.limit();
      if (line.latest !== line.delivered && this.#faultsOf(peerId).loss === 0) this.#deliver(peerId, line);
    }
  }

  start(handlers: TransportHandlers): Promise<void> {
    this.#handlers = handlers;
    return this.#options.over.start({
      answer: (peerId, request) => handlers.answer(peerId, request),
      message: (peerId, message) => {
        // A peer that does not know yet that the link is cut can still send messages. The transport of this node drops
        // these messages.
        if (!this.#faultsOf(peerId).isCut) handlers.message(peerId, message);
      },
      connected: (connection) => handlers.connected(connection),
      disconnected: (peerId, direction, reason) => {
        this.#forget(peerId, reason.reason);
        handlers.disconnected(peerId, direction, reason);
      },
      updated: (peerId, info) => this.#updated(peerId, info),
      offence: (peerId, offence, detail) => handlers.offence(peerId, offence, detail),
      admits: (ip) => handlers.admits(ip),
      isNamed: (ip) => handlers.isNamed?.(ip) ?? false,
      evict: (inbound) => handlers.evict(inbound),
    });
  }

  async connect(address: PeerAddress): Promise<PeerId> {
    const refuseCut = (): void => {
      if (!(this.#faults.get(address.wsPort)?.isCut ?? false)) return;
      throw new ProtocolError('DIAL_FAILED', { peerId: `${address.ip}:${address.wsPort}`, ...CUT });
    };
    refuseCut();
    const { delayMs } = this.#faults.get(address.wsPort) ?? NONE;
    if (delayMs > 0) {
      // A dial consists of a request and an answer, and the link delays each of the two.
      await new Promise<void>((resolve) => void this.#options.clock.after(2 * delayMs, resolve));
      refuseCut();
    }
    return this.#options.over.connect(address);
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.#options.over.disconnect(peerId, reason);
  }

  connections(): readonly Connection[] {
    return this.#options.over.connections();
  }

  request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    const { over, clock } = this.#options;
    if (!this.#isConnected(peerId)) return over.request(peerId, request);
    const line = this.#lineOf(peerId);
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const settled = (): void => {
        line.asked.delete(pending);
        timer?.cancel();
      };
      const pending: PendingRequest = {
        fail: (reason) => {
          settled();
          reject(new ProtocolError('REQUEST_FAILED', { peerId, request: request.kind, reason }));
        },
        limit: () => {
          timer ??= clock.after(REQUEST_TIMEOUT_MS, () => pending.fail('no answer'));
        },
      };
      line.asked.add(pending);
      if (this.#faultsOf(peerId) !== NONE) pending.limit();
      const arrived = (settle: () => void): void => {
        if (!line.asked.has(pending)) return;
        this.#cross(peerId, line.incoming, () => {
          if (!line.asked.has(pending)) return;
          settled();
          settle();
        });
      };
      this.#cross(peerId, line.outgoing, () => {
        if (!line.asked.has(pending)) return;
        over.request(peerId, request).then(
          (answer) => arrived(() => resolve(answer)),
          (error: Error) => arrived(() => reject(error)),
        );
      });
    });
  }

  send(peerId: PeerId, message: PeerMessage): void {
    if (!this.#isConnected(peerId)) return;
    this.#cross(peerId, this.#lineOf(peerId).outgoing, () => this.#options.over.send(peerId, message));
  }

  announce(info: NodeInfo): void {
    this.#options.over.announce(info);
  }

  async close(): Promise<void> {
    for (const peerId of [...this.#lines.keys()]) this.#forget(peerId, 'the transport is closed');
    await this.#options.over.close();
  }

  /**
   * Calls `work` after the delay of the link. The function never calls `work` if the link loses the message, if the
   * link is cut at the beginning or the end of the delay, or if `WAITING_MAX` messages already wait.
   */
  #cross(peerId: PeerId, line: DelayLine, work: () => void): void {
    const { isCut, delayMs, loss } = this.#faultsOf(peerId);
    if (isCut || this.#isLost(loss)) return;
    line.push(delayMs, () => {
      if (!this.#faultsOf(peerId).isCut) work();
    });
  }

  #updated(peerId: PeerId, info: PeerInfo): void {
    const line = this.#lineOf(peerId);
    line.latest = info;
    this.#deliver(peerId, line);
  }

  #deliver(peerId: PeerId, line: Line): void {
    const { latest } = line;
    const { isCut, delayMs, loss } = this.#faultsOf(peerId);
    if (latest === undefined || isCut || this.#isLost(loss)) return;
    line.delivered = latest;
    line.incoming.push(delayMs, () => {
      const hasArrived = !this.#faultsOf(peerId).isCut;
      line.delivered = hasArrived ? latest : undefined;
      if (hasArrived) this.#handlers?.updated(peerId, latest);
    });
  }

  #isLost(loss: number): boolean {
    return loss > 0 && this.#options.random.fraction() < loss;
  }

  #faultsOf(peerId: PeerId): LinkFaults {
    return this.#faults.get(Number(peerId.slice(peerId.lastIndexOf(':') + 1))) ?? NONE;
  }

  #isConnected(peerId: PeerId): boolean {
    return this.#options.over.connections().some((connection) => connection.peerId === peerId);
  }

  #lineOf(peerId: PeerId): Line {
    const known = this.#lines.get(peerId);
    if (known !== undefined) return known;
    const { clock } = this.#options;
    const line: Line = {
      outgoing: new DelayLine(clock, WAITING_MAX),
      incoming: new DelayLine(clock, WAITING_MAX),
      asked: new Set(),
      latest: undefined,
      delivered: undefined,
    };
    this.#lines.set(peerId, line);
    return line;
  }

  /** Drops the delayed messages of a disconnected peer, and lets the open requests to this peer fail. */
  #forget(peerId: PeerId, reason: string): void {
    const line = this.#lines.get(peerId);
    if (line === undefined) return;
    this.#lines.delete(peerId);
    line.outgoing.clear();
    line.incoming.clear();
    for (const pending of [...line.asked]) pending.fail(reason);
  }
}

function byPort(links: NodeFaults['links']): ReadonlyMap<number, LinkFaults> {
  return new Map(links.map(({ wsPort, ...faults }) => [wsPort, faults]));
}
