/**
 * Stores the addresses of peers in two lists, and stores the banned IP addresses. The list `tried` has the peers that
 * this node has dialled with success, except seeds. When the node starts, it adds further peers to the list `tried`:
 * the fixed and whitelisted peers that are not in the book yet. The list `new` has all other peers. Each list consists
 * of buckets. The bucket of a peer depends on a secret number. An attacker therefore cannot choose the peers that the
 * attacker's own peers displace from a list. The two lists and the list of bans each have a maximum size.
 */

import { hexOf, utf8 } from '../../primitives/bytes.ts';
import { isIpv4 } from '../../primitives/ip.ts';
import type { Random } from '../../ports/clock.ts';
import { peerIdOf, type PeerId, type PeerInfo } from '../../ports/transport.ts';
import {
  BUCKET_SIZE,
  netgroupOf,
  NEW_BUCKETS,
  newBucketOf,
  spreadGroupOf,
  TRIED_BUCKETS,
  triedBucketOf,
} from './addresses.ts';

/**
 * Time in milliseconds after which a peer that was added to the list `new` is stale. To make room in a full bucket of
 * this list, the book removes a stale peer rather than any other peer.
 */
const STALE_MS = 86_400_000;
/** Number of failed dials in a row after which the book moves a peer from the list `tried` to the list `new`. */
const FAILURES_MAX = 3;
const BANS_MAX = 10_000;
const SECRET_BYTES = 4;
const NOTE_VERSION = 1;

export interface KnownPeer {
  readonly info: PeerInfo;
  readonly list: 'new' | 'tried';
  /** Time when the peer was added to its present list (`new` or `tried`); Unix time in milliseconds. */
  readonly addedMs: number;
  /**
   * Number of failed dials in a row after the peer was added to its present list (`new` or `tried`); 0 for fixed and
   * whitelisted peers. A restart of the node sets the number to 0.
   */
  readonly failures: number;
}

export interface Ban {
  readonly ip: string;
  /** End of the ban; Unix time in milliseconds. */
  readonly untilMs: number;
  readonly reason: string;
}

interface Entry {
  info: PeerInfo;
  list: 'new' | 'tried';
  bucket: number;
  addedMs: number;
  failures: number;
}

export interface PeerBookOptions {
  readonly random: Random;
  nowMs(): number;
  /** Returns whether the book must keep this peer even if the peer is unreachable, banned, or in a full bucket. */
  isPinned(peerId: PeerId): boolean;
}

export class PeerBook {
  readonly #options: PeerBookOptions;
  readonly #entries = new Map<PeerId, Entry>();
  readonly #buckets = { new: new Map<number, Set<PeerId>>(), tried: new Map<number, Set<PeerId>>() };
  /** The peers of each IP address. Without this index, each ban would require a search among all peers. */
  readonly #peersOf = new Map<string, Set<PeerId>>();
  readonly #bans = new Map<string, Ban>();
  #secret: Uint8Array;

  constructor(options: PeerBookOptions) {
    this.#options = options;
    this.#secret = options.random.bytes(SECRET_BYTES);
  }

  /** Returns the peers of one list, or of both lists by default. */
  peers(list?: 'new' | 'tried'): KnownPeer[] {
    const all = [...this.#entries.values()];
    return list === undefined ? all : all.filter((entry) => entry.list === list);
  }

  get(peerId: PeerId): KnownPeer | undefined {
    return this.#entries.get(peerId);
  }

  /** Returns the number of the address's netgroup. All addresses of one netgroup have the same number. */
  netgroupOf(ip: string): number {
    return netgroupOf(this.#secret, ip);
  }

  /**
   * Returns the same number as `netgroupOf`. The node uses this number to choose outbound peers. The result is
   * undefined for addresses of this machine, of a private network, or of special purpose.
   */
  spreadGroupOf(ip: string): number | undefined {
    return spreadGroupOf(this.#secret, ip);
  }

  /**
   * Adds a peer to the list `new`. A peer that is already in the book stays in its bucket. If the book has only the
   * address of the peer, this method adds the rest of the info.
   *
   * @param sourceIp IP address of the peer that reported the new peer. Undefined if the new peer reported itself, or if
   *   the node moves a tried peer to the list `new` because the node could not reach this peer
   */
  add(info: PeerInfo, sourceIp?: string): void {
    const known = this.#entries.get(peerIdOf(info));
    if (known === undefined) this.#place(info, 'new', newBucketOf(this.#secret, info.ip, sourceIp));
    else if (known.info.version === undefined) known.info = info;
  }

  /**
   * Puts a peer into the list `tried`. The node calls this method after it has dialled the peer with success. At its
   * start, the node also calls this method for each fixed or whitelisted peer that is not in the book yet.
   */
  promote(info: PeerInfo): void {
    const peerId = peerIdOf(info);
    const known = this.#entries.get(peerId);
    if (known?.list === 'tried') {
      known.info = info;
      known.failures = 0;
      return;
    }
    this.remove(peerId);
    this.#place(info, 'tried', triedBucketOf(this.#secret, info.ip));
  }

  /** Replaces the info of a known peer. */
  update(info: PeerInfo): void {
    const known = this.#entries.get(peerIdOf(info));
    if (known !== undefined) known.info = info;
  }

  /**
   * Records that the node could not reach a peer. If this peer is in the list `new`, the method removes it from the
   * book. If this peer is in the list `tried`, the method moves it to the list `new` after `FAILURES_MAX` failures in a
   * row. A pinned peer stays in its list.
   */
  fail(peerId: PeerId): void {
    const known = this.#entries.get(peerId);
    if (known === undefined || this.#options.isPinned(peerId)) return;
    known.failures += 1;
    if (known.list === 'new') this.remove(peerId);
    else if (known.failures >= FAILURES_MAX) {
      this.remove(peerId);
      this.add(known.info);
    }
  }

  remove(peerId: PeerId): void {
    const entry = this.#entries.get(peerId);
    if (entry === undefined) return;
    this.#entries.delete(peerId);
    this.#buckets[entry.list].get(entry.bucket)?.delete(peerId);
    const { ip } = entry.info;
    const peers = this.#peersOf.get(ip);
    peers?.delete(peerId);
    if (peers?.size === 0) this.#peersOf.delete(ip);
  }

  // ---- bans ---------------------------------------------------------------------------------------------------------

  ban(ip: string, untilMs: number, reason: string): void {
    this.#bans.delete(ip);
    this.#bans.set(ip, { ip, untilMs, reason });
    const oldest = this.#bans.keys().next();
    if (this.#bans.size > BANS_MAX && !oldest.done) this.#bans.delete(oldest.value);
    for (const peerId of [...(this.#peersOf.get(ip) ?? [])]) if (!this.#options.isPinned(peerId)) this.remove(peerId);
  }

  unban(ip: string): void {
    this.#bans.delete(ip);
  }

  isBanned(ip: string): boolean {
    const ban = this.#bans.get(ip);
    return ban !== undefined && ban.untilMs > this.#options.nowMs();
  }

  /** Returns the bans that are in force. */
  bans(): Ban[] {
    const nowMs = this.#options.nowMs();
    return [...this.#bans.values()].filter((ban) => ban.untilMs > nowMs);
  }

  /** Removes bans whose time is over. */
  expireBans(): void {
    const nowMs = this.#options.nowMs();
    for (const ban of [...this.#bans.values()]) if (ban.untilMs <= nowMs) this.#bans.delete(ban.ip);
  }

  // ---- saving and loading -------------------------------------------------------------------------------------------

  /**
   * Returns the book as a note (the value of a named record in the store): JSON with the secret, both lists and the
   * bans. The note omits the numbers of failed dials.
   */
  toNote(): Uint8Array {
    const peers = [...this.#entries.values()].map(({ info, list, bucket, addedMs }) => ({
      info,
      list,
      bucket,
      addedMs,
    }));
    return utf8(JSON.stringify({ version: NOTE_VERSION, secret: hexOf(this.#secret), peers, bans: this.bans() }));
  }

  /**
   * Replaces the content of the book with the note that an earlier run of the node saved. Leaves out invalid entries of
   * the note.
   *
   * @returns false if the note is damaged, or if another version of the software wrote the note in another form. In
   *   both cases, the book does not change
   */
  load(note: Uint8Array): boolean {
    const saved = fieldsOf(parsed(note));
    const secret = saved['secret'];
    if (saved['version'] !== NOTE_VERSION || typeof secret !== 'string' || !/^[0-9a-f]{8}$/.test(secret)) return false;
    this.#entries.clear();
    this.#buckets.new.clear();
    this.#buckets.tried.clear();
    this.#peersOf.clear();
    this.#bans.clear();
    this.#secret = Buffer.from(secret, 'hex');
    for (const item of listOf(saved['peers'])) this.#restore(fieldsOf(item));
    for (const item of listOf(saved['bans'])) {
      const { ip, untilMs, reason } = fieldsOf(item);
      if (isIpv4(ip) && typeof untilMs === 'number' && typeof reason === 'string') this.ban(ip, untilMs, reason);
    }
    return true;
  }

  #restore(saved: Record<string, unknown>): void {
    const info = fieldsOf(saved['info']);
    const wsPort = info['wsPort'];
    const addedMs = saved['addedMs'];
    if (!isIpv4(info['ip']) || typeof wsPort !== 'number' || !(wsPort >= 1 && wsPort <= 65_535)) return;
    if (typeof addedMs !== 'number') return;
    const isTried = saved['list'] === 'tried';
    const bucket = saved['bucket'];
    if (typeof bucket !== 'number' || !(bucket >= 0 && bucket < (isTried ? TRIED_BUCKETS : NEW_BUCKETS))) return;
    // Of the members of `info`, this method checks only `ip` and `wsPort`, from which the book computes the id of the
    // peer. The method need not check the other members, because this node checked them when it received them from a
    // peer, before it saved the book.
    this.#place(info as unknown as PeerInfo, isTried ? 'tried' : 'new', bucket, addedMs);
  }

  #place(info: PeerInfo, list: 'new' | 'tried', bucket: number, addedMs = this.#options.nowMs()): void {
    let members = this.#buckets[list].get(bucket);
    if (members === undefined) this.#buckets[list].set(bucket, (members = new Set()));
    if (members.size >= BUCKET_SIZE && !this.#makeRoom(list, members)) return;
    const peerId = peerIdOf(info);
    members.add(peerId);
    this.#entries.set(peerId, { info, list, bucket, failures: 0, addedMs });
    const peers = this.#peersOf.get(info.ip);
    if (peers === undefined) this.#peersOf.set(info.ip, new Set([peerId]));
    else peers.add(peerId);
  }

  /**
   * Removes one peer from a full bucket, but never a pinned peer. In a bucket of the list `new`, removes a peer that
   * was added more than `STALE_MS` ago, if there is one. In all other cases, removes a random peer.
   *
   * @returns false if all peers of the bucket are pinned
   */
  #makeRoom(list: 'new' | 'tried', members: ReadonlySet<PeerId>): boolean {
    const candidates = [...members].filter((peerId) => !this.#options.isPinned(peerId));
    const staleMs = this.#options.nowMs() - STALE_MS;
    const stale = list === 'new' ? candidates.find((id) => (this.#entries.get(id)?.addedMs ?? 0) < staleMs) : undefined;
    const victim = stale ?? candidates[this.#options.random.below(Math.max(1, candidates.length))];
    if (victim === undefined) return false;
    this.remove(victim);
    return true;
  }
}

function parsed(note: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(note).toString('utf8'));
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
