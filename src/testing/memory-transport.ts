/**
 * Connects nodes in one process. Each message is converted to JSON text and back, as between two machines, and arrives
 * in a later iteration of the event loop. During a partition, messages to nodes of another group do not arrive, and
 * requests to these nodes fail. The connections stay open, just as TCP connections stay open for some time after a
 * cable is cut.
 */

import { ProtocolError } from '../primitives/errors.ts';
import {
  peerIdOf,
  PeerOffence,
  type AnswerTo,
  type CloseReason,
  type Connection,
  type NodeInfo,
  type PeerAddress,
  type PeerId,
  type PeerInfo,
  type PeerMessage,
  type PeerRequest,
  type Transport,
  type TransportHandlers,
} from '../ports/transport.ts';
import type { Clock } from '../ports/clock.ts';

const NOT_LISTENING: CloseReason = { code: 1006, reason: 'no node listens at this address' };
const GONE: CloseReason = { code: 1001, reason: 'the peer has ended' };
/**
 * Maximum time in milliseconds for which a dial waits until the dialled node listens. This time equals the default of
 * `TransportTimeouts.dialMs`, the time limit for a dial over TCP.
 */
const ARRIVAL_MS_MAX = 2000;
const DUPLICATE: CloseReason = { code: 4404, reason: 'connected already' };

export class MemoryNetwork {
  readonly clock: Clock;
  readonly #members = new Map<PeerId, MemoryTransport>();
  /**
   * Callbacks of dials to nodes that do not listen yet. A callback stays in the map until the node listens, even if the
   * dial no longer waits for the node.
   */
  readonly #awaited = new Map<PeerId, readonly (() => void)[]>();
  #groups: ReadonlyMap<PeerId, number> = new Map();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  transport(address: PeerAddress): Transport {
    return new MemoryTransport(this, address);
  }

  partition(groups: readonly (readonly PeerAddress[])[]): void {
    this.#groups = new Map(
      groups.flatMap((group, index) => group.map((address) => [peerIdOf(address), index] as const)),
    );
  }

  /** Ends the partition, so that all nodes can reach one another again. */
  heal(): void {
    this.#groups = new Map();
    for (const member of this.#members.values()) member.sendInfo();
  }

  /**
   * Returns the transport of `to`; undefined if no node listens at `to`, or if the partition separates `from` and `to`.
   */
  reach(from: PeerId, to: PeerId): MemoryTransport | undefined {
    return this.#groups.get(from) === this.#groups.get(to) ? this.#members.get(to) : undefined;
  }

  /** Returns the transport of a peer, regardless of partitions; undefined if the peer does not listen. */
  at(peerId: PeerId): MemoryTransport | undefined {
    return this.#members.get(peerId);
  }

  add(member: MemoryTransport): void {
    this.#members.set(member.peerId, member);
    for (const arrived of this.#awaited.get(member.peerId) ?? []) arrived();
    this.#awaited.delete(member.peerId);
  }

  /**
   * Resolves when the peer listens, or after `ARRIVAL_MS_MAX`. A dial needs this wait because the nodes of one process
   * start one after the other.
   */
  arrival(peerId: PeerId): Promise<void> {
    if (this.#members.has(peerId)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.clock.after(ARRIVAL_MS_MAX, resolve);
      const arrived = (): void => {
        timer.cancel();
        resolve();
      };
      this.#awaited.set(peerId, [...(this.#awaited.get(peerId) ?? []), arrived]);
    });
  }

  remove(member: MemoryTransport): void {
    if (this.#members.get(member.peerId) === member) this.#members.delete(member.peerId);
  }
}

interface Line {
  readonly direction: 'inbound' | 'outbound';
  readonly sinceMs: number;
  info: PeerInfo;
}

class MemoryTransport implements Transport {
  readonly peerId: PeerId;
  readonly #network: MemoryNetwork;
  readonly #address: PeerAddress;
  readonly #lines = new Map<PeerId, Line>();
  #handlers: TransportHandlers | undefined;
  #info: NodeInfo | undefined;

  constructor(network: MemoryNetwork, address: PeerAddress) {
    this.#network = network;
    this.#address = address;
    this.peerId = peerIdOf(address);
  }

  async start(handlers: TransportHandlers): Promise<void> {
    this.#handlers = handlers;
    this.#network.add(this);
  }

  async connect(address: PeerAddress): Promise<PeerId> {
    await this.#network.arrival(peerIdOf(address));
    await yieldToEventLoop();
    const remote = this.#network.reach(this.peerId, peerIdOf(address));
    const refusal = this.#handlers === undefined ? GONE : remote === undefined ? NOT_LISTENING : remote.accept(this);
    if (remote === undefined || refusal !== undefined) {
      throw new ProtocolError('DIAL_FAILED', { ...(refusal ?? NOT_LISTENING), peer: peerIdOf(address) });
    }
    this.#open(remote.peerId, 'outbound', remote.ownInfo());
    return remote.peerId;
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.drop(peerId, reason);
    setImmediate(() => this.#network.at(peerId)?.drop(this.peerId, reason));
  }

  connections(): readonly Connection[] {
    return [...this.#lines].map(([peerId, line]) => ({ ...line, peerId, latencyMs: undefined }));
  }

  async request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    const sent = copyOf(request);
    await yieldToEventLoop();
    const remote = this.#lines.has(peerId) ? this.#network.reach(this.peerId, peerId) : undefined;
    const fail = (reason: string): ProtocolError =>
      new ProtocolError('REQUEST_FAILED', { peer: peerId, request: request.kind, reason });
    if (remote === undefined) throw fail('no answer');
    let answer: unknown;
    try {
      answer = copyOf(await remote.answer(this.peerId, sent));
    } catch (error) {
      throw fail(String(error));
    }
    await yieldToEventLoop();
    if (this.#network.reach(this.peerId, peerId) === undefined || this.#handlers === undefined) throw fail('no answer');
    return answer as AnswerTo<R>;
  }

  send(peerId: PeerId, message: PeerMessage): void {
    if (!this.#lines.has(peerId)) return;
    const copy = copyOf(message);
    setImmediate(() => this.#network.reach(this.peerId, peerId)?.receive(this.peerId, copy));
  }

  announce(info: NodeInfo): void {
    this.#info = info;
    this.sendInfo();
  }

  /**
   * Sends the present `NodeInfo` and the address of this node to all connected nodes. During a partition, only the
   * connected nodes in the group of this node get the data.
   */
  sendInfo(): void {
    const info = this.ownInfo();
    for (const peerId of this.#lines.keys()) {
      setImmediate(() => this.#network.reach(this.peerId, peerId)?.updated(this.peerId, info));
    }
  }

  async close(): Promise<void> {
    this.#network.remove(this);
    this.#handlers = undefined;
    for (const peerId of this.#lines.keys()) this.#network.at(peerId)?.drop(this.peerId, GONE);
    this.#lines.clear();
  }

  ownInfo(): PeerInfo {
    return { ...this.#info, ...this.#address };
  }

  accept(dialer: MemoryTransport): CloseReason | undefined {
    if (this.#handlers?.admits(dialer.#address.ip) !== true) return NOT_LISTENING;
    // Two nodes share one connection. If two nodes dial each other at the same time, the second dial is therefore
    // refused. If the dialling node has already lost the shared connection, the dial is not refused.
    if (this.#lines.has(dialer.peerId)) return dialer.#lines.has(this.peerId) ? DUPLICATE : undefined;
    this.#open(dialer.peerId, 'inbound', dialer.ownInfo());
    return undefined;
  }

  async answer(asker: PeerId, request: PeerRequest): Promise<unknown> {
    try {
      return await this.#handlers?.answer(asker, request);
    } catch (error) {
      if (error instanceof PeerOffence) this.#handlers?.offence(asker, error.offence, error.message);
      throw error;
    }
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (this.#lines.has(peerId)) this.#handlers?.message(peerId, message);
  }

  updated(peerId: PeerId, info: PeerInfo): void {
    const line = this.#lines.get(peerId);
    if (line === undefined) return;
    line.info = info;
    this.#handlers?.updated(peerId, info);
  }

  #open(peerId: PeerId, direction: Line['direction'], info: PeerInfo): void {
    if (this.#lines.has(peerId) || this.#handlers === undefined) return;
    const sinceMs = this.#network.clock.nowMs();
    this.#lines.set(peerId, { direction, sinceMs, info });
    this.#handlers.connected({ peerId, direction, info, sinceMs, latencyMs: undefined });
  }

  drop(peerId: PeerId, reason: CloseReason): void {
    const line = this.#lines.get(peerId);
    if (line === undefined) return;
    this.#lines.delete(peerId);
    this.#handlers?.disconnected(peerId, line.direction, reason);
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function copyOf<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}
