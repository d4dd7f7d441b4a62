/**
 * The network of a world: transports that hand messages to one another through virtual time, with delay, loss, duplication
 * and cuts. JSON goes through text, as on a real wire, so that no node ever shares an object with another.
 */

import { ProtocolError } from '../../src/primitives/errors.ts';
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
} from '../../src/ports/transport.ts';
import { PeerFault } from '../../src/ports/transport.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-clock.ts';

/** As the real wire: a dialer waits 2 s for an answer. */
const REQUEST_TIMEOUT_MS = 2000;

/** How a wire treats messages. May change while a world runs. */
export interface LinkQuality {
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
  /** Share of one-way messages that never arrive. */
  readonly loss: number;
  /** Share of one-way messages that arrive twice. */
  readonly duplication: number;
}

export const GOOD_LINK: LinkQuality = { delayMinMs: 5, delayMaxMs: 80, loss: 0, duplication: 0 };

export class Wire {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  quality: LinkQuality = GOOD_LINK;
  readonly #transports = new Map<PeerId, WireTransport>();
  /** Group of each peer during a partition; peers of different groups cannot reach one another. */
  #groups = new Map<PeerId, number>();

  constructor(time: VirtualTime, random: SeededRandom) {
    this.time = time;
    this.random = random;
  }

  transport(address: PeerAddress): WireTransport {
    return new WireTransport(this, address);
  }

  /** Cuts the network into groups; peers that are in none form one more. */
  partition(groups: readonly (readonly PeerId[])[]): void {
    this.#groups = new Map(groups.flatMap((group, index) => group.map((peerId) => [peerId, index] as const)));
  }

  heal(): void {
    this.#groups.clear();
  }

  isReachable(from: PeerId, to: PeerId): boolean {
    return this.#groups.get(from) === this.#groups.get(to) && this.#transports.has(to);
  }

  at(peerId: PeerId): WireTransport | undefined {
    return this.#transports.get(peerId);
  }

  register(transport: WireTransport): void {
    this.#transports.set(transport.peerId, transport);
  }

  unregister(transport: WireTransport): void {
    if (this.#transports.get(transport.peerId) === transport) this.#transports.delete(transport.peerId);
  }

  /** Carries something across, later, or never. */
  carry(from: PeerId, to: PeerId, isLossy: boolean, deliver: (transport: WireTransport) => void): void {
    const { delayMinMs, delayMaxMs, loss, duplication } = this.quality;
    const copies = isLossy ? (this.random.chance(loss) ? 0 : this.random.chance(duplication) ? 2 : 1) : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.time.schedule(this.random.between(delayMinMs, delayMaxMs), () => {
        const transport = this.isReachable(from, to) ? this.#transports.get(to) : undefined;
        if (transport !== undefined) deliver(transport);
      });
    }
  }
}

interface Link {
  readonly direction: 'inbound' | 'outbound';
  readonly sinceMs: number;
  info: PeerInfo;
}

export class WireTransport implements Transport {
  readonly peerId: PeerId;
  readonly #wire: Wire;
  readonly #address: PeerAddress;
  readonly #links = new Map<PeerId, Link>();
  #handlers: TransportHandlers | undefined;
  #info: NodeInfo | undefined;

  constructor(wire: Wire, address: PeerAddress) {
    this.#wire = wire;
    this.#address = address;
    this.peerId = `${address.ip}:${address.wsPort}`;
  }

  start(handlers: TransportHandlers): Promise<void> {
    this.#handlers = handlers;
    this.#wire.register(this);
    return Promise.resolve();
  }

  connect(address: PeerAddress): Promise<PeerId> {
    const to = `${address.ip}:${address.wsPort}`;
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        reject(new ProtocolError('DIAL_FAILED', { code: 1006, reason, peer: to }));
      };
      const timeout = this.#wire.time.schedule(REQUEST_TIMEOUT_MS, () => {
        fail('no answer');
      });
      this.#wire.carry(this.peerId, to, false, (remote) => {
        const refusal = remote.accept(this);
        this.#wire.carry(to, this.peerId, false, () => {
          timeout.cancel();
          if (refusal !== undefined) {
            fail(refusal);
            return;
          }
          this.#open(to, 'outbound', remote.ownInfo());
          resolve(to);
        });
      });
    });
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.#drop(peerId, reason);
    this.#wire.at(peerId)?.dropped(this.peerId, reason);
  }

  connections(): readonly Connection[] {
    return [...this.#links].map(([peerId, link]) => ({
      peerId,
      direction: link.direction,
      info: link.info,
      sinceMs: link.sinceMs,
      latencyMs: undefined,
    }));
  }

  request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        reject(new ProtocolError('REQUEST_FAILED', { peer: peerId, request: request.kind, reason }));
      };
      if (!this.#links.has(peerId)) {
        fail('not connected');
        return;
      }
      const timeout = this.#wire.time.schedule(REQUEST_TIMEOUT_MS, () => {
        fail('no answer in time');
      });
      const question = copyOf(request);
      this.#wire.carry(this.peerId, peerId, false, (remote) => {
        remote.answer(this.peerId, question).then(
          (answer) => {
            const text = copyOf(answer);
            this.#wire.carry(peerId, this.peerId, false, () => {
              timeout.cancel();
              resolve(text as AnswerTo<R>);
            });
          },
          (error: unknown) => {
            this.#wire.carry(peerId, this.peerId, false, () => {
              timeout.cancel();
              fail(String(error));
            });
          },
        );
      });
    });
  }

  send(peerId: PeerId, message: PeerMessage): void {
    if (!this.#links.has(peerId)) return;
    const copy = copyOf(message);
    this.#wire.carry(this.peerId, peerId, true, (remote) => {
      remote.receive(this.peerId, copy);
    });
  }

  announce(info: NodeInfo): void {
    this.#info = info;
    for (const peerId of this.#links.keys()) {
      this.#wire.carry(this.peerId, peerId, true, (remote) => {
        remote.updated(this.peerId, this.ownInfo());
      });
    }
  }

  /** Ends as a process that is killed does: peers notice when the connection breaks. */
  close(): Promise<void> {
    this.#wire.unregister(this);
    for (const peerId of [...this.#links.keys()]) {
      this.#links.delete(peerId);
      this.#wire.at(peerId)?.dropped(this.peerId, { code: 1006, reason: '' });
    }
    return Promise.resolve();
  }

  // ---- the other side -----------------------------------------------------------------------------------------------

  ownInfo(): PeerInfo {
    const info = this.#info;
    return { ...(info === undefined ? {} : info), ip: this.#address.ip, wsPort: this.#address.wsPort };
  }

  /** @returns why the dialer is refused, or undefined */
  accept(dialer: WireTransport): string | undefined {
    if (this.#handlers === undefined) return 'not started';
    if (!this.#handlers.admits(dialer.#address.ip)) return 'banned';
    if (this.#links.has(dialer.peerId)) return 'duplicate connection';
    this.#open(dialer.peerId, 'inbound', dialer.ownInfo());
    return undefined;
  }

  async answer(asker: PeerId, request: PeerRequest): Promise<unknown> {
    if (this.#handlers === undefined) throw new ProtocolError('REQUEST_FAILED', { reason: 'not started' });
    if (request.kind === 'peers') return this.#handlers.peerList(asker);
    try {
      return await this.#handlers.answer(asker, request);
    } catch (error) {
      if (error instanceof PeerFault) this.#handlers.fault(asker, error.fault, error.message);
      throw error;
    }
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (this.#links.has(peerId)) this.#handlers?.message(peerId, message);
  }

  updated(peerId: PeerId, info: PeerInfo): void {
    const link = this.#links.get(peerId);
    if (link === undefined) return;
    link.info = info;
    this.#handlers?.updated(peerId, info);
  }

  dropped(peerId: PeerId, reason: CloseReason): void {
    this.#drop(peerId, reason);
  }

  #open(peerId: PeerId, direction: 'inbound' | 'outbound', info: PeerInfo): void {
    this.#links.set(peerId, { direction, sinceMs: this.#wire.time.nowMs, info });
    this.#handlers?.connected({ peerId, direction, info, sinceMs: this.#wire.time.nowMs, latencyMs: undefined });
  }

  #drop(peerId: PeerId, reason: CloseReason): void {
    const link = this.#links.get(peerId);
    if (link === undefined) return;
    this.#links.delete(peerId);
    this.#handlers?.disconnected(peerId, link.direction, reason);
  }
}

function copyOf<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}
