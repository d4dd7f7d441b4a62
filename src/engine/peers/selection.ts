/**
 * Selects the peers to dial, to disconnect, to send a message to, and to put into a list of peers. The functions have
 * no state. The caller passes the source of random numbers. "Tried" and "new" are the two lists of the peer book
 * (`book.ts`).
 */

import type { Random } from '../../ports/clock.ts';
import type { Connection, PeerId } from '../../ports/transport.ts';

/**
 * While the book has fewer tried peers than this number, the node dials seeds. If `selectToDial` gets fewer tried peers
 * than this number, each draw takes a new or a tried peer with equal probability.
 */
export const TRIED_ENOUGH = 100;
/**
 * Maximum and minimum number of peers in a list that the node sends to a peer. If there are fewer peers than the
 * minimum, the list has all peers.
 */
const LISTED_MAX = 1_000;
const LISTED_MIN = 100;
/** Share of inbound connections that are safe from eviction because of their netgroup (see `selectToEvict`). */
const NETGROUP_SHARE = 0.034;
/**
 * Share of inbound connections that are safe from eviction because of short round trips. In addition, at most the same
 * share of the inbound connections is safe because of a high `responsiveness`. The comment of `selectToEvict` explains
 * this value.
 */
const LATENCY_SHARE = 0.068;

/** Describes how outbound peers are distributed over netgroups. */
export interface Spread<P> {
  /**
   * Returns the number of the peer's netgroup; undefined for addresses of this machine, of a private network, or of
   * special purpose. `selectToDial` can draw any number of peers without a netgroup.
   */
  groupOf(peer: P): number | undefined;
  /**
   * The netgroup of each outbound connection that is open, or that the node is opening now. Several open connections to
   * one IP address count once.
   */
  readonly taken: readonly (number | undefined)[];
}

/**
 * Draws up to `free` distinct peers to dial (LIP-0004). Each draw takes a tried peer with a certain probability: the
 * share of `triedPeers` in all given peers, but at least one half. With fewer than `TRIED_ENOUGH` tried peers, the
 * probability is one half. If the list of a draw (new or tried) contains no peer that the rule below allows, the draw
 * takes a peer of the other list.
 *
 * The rule: a netgroup gets a second connection only when the netgroup of each remaining candidate has at least one
 * connection. A netgroup gets a third connection only when the netgroup of each remaining candidate has at least two
 * connections, and so on. This rule limits the connections of an attacker, who can cheaply get many addresses in one
 * netgroup. The nodes of a network with a single netgroup can still connect to each other.
 */
export function selectToDial<P>(
  newPeers: readonly P[],
  triedPeers: readonly P[],
  free: number,
  random: Random,
  { groupOf, taken }: Spread<P>,
): P[] {
  if (free <= 0) return [];
  const total = newPeers.length + triedPeers.length;
  if (free >= total) return [...triedPeers, ...newPeers];
  const chance = triedPeers.length < TRIED_ENOUGH ? 0.5 : Math.max(0.5, triedPeers.length / total);
  const places = new GroupPlaces(taken);
  const candidates = (peers: readonly P[]): Candidate<P>[] => peers.map((peer) => ({ peer, group: groupOf(peer) }));
  let fresh = candidates(newPeers);
  let tried = candidates(triedPeers);
  const chosen: P[] = [];
  while (chosen.length < free) {
    const placesMin = Math.min(...[...fresh, ...tried].map(({ group }) => places.of(group)));
    const isNext = ({ group }: Candidate<P>): boolean => places.of(group) === placesMin;
    const nextTried = tried.filter(isNext);
    const nextFresh = fresh.filter(isNext);
    const fromTried = random.fraction() < chance;
    const list = (fromTried && nextTried.length > 0) || nextFresh.length === 0 ? nextTried : nextFresh;
    const drawn = list[random.below(list.length)] as Candidate<P>;
    places.take(drawn.group);
    chosen.push(drawn.peer);
    fresh = fresh.filter((each) => each !== drawn);
    tried = tried.filter((each) => each !== drawn);
  }
  return chosen;
}

interface Candidate<P> {
  readonly peer: P;
  readonly group: number | undefined;
}

/** Counts the outbound connections of each netgroup. */
class GroupPlaces {
  readonly #counts = new Map<number, number>();

  constructor(taken: readonly (number | undefined)[]) {
    for (const group of taken) this.take(group);
  }

  /** Number of connections of a netgroup; 0 for a peer without a netgroup. */
  of(group: number | undefined): number {
    return group === undefined ? 0 : (this.#counts.get(group) ?? 0);
  }

  take(group: number | undefined): void {
    if (group !== undefined) this.#counts.set(group, this.of(group) + 1);
  }
}

/**
 * Chooses the outbound connection to close, so that the node can dial another peer. If a netgroup has more than one
 * connection, the function chooses a random connection of the netgroups with the most connections. If no netgroup has
 * more than one connection, the function chooses any connection at random. The result is undefined if there is no
 * connection.
 */
export function selectToExchange<C>(
  outbound: readonly C[],
  groupOf: (connection: C) => number | undefined,
  random: Random,
): C | undefined {
  const places = new GroupPlaces(outbound.map(groupOf));
  const most = Math.max(0, ...outbound.map((connection) => places.of(groupOf(connection))));
  const candidates = most > 1 ? outbound.filter((connection) => places.of(groupOf(connection)) === most) : outbound;
  return candidates[random.below(Math.max(1, candidates.length))];
}

/**
 * Chooses up to `limit` random peers for a message that does not go to all peers. The function first takes peers of the
 * direction (inbound or outbound) that has fewer connections, but at most half of `limit` (rounded up). The function
 * then takes peers of the other direction until it has `limit` peers. A large number of inbound connections therefore
 * cannot displace the peers that this node dialled.
 */
export function selectForGossip(connections: readonly Connection[], limit: number, random: Random): PeerId[] {
  const mixed = shuffled(connections, random);
  const inbound = mixed.filter((connection) => connection.direction === 'inbound');
  const outbound = mixed.filter((connection) => connection.direction === 'outbound');
  const [fewer, more] = inbound.length < outbound.length ? [inbound, outbound] : [outbound, inbound];
  const first = fewer.slice(0, Math.round(limit / 2));
  return [...first, ...more.slice(0, limit - first.length)].map((connection) => connection.peerId);
}

/**
 * Chooses the peers for a list that the node sends to another peer. If there are at most 100 peers, the list has all
 * peers. If there are more peers, the list has a random length between a quarter and a half of the number of peers.
 * However, this length is never below 100 or above 1000.
 */
export function selectToList<P>(peers: readonly P[], random: Random): P[] {
  const least = Math.ceil(Math.min(LISTED_MAX, peers.length / 4));
  const most = Math.floor(Math.min(LISTED_MAX, peers.length / 2));
  const drawn = least + random.below(Math.max(1, most - least + 1));
  return shuffled(peers, random).slice(0, Math.max(drawn, Math.min(LISTED_MIN, peers.length)));
}

/**
 * Chooses the inbound connection that the node closes to make room for a new connection. Four groups of connections are
 * safe, because an attacker cannot easily get connections into these groups. The first group has the connections of the
 * netgroups for which `netgroupOf` returns the highest values. The second group has the connections whose latest round
 * trip was the shortest (`latencyMs`). The third group has the connections with the highest `responsiveness`: the share
 * of the peer's recent requests that this node answered without an error. The fourth group is the older half of the
 * remaining connections.
 *
 * The function looks at the netgroups of the connections that are not safe. Among these netgroups, it finds the
 * netgroup with the most inbound connections. In this comparison, the safe connections of a netgroup count, too. From
 * this netgroup, the function chooses a random connection that is not safe. An attacker with many connections from one
 * netgroup therefore usually loses one of its own connections. If all connections are safe, the function chooses the
 * youngest connection. The result is undefined if there is no connection.
 *
 * @param netgroupOf returns the number of a peer's netgroup; only this node knows these numbers
 */
export function selectToEvict(
  inbound: readonly Connection[],
  netgroupOf: (ip: string) => number,
  random: Random,
): PeerId | undefined {
  const byAge = [...inbound].sort((a, b) => a.sinceMs - b.sinceMs);
  const few = Math.ceil(inbound.length * NETGROUP_SHARE);
  const some = Math.ceil(inbound.length * LATENCY_SHARE);
  let rest = [...inbound].sort((a, b) => netgroupOf(b.info.ip) - netgroupOf(a.info.ip)).slice(few);
  rest = rest.sort((a, b) => (a.latencyMs ?? Infinity) - (b.latencyMs ?? Infinity)).slice(some);
  const answered = rest.filter(({ responsiveness = 0 }) => responsiveness > 0);
  const bestAnswered = answered.sort((a, b) => (b.responsiveness ?? 0) - (a.responsiveness ?? 0)).slice(0, some);
  rest = rest.filter((connection) => !bestAnswered.includes(connection));
  rest = rest.sort((a, b) => a.sinceMs - b.sinceMs).slice(Math.ceil(rest.length / 2));
  const largest = largestGroup(inbound, rest, netgroupOf);
  const victim = largest.length > 0 ? largest[random.below(largest.length)] : byAge.at(-1);
  return victim?.peerId;
}

/**
 * Counts the connections of each netgroup in `all`. Among the netgroups of the candidates, the function finds the
 * netgroup with the most connections, and returns the candidates of this netgroup. If several of these netgroups have
 * the most connections, the function returns the candidates of all of them.
 */
function largestGroup(
  all: readonly Connection[],
  candidates: readonly Connection[],
  netgroupOf: (ip: string) => number,
): readonly Connection[] {
  const sizes = new Map<number, number>();
  for (const { info } of all) sizes.set(netgroupOf(info.ip), (sizes.get(netgroupOf(info.ip)) ?? 0) + 1);
  const sizeOf = ({ info }: Connection): number => sizes.get(netgroupOf(info.ip)) ?? 0;
  const most = Math.max(0, ...candidates.map(sizeOf));
  return candidates.filter((connection) => sizeOf(connection) === most);
}

/** Returns the items in random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    const item = mixed[last] as T;
    mixed[last] = mixed[other] as T;
    mixed[other] = item;
  }
  return mixed;
}
