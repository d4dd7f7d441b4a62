/** Addresses of peers: their text, the kind of net they lie in and the buckets that follow from it. */

import { sha256 } from '../../crypto/hash.ts';
import { ipScope } from '../../primitives/ip-scopes.ts';
import type { PeerId } from '../../ports/transport.ts';

/** Buckets of the two lists, and places in each. */
export const NEW_BUCKETS = 128;
export const TRIED_BUCKETS = 64;
export const BUCKET_SIZE = 32;

const PUBLIC = 0;
const PRIVATE = 1;
const LOCAL = 2;

/** The IP of a peer id. */
export function ipOf(peerId: PeerId): string {
  return peerId.slice(0, peerId.indexOf(':'));
}

/** True for addresses that never leave the machine: several nodes on them are several peers. */
export function isLoopback(ip: string): boolean {
  return ip.startsWith('127.');
}

/** The name under which peers share a budget: their address. On this machine, each peer has a budget of its own. */
export function sourceOf(peerId: PeerId): string {
  const ip = ipOf(peerId);
  return isLoopback(ip) ? peerId : ip;
}

/**
 * True for addresses that no peer is dialled at nor told of unless the operator names it: those of special purpose, such as
 * the metadata services of clouds.
 */
export function isSpecial(ip: string): boolean {
  return (ipScope(ip) ?? 'special') === 'special';
}

/**
 * Whether a peer may be believed about an address: one where a node can stand, and not one of a net that is nearer to us than
 * the peer itself, or strangers could have the node knock at doors in the house it stands in.
 */
export function isPlausible(ip: string, sourceIp: string): boolean {
  return !isSpecial(ip) && netOf(ip) <= netOf(sourceIp);
}

/**
 * Place of a never-contacted peer: peers that one source told of share a sixteenth of the list at most, so that a liar cannot
 * fill it.
 *
 * @param secret four bytes, so that nobody else can compute the place
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

/** Place of a peer that was connected to: a netgroup shares four buckets. */
export function triedBucketOf(secret: Uint8Array, ip: string): number {
  const net = netOf(ip);
  if (net !== PUBLIC) return hash(secret, [net]) % TRIED_BUCKETS;
  const share = hash(secret, [net, ...octets(ip)]) % 4;
  return hash(secret, [net, ...octets(ip).slice(0, 2), 0, 0, 0, share]) % TRIED_BUCKETS;
}

/** A number that all addresses of one netgroup (the first two octets) share and nobody else can foresee. */
export function netgroupOf(secret: Uint8Array, ip: string): number {
  return hash(secret, [netOf(ip), ...octets(ip).slice(0, 2)]);
}

/**
 * As `netgroupOf`, undefined for addresses of nets that cannot be spread: the own machine's, a private network's, and those of
 * special purpose that the operator named.
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
