/**
 * Lists the state of each known address for operators: connected, banned, waiting for the next dial, and so on. The
 * list shows why a peer is not connected.
 */

import type { PeerRole, PeerVerdict } from '../../ports/node-api.ts';
import { peerIdOf, type CloseReason, type Connection, type PeerId, type PeerInfo } from '../../ports/transport.ts';
import { ipOf } from './addresses.ts';
import type { Ban, KnownPeer } from './book.ts';

/**
 * Describes a connection that ended, or a dial that failed for a reason that does not change while both nodes run (for
 * example, the peer belongs to another network). The members of `CloseReason` state the code and the reason of this end
 * or failure.
 */
export interface DroppedPeer extends CloseReason {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  /** Time when the connection ended or the dial failed; Unix time in milliseconds. */
  readonly atMs: number;
}

export interface VerdictSources {
  readonly connections: readonly Connection[];
  readonly known: readonly KnownPeer[];
  /** Addresses of the peers that the operator named as fixed, seed or whitelisted peers. */
  readonly named: readonly PeerId[];
  readonly bans: readonly Ban[];
  /**
   * Connections that ended, and dials that failed for a reason that does not change while both nodes run (for example,
   * the peer belongs to another network). Oldest first.
   */
  readonly dropped: readonly DroppedPeer[];
  readonly nowMs: number;
  rolesOf(peerId: PeerId): readonly PeerRole[];
  reputationOf(peerId: PeerId): number;
  isDialling(peerId: PeerId): boolean;
  /**
   * Unix time in milliseconds of the earliest next dial of the address. The time is 0 if the node does not have to
   * wait, and infinite if the node does not dial the address again.
   */
  dialDueMs(peerId: PeerId): number;
  /**
   * Returns the close code and the reason of the latest dial with the outcome `unreachable` (`DialOutcome`) to this
   * address; undefined if there was no such dial.
   */
  dialFailureOf(peerId: PeerId): CloseReason | undefined;
}

const ORDER: Readonly<Record<PeerVerdict['verdict'], number>> = {
  connected: 0,
  dialling: 1,
  banned: 2,
  dropped: 3,
  waiting: 4,
  known: 5,
};

/**
 * Returns one entry for each peer that meets at least one of four conditions: the peer is connected, the operator named
 * the peer (`named`), the peer book contains the peer (`known`), or an entry of `dropped` describes the peer. Also
 * returns one entry for each banned IP address that belongs to none of these peers. Connected peers come first.
 */
export function verdictsOf(sources: VerdictSources): readonly PeerVerdict[] {
  const connections = new Map(sources.connections.map((connection) => [connection.peerId, connection]));
  const known = new Map(sources.known.map((peer) => [peerIdOf(peer.info), peer]));
  const dropped = new Map(sources.dropped.map((drop) => [drop.peerId, drop]));
  const bans = new Map(sources.bans.map((ban) => [ban.ip, ban]));
  const peerIds = new Set([...connections.keys(), ...sources.named, ...dropped.keys(), ...known.keys()]);
  const entries = [...peerIds].map((peerId): PeerVerdict => {
    const connection = connections.get(peerId);
    const peer = known.get(peerId);
    const [ip = '', port = '0'] = peerId.split(':');
    const info: Partial<PeerInfo> = connection?.info ?? peer?.info ?? {};
    return {
      ip,
      wsPort: Number(port),
      ...connectionState(sources, peerId, connection, dropped.get(peerId), bans.get(ip)),
      roles: sources.rolesOf(peerId),
      ...(peer === undefined ? {} : { list: peer.list }),
      reputation: bans.has(ip) ? 0 : sources.reputationOf(peerId),
      ...(info.height === undefined ? {} : { height: info.height }),
      ...(info.version === undefined ? {} : { version: info.version }),
      ...(connection?.latencyMs === undefined ? {} : { latencyMs: connection.latencyMs }),
    };
  });
  const ips = new Set([...peerIds].map(ipOf));
  const strangers = sources.bans.filter(({ ip }) => !ips.has(ip));
  return [...entries, ...strangers.map((ban) => ({ ip: ban.ip, ...banned(ban), roles: [], reputation: 0 }))].sort(
    (a, b) => ORDER[a.verdict] - ORDER[b.verdict],
  );
}

type ConnectionState = Pick<PeerVerdict, 'verdict' | 'direction' | 'sinceMs' | 'untilMs' | 'code' | 'reason'>;

function connectionState(
  { isDialling, dialDueMs, dialFailureOf, nowMs }: VerdictSources,
  peerId: PeerId,
  connection: Connection | undefined,
  drop: DroppedPeer | undefined,
  ban: Ban | undefined,
): ConnectionState {
  if (connection !== undefined) {
    return { verdict: 'connected', direction: connection.direction, sinceMs: connection.sinceMs };
  }
  if (isDialling(peerId)) return { verdict: 'dialling' };
  if (ban !== undefined) return banned(ban);
  const dueMs = dialDueMs(peerId);
  // If the node does not dial the address again, `dueMs` is infinite.
  const until = dueMs > nowMs && Number.isFinite(dueMs) ? { untilMs: dueMs } : {};
  if (drop !== undefined) {
    const { direction, atMs, code, reason } = drop;
    return { verdict: 'dropped', direction, sinceMs: atMs, code, reason, ...until };
  }
  return dueMs > nowMs ? { verdict: 'waiting', ...until, ...dialFailureOf(peerId) } : { verdict: 'known' };
}

function banned({ untilMs, reason }: Ban): ConnectionState {
  return { verdict: 'banned', untilMs, reason };
}
