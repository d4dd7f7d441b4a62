/** Reads infos of peers, and packs entries of peer lists, in the form of generation 2. */

import semver from 'semver';

import type { PeerAddress, PeerInfo } from '../ports/transport.ts';
import { readMembers } from './info.ts';
import type { Fields } from './frame-validation.ts';

/** Members of an info in the order in which nodes of lisk-sdk write them. */
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

/**
 * The value of `state` in each info that this node sends, about itself or about a peer; 2 means connected. A receiver
 * ignores the value, because the receiver knows from its own connections which of its peers are connected.
 */
export const STATE = 2;

const TEXTS = ['os', 'version', 'protocolVersion', 'nethash', 'broadhash', 'nonce'] as const;
const COUNTS = ['httpPort', 'height'] as const;

/**
 * Reads the members of a node info that `TEXTS` and `COUNTS` name, and omits members with impossible values. The result
 * has the address `address`.
 */
export function infoOf(fields: Fields, address: PeerAddress): PeerInfo {
  return readMembers(fields, address, TEXTS, COUNTS);
}

/**
 * True for a valid semantic version of at most 128 characters. Nodes of lisk-sdk reject an info with an invalid
 * version. They also reject the whole peer list if one entry of the list has an invalid version.
 */
export function isVersion(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 128 && semver.valid(value) !== null;
}

/** True if an application version is at least `minVersion`. */
export function isAtLeast(version: string | undefined, minVersion: string): boolean {
  return isVersion(version) && semver.gte(version, minVersion);
}

/**
 * Packs an entry of a peer list: the IP first, then the known members in the order of `INFO_MEMBERS`. Returns undefined
 * for a peer whose entry would make the receiver reject the whole list.
 */
export function packPeer(peer: PeerInfo): object | undefined {
  if (!isVersion(peer.version)) return undefined;
  const known: Fields = { ...peer, state: STATE };
  const entry: Record<string, unknown> = { ip: peer.ip };
  for (const name of INFO_MEMBERS) if (known[name] !== undefined) entry[name] = known[name];
  return entry;
}
