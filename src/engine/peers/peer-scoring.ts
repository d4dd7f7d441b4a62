/**
 * Applies the penalties for offences. A peer that commits an offence loses points of its reputation. Named peers lose
 * points only for the offences in `NEVER_EXEMPT`. When a peer has 0 points, the node bans the IP address of the peer.
 * The ban applies to all peers at that address. There is one exception: if the operator named a peer at the address,
 * the node only disconnects the offending peer.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { CloseReason, PeerOffenceCode, PeerId, Transport } from '../../ports/transport.ts';
import { ipOf } from './addresses.ts';
import type { PeerBook } from './book.ts';
import { BAN_MS, pointsOf, REPUTATION_FULL } from './penalties.ts';

/** Close code and reason for a peer whose address is banned or blacklisted, or that has no points left. */
export const FORBIDDEN: CloseReason = { code: 4403, reason: 'Peer is not allowed to connect' };

/**
 * Close code and reason for a peer that `PeerScoring.cutWasteful` disconnects. Nodes of lisk-sdk do not know the code
 * 4429, and therefore dial this node again.
 */
const WASTEFUL: CloseReason = { code: 4429, reason: 'Too many signatures to verify' };

/** Offences for which even named peers lose points, because these offences endanger the node. */
const NEVER_EXEMPT: ReadonlySet<PeerOffenceCode> = new Set([
  'MESSAGE_RATE',
  'MESSAGE_FLOOD',
  'MALFORMED_PEER_LIST',
  'INFO_TOO_LARGE',
]);
export const REPUTATIONS_MAX = 5_000;
/**
 * Minimum time in milliseconds between two log lines about the same offence of the same named peer. The node keeps the
 * connection to a named peer, so the peer can repeat the offence with each message.
 */
export const EXEMPT_LOG_INTERVAL_MS = 60_000;
/**
 * Maximum number of remembered log lines. The node remembers the last log line for each pair of a named peer and an
 * offence.
 */
const EXEMPT_OFFENCES_MAX = 500;
/**
 * Maximum number of characters in the text that describes an offence (`detail`). The length is limited because the text
 * can contain words that the peer sent. The node stores the text of a ban until the ban ends.
 */
const DETAIL_CHARACTERS_MAX = 300;

export interface PeerScoringDependencies {
  readonly transport: Pick<Transport, 'connections' | 'disconnect'>;
  readonly book: Pick<PeerBook, 'ban'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Observer;
  /** Returns the named peers. */
  readonly named: () => readonly PeerId[];
  /**
   * Called at each ban. The peer manager then saves the peer book, so that the ban also applies after a restart of the
   * node.
   */
  readonly banned: () => void;
}

export class PeerScoring {
  readonly #dependencies: PeerScoringDependencies;
  readonly #reputations = new LruMap<PeerId, number>(REPUTATIONS_MAX);
  /**
   * Time of the last log line about an offence of a named peer, and the number of times that the peer has repeated the
   * offence after this log line. The key consists of the id of the peer and the code of the offence.
   */
  readonly #exempt = new LruMap<string, { loggedAtMs: number; repeated: number }>(EXEMPT_OFFENCES_MAX);

  constructor(dependencies: PeerScoringDependencies) {
    this.#dependencies = dependencies;
  }

  reputationOf(peerId: PeerId): number {
    return this.#reputations.get(peerId) ?? REPUTATION_FULL;
  }

  /**
   * Gives a peer the penalty for an offence that the transport detected. Named peers lose points only for the offences
   * in `NEVER_EXEMPT`.
   */
  report(peerId: PeerId, offence: PeerOffenceCode, detail: string): void {
    if (NEVER_EXEMPT.has(offence)) this.#deductPoints(peerId, offence, detail.slice(0, DETAIL_CHARACTERS_MAX));
    else this.penalise(peerId, offence, detail);
  }

  /**
   * Gives a peer the penalty for an offence that is not in `NEVER_EXEMPT`. Named peers lose no points for such an
   * offence: the node only logs a warning. The node logs at most one warning about the same peer and offence in
   * `EXEMPT_LOG_INTERVAL_MS`.
   *
   * @param code any rejection code; a code that is not an offence costs no points
   */
  penalise(peerId: PeerId, code: string, description: string): void {
    const detail = description.slice(0, DETAIL_CHARACTERS_MAX);
    if (!this.#dependencies.named().includes(peerId)) this.#deductPoints(peerId, code, detail);
    else if (pointsOf(code) > 0) this.#logExempt(peerId, code, detail);
  }

  /**
   * Disconnects a peer that sent too many useless signatures: the node has spent too much time on checking signatures
   * from the peer's address since this address last sent a valid transaction or signature
   * (`VerificationBudget.isWasteful`). Named peers stay connected. The peer loses no points, because even an honest
   * node of lisk-sdk can relay a copy of a multisignature transaction with false members' signatures. The id of a
   * transaction does not cover the members' signatures.
   */
  cutWasteful(peerId: PeerId): void {
    const { named, observer, transport } = this.#dependencies;
    if (named().includes(peerId)) return;
    observer.log('warn', 'PEER_WASTEFUL', 'A peer sent too many useless signatures', { peer: peerId });
    transport.disconnect(peerId, WASTEFUL);
  }

  /**
   * Disconnects every peer at an IP address, and refuses connections from the address until the ban ends.
   *
   * @param durationMs duration of the ban in milliseconds; a day by default
   */
  ban(ip: string, reason: string, durationMs = BAN_MS): void {
    const { book, clock, observer, transport, banned } = this.#dependencies;
    book.ban(ip, clock.nowMs() + durationMs, reason);
    banned();
    observer.count('peers_banned_total');
    observer.log('warn', 'PEER_BANNED', 'An address is banned', { ip, reason, durationMs });
    for (const { peerId } of transport.connections()) {
      if (ipOf(peerId) === ip) transport.disconnect(peerId, FORBIDDEN);
    }
  }

  #logExempt(peerId: PeerId, code: string, detail: string): void {
    const { clock, observer } = this.#dependencies;
    const nowMs = clock.nowMs();
    const key = `${peerId} ${code}`;
    const last = this.#exempt.get(key);
    // If the clock was set back, the node must not wait longer than the interval before it logs a line again.
    if (last !== undefined && Math.abs(nowMs - last.loggedAtMs) < EXEMPT_LOG_INTERVAL_MS) {
      last.repeated += 1;
      return;
    }
    this.#exempt.set(key, { loggedAtMs: nowMs, repeated: 0 });
    const fields = { peer: peerId, offence: code, detail, repeated: last?.repeated ?? 0 };
    observer.log('warn', 'PEER_OFFENCE_EXEMPT', 'A peer that the operator named broke a rule', fields);
  }

  #deductPoints(peerId: PeerId, code: string, detail: string): void {
    const { named, observer, transport } = this.#dependencies;
    const points = pointsOf(code);
    if (points === 0) return;
    const reputation = Math.max(0, this.reputationOf(peerId) - points);
    this.#reputations.set(peerId, reputation);
    const fields = { peer: peerId, offence: code, detail, reputation };
    observer.log('debug', 'PEER_PENALISED', 'A peer broke a rule', fields);
    if (reputation > 0) return;
    this.#reputations.delete(peerId);
    const ip = ipOf(peerId);
    // If a named peer has the same address, a ban of the address would also affect the named peer.
    if (named().some((each) => ipOf(each) === ip)) {
      observer.log('warn', 'PEER_DISCONNECTED_FOR_OFFENCE', 'A peer at a trusted address is disconnected', fields);
      transport.disconnect(peerId, FORBIDDEN);
    } else this.ban(ip, `${code}: ${detail}`);
  }
}
