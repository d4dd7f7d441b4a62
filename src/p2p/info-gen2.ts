/** The information that a node of generation 2 sends about itself, member by member. */

import semver from 'semver';

import type { PeerAddress, PeerInfo } from '../ports/transport.ts';
import { readMembers } from './info.ts';
import type { Fields } from './packets.ts';

/** Members of an info in the order that real nodes write them. */
export const INFO_MEMBERS = [
  'os',
  'version',
  'wsPort',
  'httpPort',
  'minVersion',
  'protocolVersion',
  'height',
  'nethash',
  'broadhash',
  'nonce',
  'state',
] as const;

/** The state in each info that a node sends about itself: connected. Receivers know the state of others from connections. */
export const STATE = 2;

const TEXTS = ['os', 'version', 'protocolVersion', 'nethash', 'broadhash', 'nonce'] as const;
const COUNTS = ['httpPort', 'height'] as const;

/** The members that are understood, each only if its value is possible; the address is what the socket says. */
export function infoOf(said: Fields, address: PeerAddress): PeerInfo {
  return readMembers(said, address, TEXTS, COUNTS);
}

/** Nodes of this generation reject infos and whole peer lists with a version that is none. */
export function isVersion(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 128 && semver.valid(value) !== null;
}

/** Whether an application version is at least `minVersion`. */
export function isAtLeast(version: string | undefined, minVersion: string): boolean {
  return isVersion(version) && semver.gte(version, minVersion);
}

/** A list entry: address first, then what is known; undefined for a peer that would spoil the whole list. */
export function packPeer(peer: PeerInfo): object | undefined {
  if (!isVersion(peer.version)) return undefined;
  const known: Fields = { ...peer, state: STATE };
  const entry: Record<string, unknown> = { ip: peer.ip };
  for (const name of INFO_MEMBERS) if (known[name] !== undefined) entry[name] = known[name];
  return entry;
}
