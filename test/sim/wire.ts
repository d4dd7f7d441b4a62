/**
 * The simulated network (the wire) of a `World`. Its transports exchange messages in virtual time, with delay, loss,
 * duplication and partitions. The wire converts each request, each answer and each message of `send` to JSON and back,
 * and freezes the result. The receiver therefore cannot change the object of the sender. Node infos are not converted.
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
import { PeerOffence } from '../../src/ports/transport.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-clock.ts';
import type { UseVerdict } from '../../src/p2p/receive-limits.ts';
import { WireRates } from './wire-rates.ts';
import type { Generation } from '../../src/protocol/params.ts';

/**
 * Time in milliseconds after which a dial or a request without an answer fails. In the real transport
 * (`src/p2p/transport.ts`), a dial fails after the same time, but a request fails after 10 s.
 */
const REQUEST_TIMEOUT_MS = 2000;
/**
 * As in the real transport, a connection breaks some time after its peer has become unreachable. This time is random,
 * from `SILENCE_MS` to twice `SILENCE_MS`.
 */
const SILENCE_MS = 20_000;

const BROKEN: CloseReason = { code: 1006, reason: '' };
const DUPLICATE: CloseReason = { code: 4404, reason: 'Peer has a duplicate connection' };
const FORBIDDEN: CloseReason = { code: 4403, reason: 'Peer is not allowed to connect' };

/**
 * Quality of all links of a wire. The delay applies to everything that peers send. Loss, duplication and lateness apply
 * only to one-way messages. One-way messages are the messages that nobody answers: those of `send`, and the node infos
 * of `announce`. The values may change while a world runs.
 */
export interface LinkQuality {
  readonly delayMinMs: number;
  /**
   * The delay of each message is a random time between the minimum and the maximum. For one-way messages, the delay of
   * a slow peer (`Wire.messageDelaysMs`) and the time of a late message are added. If delays differ, messages can
   * overtake each other.
   */
  readonly delayMaxMs: number;
  /** Share of one-way messages that never arrive. */
  readonly loss: number;
  /** Share of one-way messages that arrive twice. */
  readonly duplication: number;
  /** Share of one-way messages that arrive up to half a minute late. */
  readonly lateness: number;
}

export const GOOD_LINK: LinkQuality = { delayMinMs: 5, delayMaxMs: 80, loss: 0, duplication: 0, lateness: 0 };

const LATE_MS_MAX = 30_000;

export class Wire {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  quality: LinkQuality = GOOD_LINK;
  /** The peers that no one-way message reaches. */
  readonly deaf = new Set<PeerId>();
  /** For each slow peer, the additional delay in milliseconds of the one-way messages that the peer sends. */
  readonly messageDelaysMs = new Map<PeerId, number>();
  readonly rates: WireRates;
  readonly #transports = new Map<PeerId, WireTransport>();
  /** Group of each peer during a partition. Peers of different groups cannot reach each other. */
  #groups = new Map<PeerId, number>();
  #cuts = 0;

  constructor(time: VirtualTime, random: SeededRandom, generation: Generation = 3) {
    this.rates = new WireRates(generation);
    this.time = time;
    this.random = random;
  }

  transport(address: PeerAddress): WireTransport {
    return new WireTransport(this, address);
  }

  /**
   * Splits the network into groups. Peers without a group form one more group. After a random time of 20 to 40 s, the
   * connections between the groups break if the partition still lasts.
   */
  partition(groups: readonly (readonly PeerId[])[]): void {
    this.#groups = new Map(groups.flatMap((group, index) => group.map((peerId) => [peerId, index] as const)));
    this.#cuts += 1;
    const cut = this.#cuts;
    this.time.schedule(SILENCE_MS + this.random.below(SILENCE_MS), () => {
      if (this.#cuts !== cut) return;
      for (const transport of [...this.#transports.values()]) transport.breakUnreachable();
    });
  }

  heal(): void {
    this.#groups.clear();
    this.#cuts += 1;
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

  /**
   * Delivers a message to the peer `to` after a delay, if the peer is reachable at that time. If `isLossy` is true, the
   * message may arrive late, or twice, or never.
   */
  carry(from: PeerId, to: PeerId, isLossy: boolean, deliver: (transport: WireTransport) => void): void {
    const { delayMinMs, delayMaxMs, loss, duplication, lateness } = this.quality;
    const slowMs = isLossy ? (this.messageDelaysMs.get(from) ?? 0) : 0;
    if (isLossy && this.deaf.has(to)) return;
    const copies = isLossy ? (this.random.chance(loss) ? 0 : this.random.chance(duplication) ? 2 : 1) : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const lateMs = isLossy && this.random.chance(lateness) ? this.random.below(LATE_MS_MAX) : 0;
      this.time.schedule(this.random.between(delayMinMs, delayMaxMs) + slowMs + lateMs, () => {
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
  /** Cached list of connections, because the engine reads the list far more often than the list changes. */
  #connections: readonly Connection[] | undefined;
  #handlers: TransportHandlers | undefined;
  #info: NodeInfo | undefined;
  #isDead = false;

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
      const fail = ({ code, reason }: CloseReason) => {
        if (!this.#isDead) reject(new ProtocolError('DIAL_FAILED', { code, reason, peer: to }));
      };
      const timeout = this.#wire.time.schedule(REQUEST_TIMEOUT_MS, () => {
        fail({ code: 1006, reason: 'no answer' });
      });
      this.#wire.carry(this.peerId, to, false, (remote) => {
        const refusal = remote.accept(this);
        this.#wire.carry(to, this.peerId, false, () => {
          timeout.cancel();
          if (this.#isDead) return;
          if (refusal !== undefined) fail(refusal);
          else if (!remote.isLinkedTo(this.peerId)) fail(BROKEN);
          else {
            this.#open(to, 'outbound', remote.ownInfo());
            resolve(to);
          }
        });
      });
    });
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.#drop(peerId, reason);
    this.#wire.at(peerId)?.dropped(this.peerId, reason);
  }

  connections(): readonly Connection[] {
    this.#connections ??= [...this.#links].map(([peerId, link]) => ({
      peerId,
      direction: link.direction,
      info: link.info,
      sinceMs: link.sinceMs,
      latencyMs: undefined,
    }));
    return this.#connections;
  }

  request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    return new Promise((resolve, reject) => {
      // A dead process receives nothing any more, not even the failure of a request.
      if (this.#isDead) return;
      const fail = (reason: string) => {
        timeout?.cancel();
        if (this.#isDead) return;
        reject(new ProtocolError('REQUEST_FAILED', { peer: peerId, request: request.kind, reason }));
      };
      const timeout = this.#links.has(peerId)
        ? this.#wire.time.schedule(REQUEST_TIMEOUT_MS, () => {
            fail('no answer in time');
          })
        : undefined;
      if (timeout === undefined) {
        fail('not connected');
        return;
      }
      const sent = copyOf(request);
      const reply = (deliver: () => void) => {
        this.#wire.carry(peerId, this.peerId, false, deliver);
      };
      this.#wire.carry(this.peerId, peerId, false, (remote) => {
        remote.answer(this.peerId, sent).then(
          (answer) => {
            const text = copyOf(answer);
            reply(() => {
              timeout.cancel();
              if (!this.#isDead) resolve(text as AnswerTo<R>);
            });
          },
          (error: unknown) => {
            reply(() => {
              fail(String(error));
            });
          },
        );
      });
    });
  }

  send(peerId: PeerId, message: PeerMessage): void {
    if (!this.#links.has(peerId)) return;
    const copy = copyOfMessage(message);
    this.#wire.carry(this.peerId, peerId, true, (remote) => {
      remote.receive(this.peerId, copy);
    });
  }

  announce(info: NodeInfo): void {
    this.#info = info;
    const own = this.ownInfo();
    for (const peerId of this.#links.keys()) {
      this.#wire.carry(this.peerId, peerId, true, (remote) => {
        remote.updated(this.peerId, own);
      });
    }
  }

  close(): Promise<void> {
    this.die(0);
    return Promise.resolve();
  }

  /**
   * Ends the transport as if its process was killed. Peers notice this when their connections break.
   *
   * @param noticedAfterMs time until the connections break: 0 simulates a machine that keeps running and closes the
   *   connections of the process; a longer time simulates a machine that fails together with the process
   */
  die(noticedAfterMs: number): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#wire.unregister(this);
    const peers = [...this.#links.keys()];
    this.#links.clear();
    this.#connections = undefined;
    const notice = (): void => {
      for (const peerId of peers) {
        const peer = this.#wire.at(peerId);
        // If a new process already runs at this address, the peer possibly has a connection to the new process. The
        // peer must keep this connection, so `dropped` must not be called.
        if (this.#wire.at(this.peerId)?.isLinkedTo(peerId) !== true) peer?.dropped(this.peerId, BROKEN);
      }
    };
    if (noticedAfterMs === 0) notice();
    else this.#wire.time.schedule(noticedAfterMs, notice);
  }

  // ---- called by the wire and by the transports of other peers ------------------------------------------------------

  ownInfo(): PeerInfo {
    return { ...this.#info, ip: this.#address.ip, wsPort: this.#address.wsPort };
  }

  isLinkedTo(peerId: PeerId): boolean {
    return this.#links.has(peerId);
  }

  /** @returns why the dialling peer is refused; undefined if it is accepted */
  accept(dialer: WireTransport): CloseReason | undefined {
    if (this.#handlers === undefined) return BROKEN;
    if (!this.#handlers.admits(dialer.#address.ip)) return FORBIDDEN;
    if (this.#links.has(dialer.peerId)) {
      if (dialer.isLinkedTo(this.peerId)) return DUPLICATE;
      // The dialling peer has lost its earlier connection to this transport, but this transport has not noticed the
      // loss.
      this.#drop(dialer.peerId, BROKEN);
    }
    this.#open(dialer.peerId, 'inbound', dialer.ownInfo());
    return undefined;
  }

  async answer(asker: PeerId, request: PeerRequest): Promise<unknown> {
    if (this.#handlers === undefined) throw new ProtocolError('REQUEST_FAILED', { reason: 'not started' });
    const verdict = this.#wire.rates.request(asker, this.peerId, request, this.#wire.time.nowMs);
    // Requests above the rate limit get no answer.
    if (!this.#isTaken(asker, request.kind, verdict)) return new Promise(() => undefined);
    try {
      return await this.#handlers.answer(asker, request);
    } catch (error) {
      if (error instanceof PeerOffence) this.#handlers.offence(asker, error.offence, error.message);
      throw error;
    }
  }

  receive(peerId: PeerId, message: PeerMessage): void {
    if (!this.#links.has(peerId)) return;
    const verdict = this.#wire.rates.message(peerId, this.peerId, message, this.#wire.time.nowMs);
    if (this.#isTaken(peerId, message.kind, verdict)) this.#handlers?.message(peerId, message);
  }

  #isTaken(peerId: PeerId, kind: string, verdict: UseVerdict): boolean {
    if (verdict === 'penalised') this.#handlers?.offence(peerId, 'PROCEDURE_RATE', kind);
    return verdict === 'taken';
  }

  updated(peerId: PeerId, info: PeerInfo): void {
    const link = this.#links.get(peerId);
    if (link === undefined) return;
    const verdict = this.#wire.rates.info(peerId, this.peerId, this.#wire.time.nowMs);
    if (!this.#isTaken(peerId, 'info', verdict)) return;
    link.info = info;
    this.#connections = undefined;
    this.#handlers?.updated(peerId, info);
  }

  dropped(peerId: PeerId, reason: CloseReason): void {
    this.#drop(peerId, reason);
  }

  breakUnreachable(): void {
    for (const peerId of [...this.#links.keys()]) {
      if (!this.#wire.isReachable(this.peerId, peerId)) this.#drop(peerId, BROKEN);
    }
  }

  #open(peerId: PeerId, direction: 'inbound' | 'outbound', info: PeerInfo): void {
    // Two peers may dial each other at the same time, but keep only one connection.
    if (this.#links.has(peerId)) return;
    this.#links.set(peerId, { direction, sinceMs: this.#wire.time.nowMs, info });
    this.#connections = undefined;
    this.#handlers?.connected({ peerId, direction, info, sinceMs: this.#wire.time.nowMs, latencyMs: undefined });
  }

  #drop(peerId: PeerId, reason: CloseReason): void {
    const link = this.#links.get(peerId);
    if (link === undefined) return;
    this.#links.delete(peerId);
    this.#connections = undefined;
    this.#handlers?.disconnected(peerId, link.direction, reason);
  }
}

const copiedBlocks = new WeakMap<object, unknown>();

/** A node sends the same block object to many peers, so this function makes the copy of a block only once. */
function copyOfMessage(message: PeerMessage): PeerMessage {
  if (message.kind !== 'block' || typeof message.block !== 'object' || message.block === null) return copyOf(message);
  let copy = copiedBlocks.get(message.block);
  if (copy === undefined) copiedBlocks.set(message.block, (copy = copyOf(message.block)));
  return { kind: 'block', block: copy };
}

function copyOf<T>(value: T): T {
  return value === undefined ? value : (frozen(JSON.parse(JSON.stringify(value))) as T);
}

function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
