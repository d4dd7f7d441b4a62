/** A clock that the test advances, random numbers from a seed, and a transport without sockets. */

import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { Clock, Random } from '../../../src/ports/clock.ts';
import type {
  AnswerTo,
  CloseReason,
  Connection,
  PeerAddress,
  PeerId,
  PeerInfo,
  PeerRequest,
  Transport,
  TransportHandlers,
} from '../../../src/ports/transport.ts';

export class FakeClock implements Clock {
  #nowMs = 1_700_000_000_000;
  #timers: { dueMs: number; work: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, work: () => void): { cancel: () => void } {
    const timer = { dueMs: this.#nowMs + delayMs, work };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  get waiting(): number {
    return this.#timers.length;
  }

  /** Advances the time. All due timers run in order, including timers that other timers start. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (let step = 0; step < 100_000; step += 1) {
      await settle();
      const next = this.#timers.filter(({ dueMs }) => dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.work();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Runs the waiting callbacks of promises, and then the callbacks that these have triggered, for 20 passes in all. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Returns a generator of pseudorandom numbers (mulberry32). The same seed always gives the same numbers. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    fraction,
    below: (below) => Math.floor(fraction() * below),
    bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(fraction() * 256)),
  };
}

export function address(peerId: PeerId): PeerAddress {
  const [ip = '', port = ''] = peerId.split(':');
  return { ip, wsPort: Number(port) };
}

export function connection(peerId: PeerId, changes: Partial<Connection> = {}): Connection {
  return { peerId, direction: 'inbound', info: address(peerId), sinceMs: 0, latencyMs: undefined, ...changes };
}

/**
 * A transport without sockets. A dial fails if the peer is already connected, is in `failures`, or is not in
 * `reachable`.
 */
export class FakeTransport implements Transport {
  readonly reachable = new Set<PeerId>();
  readonly failures = new Map<PeerId, CloseReason>();
  readonly lists = new Map<PeerId, readonly PeerInfo[]>();
  readonly dials: PeerId[] = [];
  readonly asked: PeerId[] = [];
  readonly closed: { peerId: PeerId; reason: CloseReason }[] = [];
  handlers: TransportHandlers | undefined;
  isClosed = false;
  #open: Connection[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(handlers: TransportHandlers): Promise<void> {
    this.handlers = handlers;
    return Promise.resolve();
  }

  async connect(peer: PeerAddress): Promise<PeerId> {
    const peerId = `${peer.ip}:${String(peer.wsPort)}`;
    this.dials.push(peerId);
    await Promise.resolve();
    const failure = this.#open.some((open) => open.peerId === peerId)
      ? { code: 4404, reason: 'Peer has a duplicate connection' }
      : (this.failures.get(peerId) ??
        (this.reachable.has(peerId) ? undefined : { code: 1006, reason: 'connect ECONNREFUSED' }));
    if (failure !== undefined) throw new ProtocolError('DIAL_FAILED', { peerId, ...failure });
    this.join(peerId, 'outbound');
    return peerId;
  }

  /** Opens a connection. */
  join(peerId: PeerId, direction: 'inbound' | 'outbound', info: Partial<PeerInfo> = {}): void {
    const whole = { ...address(peerId), version: '3.0.2', height: 5, ...info };
    const opened = connection(peerId, { direction, info: whole, sinceMs: this.#clock.nowMs() });
    this.#open.push(opened);
    this.handlers?.connected(opened);
  }

  /** Closes a connection. */
  leave(peerId: PeerId, reason: CloseReason = { code: 1006, reason: '' }): void {
    const left = this.#open.find((open) => open.peerId === peerId);
    this.#open = this.#open.filter((open) => open !== left);
    if (left !== undefined) this.handlers?.disconnected(peerId, left.direction, reason);
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.closed.push({ peerId, reason });
    this.leave(peerId, reason);
  }

  connections(): readonly Connection[] {
    return this.#open;
  }

  async request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    await Promise.resolve();
    if (request.kind !== 'peers') throw new ProtocolError('REQUEST_FAILED', { peerId, reason: 'not here' });
    this.asked.push(peerId);
    const list: unknown = this.lists.get(peerId) ?? [];
    return list as AnswerTo<R>;
  }

  send(): void {
    // Does nothing, because `PeerManager` never calls this method.
  }

  announce(): void {
    // Does nothing, because `PeerManager` never calls this method.
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
