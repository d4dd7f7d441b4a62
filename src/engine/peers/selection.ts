/** Selects peers to dial, to tell, to list and to evict: pure functions over lists, with a given source of random numbers. */

import type { Random } from '../../ports/clock.ts';
import type { Connection, PeerId } from '../../ports/transport.ts';

/** Below this many tried peers a new one is as likely to be dialled as a tried one. */
export const TRIED_ENOUGH = 100;
/** Entries of a peer list. */
const LISTED_MAX = 1_000;
const LISTED_MIN = 100;
/** Shares of inbound connections that are safe from eviction. */
const NETGROUP_SHARE = 0.034;
/** Of the shortest round trips, and of the questions best answered. */
const LATENCY_SHARE = 0.068;

/** The spread of outbound peers over netgroups. */
export interface Spread<P> {
  /** Undefined for a peer of a net that cannot be spread: any number of such peers may be drawn. */
  groupOf(peer: P): number | undefined;
  /** The group of each outbound connection, open or being opened. */
  readonly taken: readonly (number | undefined)[];
}

/**
 * Draws up to `free` distinct peers to dial (LIP-0004): each draw takes a tried peer with a chance that grows with the share
 * of tried peers, but is at least a half.
 *
 * A netgroup gets a second place only when no candidate is of a group without one, a third only when none is of a group with
 * one, and so on. Addresses in one net are cheap: however many of them a node has heard of, they get only places that no other
 * candidate takes. A network whose nodes all stand in one net still meshes.
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

/** Outbound places that each netgroup has. */
class GroupPlaces {
  readonly #counts = new Map<number, number>();

  constructor(taken: readonly (number | undefined)[]) {
    for (const group of taken) this.take(group);
  }

  /** 0 for what is in no group. */
  of(group: number | undefined): number {
    return group === undefined ? 0 : (this.#counts.get(group) ?? 0);
  }

  take(group: number | undefined): void {
    if (group !== undefined) this.#counts.set(group, this.of(group) + 1);
  }
}

/**
 * The outbound connection to give up for another peer: a random one, of the netgroups with most of them where some have more
 * than one, as others may be known by now.
 */
export function selectToExchange<C>(
  outbound: readonly C[],
  groupOf: (connection: C) => number | undefined,
  random: Random,
): C | undefined {
  const places = new GroupPlaces(outbound.map(groupOf));
  const most = Math.max(0, ...outbound.map((connection) => places.of(groupOf(connection))));
  const crowded = most > 1 ? outbound.filter((connection) => places.of(groupOf(connection)) === most) : outbound;
  return crowded[random.below(Math.max(1, crowded.length))];
}

/**
 * Up to `limit` peers for a message that not everybody gets: half of them from the direction with fewer connections, the rest
 * from the other, so that a crowd of inbound connections cannot crowd out the peers that we chose ourselves.
 */
export function selectToTell(connections: readonly Connection[], limit: number, random: Random): PeerId[] {
  const mixed = shuffled(connections, random);
  const inbound = mixed.filter((connection) => connection.direction === 'inbound');
  const outbound = mixed.filter((connection) => connection.direction === 'outbound');
  const [fewer, more] = inbound.length < outbound.length ? [inbound, outbound] : [outbound, inbound];
  const first = fewer.slice(0, Math.round(limit / 2));
  return [...first, ...more.slice(0, limit - first.length)].map((connection) => connection.peerId);
}

/** How many and which peers an asker is told: all up to a hundred, else a random quarter to half. */
export function selectToList<P>(peers: readonly P[], random: Random): P[] {
  const least = Math.ceil(Math.min(LISTED_MAX, peers.length / 4));
  const most = Math.floor(Math.min(LISTED_MAX, peers.length / 2));
  const drawn = least + random.below(Math.max(1, most - least + 1));
  return shuffled(peers, random).slice(0, Math.max(drawn, Math.min(LISTED_MIN, peers.length)));
}

/**
 * The inbound connection to give up for a newcomer. Safe are a few of rare netgroups, those with the shortest round trips,
 * those whose questions we could best answer, and the older half of the rest: what an attacker cannot have at will. Of the
 * others a random one of the netgroup that holds most connections goes, so that a crowd pays for itself; where the shares
 * save everybody (few connections), the youngest.
 *
 * @param netgroupOf must not be foreseeable by others
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
  const crowd = largestGroup(inbound, rest, netgroupOf);
  const victim = crowd.length > 0 ? crowd[random.below(crowd.length)] : byAge.at(-1);
  return victim?.peerId;
}

/** Those of the candidates that are in the netgroup with most connections of all. */
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

/** The items in random order. */
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
