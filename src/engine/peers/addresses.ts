/**
 * Computes properties of a peer address: its scope (public, private or local), its netgroup, and its bucket in the peer
 * book. A netgroup consists of all addresses with the same first two octets.
 */

import { sha256 } from '../../crypto/hash.ts';
import { ipScope } from '../../primitives/ip-scopes.ts';
import type { PeerId } from '../../ports/transport.ts';

/**
 * The numbers of buckets in the list of new peers and in the list of tried peers, and the maximum number of peers in
 * one bucket of either list. `book.ts` explains the two lists.
 */
export const NEW_BUCKETS = 128;
export const TRIED_BUCKETS = 64;
export const BUCKET_SIZE = 32;

const PUBLIC = 0;
const PRIVATE = 1;
const LOCAL = 2;

/** Returns the IP address in a peer id. */
export function ipOf(peerId: PeerId): string {
  return peerId.slice(0, peerId.indexOf(':'));
}

/**
 * True for loopback addresses, whose traffic never leaves the machine. Several limits of the node treat all peers at
 * one IP address as one peer. At a loopback address, these limits treat each peer as a separate peer.
 */
export function isLoopback(ip: string): boolean {
  return ip.startsWith('127.');
}

/**
 * The key under which the node stores the verification budget of a peer. This budget limits the processor time that
 * the node spends on checking the signatures that the peer sends. All peers at one IP address share a key. However,
 * each peer at a loopback address has its own key.
 */
export function sourceOf(peerId: PeerId): string {
  const ip = ipOf(peerId);
  return isLoopback(ip) ? peerId : ip;
}

/**
 * Returns whether an address is reserved for a special purpose, for example for the metadata service of a cloud. The
 * node dials a peer at such an address, or tells the address to other peers, only if the operator named the peer.
 */
export function isSpecial(ip: string): boolean {
  return (ipScope(ip) ?? 'special') === 'special';
}

/**
 * True if the node is allowed to add the address `ip` to its peer book, after the peer at `sourceIp` has reported the
 * address. The node never accepts an address of special purpose (`isSpecial`). From a peer at a public address, the
 * node accepts only public addresses. From a peer at a private address, the node accepts public and private addresses,
 * but no loopback addresses. Without these rules, a peer at a public address could make the node dial hosts in the
 * node's private network.
 */
export function isPlausible(ip: string, sourceIp: string): boolean {
  return !isSpecial(ip) && netOf(ip) <= netOf(sourceIp);
}

/**
 * Returns the bucket of a new peer. The public addresses that peers of one netgroup report share at most 16 of the 128
 * buckets. A lying peer therefore cannot fill the list of new peers. All private addresses share one bucket, and all
 * loopback addresses share one bucket.
 *
 * @param secret four random bytes, so that no other node can compute the bucket
 * @param sourceIp IP address of the peer that reported the new peer. Undefined if the new peer reported itself, or if
 *   the node moves a tried peer to the list `new` because the node could not reach this peer
 */
export function newBucketOf(secret: Uint8Array, ip: string, sourceIp: string | undefined): number {
  const net = netOf(ip);
  if (net !== PUBLIC) return hash(secret, [net]) % NEW_BUCKETS;
  const group = octets(ip).slice(0, 2);
  const source = sourceIp === undefined ? group : octets(sourceIp).slice(0, 2);
  const within = sourceIp === undefined ? octets(ip) : [...source, ...group];
  const share = hash(secret, [net, ...within]) % 16;
  return hash(secret, [net, ...source, 0, 0, 0, share, ...new Array<number>(12).fill(0)]) % NEW_BUCKETS;
}

/** Returns the bucket of a tried peer. All peers of one netgroup share at most four buckets. */
export function triedBucketOf(secret: Uint8Array, ip: string): number {
  const net = netOf(ip);
  if (net !== PUBLIC) return hash(secret, [net]) % TRIED_BUCKETS;
  const share = hash(secret, [net, ...octets(ip)]) % 4;
  return hash(secret, [net, ...octets(ip).slice(0, 2), 0, 0, 0, share]) % TRIED_BUCKETS;
}

/**
 * Returns the number of the address's netgroup. All addresses of one netgroup have the same number. Other nodes cannot
 * compute this number without the secret.
 */
export function netgroupOf(secret: Uint8Array, ip: string): number {
  return hash(secret, [netOf(ip), ...octets(ip).slice(0, 2)]);
}

/**
 * The same number as `netgroupOf`; undefined for addresses of this machine, of a private network, or of special
 * purpose. It is possible that all peers of a private network are in one netgroup. The node therefore cannot spread its
 * connections to private addresses over netgroups.
 */
export function spreadGroupOf(secret: Uint8Array, ip: string): number | undefined {
  return ipScope(ip) === 'global' ? netgroupOf(secret, ip) : undefined;
}

function netOf(ip: string): number {
  const [a = 0, b = 0] = octets(ip);
  if (a === 127 || a === 0) return LOCAL;
  if (a === 10 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168)) return PRIVATE;
  return PUBLIC;
}

function octets(ip: string): number[] {
  return ip.split('.').map(Number);
}

function hash(secret: Uint8Array, bytes: readonly number[]): number {
  return sha256(secret, Uint8Array.from(bytes)).readUInt32BE(0);
}
