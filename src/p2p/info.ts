/** Reads node infos of both generations, member by member. */

import type { CloseReason, PeerAddress, PeerInfo } from '../ports/transport.ts';
import { CLOSE } from './dialect.ts';
import { type Fields, INFO_BYTES_MAX, infoCount, infoText, isRecord, own, parseJson } from './frame-validation.ts';

/** A `PeerInfo` whose members can still be set. */
type ReadInfo = { -readonly [Name in keyof PeerInfo]: PeerInfo[Name] };

/**
 * Names of those members of `PeerInfo` that have values of the type `Value`, without `ip` and `wsPort` (the address).
 */
type MembersOf<Value> = {
  [Name in Exclude<keyof PeerInfo, 'ip' | 'wsPort'>]-?: Required<PeerInfo>[Name] extends Value ? Name : never;
}[Exclude<keyof PeerInfo, 'ip' | 'wsPort'>];

/**
 * Reads the members of an info whose names are in `texts` or `counts`, and omits members with impossible values. The
 * result has the address `address`, even if the peer sends another address.
 */
export function readMembers(
  peerFields: Fields,
  address: PeerAddress,
  texts: readonly MembersOf<string>[],
  counts: readonly MembersOf<number>[],
): ReadInfo {
  const info: ReadInfo = { ip: address.ip, wsPort: address.wsPort };
  for (const name of texts) {
    const text = infoText(own(peerFields, name));
    if (text !== undefined) info[name] = text;
  }
  for (const name of counts) {
    const count = infoCount(own(peerFields, name));
    if (count !== undefined) info[name] = count;
  }
  return info;
}

/** Major number of a protocol version; undefined if the text is not a version. */
function majorOf(protocolVersion: string | undefined): number | undefined {
  const match = /^([0-9]{1,4})(?:\.[0-9]{1,6})*$/.exec(protocolVersion ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** True if a peer's protocol version has the same major number as ours, and this number is at least 1. */
export function isProtocolCompatible(theirs: string | undefined, ours: string): boolean {
  const major = majorOf(theirs);
  return major !== undefined && major >= 1 && major === majorOf(ours);
}

/**
 * The members of the info in the query of a dialling peer. If `readQueryInfo` refuses the query, the close reason
 * instead.
 */
export type QueryInfo =
  | { readonly peerFields: Fields; readonly options: Fields }
  | { readonly peerFields?: undefined; readonly close: CloseReason };

/**
 * Checks the query of a dialling peer in the same order as lisk-sdk, except that the size of the parameter `options` is
 * checked before this parameter is parsed. Then reads the members of the peer's info from the query. The argument
 * `members` lists the names of these members. A member can be in the query in two places: as a parameter of its own,
 * and in the JSON text of the parameter `options`. The JSON text has priority, because a parameter holds a number only
 * as text.
 */
export function readQueryInfo(
  query: URLSearchParams,
  ownNonce: string,
  members: readonly string[],
  required: readonly string[],
): QueryInfo {
  if (query.get('nonce') === ownNonce) return { close: CLOSE.self };
  if (required.some((name) => !query.get(name))) return { close: CLOSE.query };
  const text = query.get('options');
  // A query can have 64 kB, and to parse it costs more than an honest handshake.
  if (text !== null && Buffer.byteLength(text) > INFO_BYTES_MAX) return { close: CLOSE.info };
  const options = text ? parseJson(text) : {};
  if (!isRecord(options)) return { close: CLOSE.query };
  const peerFields: Record<string, unknown> = {};
  for (const name of members) peerFields[name] = own(options, name) ?? query.get(name) ?? undefined;
  return peerFields['nonce'] === ownNonce ? { close: CLOSE.self } : { peerFields, options };
}
