/** What nodes of both generations say of themselves, read member by member. */

import type { CloseReason, PeerAddress } from '../ports/transport.ts';
import { CLOSE } from './dialect.ts';
import { type Fields, infoCount, infoText, isRecord, own, parseJson } from './packets.ts';

/** The members that are understood, each only if its value is possible; the address is what the socket says. */
export function readMembers(
  said: Fields,
  address: PeerAddress,
  texts: readonly string[],
  counts: readonly string[],
): Record<string, unknown> {
  const info: Record<string, unknown> = { ip: address.ip, wsPort: address.wsPort };
  const keep = (name: string, value: unknown): void => {
    if (value !== undefined) info[name] = value;
  };
  for (const name of texts) keep(name, infoText(own(said, name)));
  for (const name of counts) keep(name, infoCount(own(said, name)));
  return info;
}

/** Major number of a protocol version, undefined for a text that is none. */
function majorOf(protocolVersion: string | undefined): number | undefined {
  const match = /^([0-9]{1,4})(?:\.[0-9]{1,6})*$/.exec(protocolVersion ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Whether a peer's protocol version can talk to ours. */
export function isProtocolCompatible(theirs: string | undefined, ours: string): boolean {
  const major = majorOf(theirs);
  return major !== undefined && major >= 1 && major === majorOf(ours);
}

/** What a dialler says of itself in its query, or why nothing of it is looked at. */
export type Said =
  { readonly said: Fields; readonly options: Fields } | { readonly said?: undefined; readonly close: CloseReason };

/**
 * Reads the members of a query, in the order of checks of the reference: what `options` holds as JSON wins over the plain
 * parameters, as that is how numbers arrive as numbers.
 */
export function readSaid(
  query: URLSearchParams,
  ownNonce: string,
  members: readonly string[],
  required: readonly string[],
): Said {
  if (query.get('nonce') === ownNonce) return { close: CLOSE.self };
  if (required.some((name) => !query.get(name))) return { close: CLOSE.query };
  const text = query.get('options');
  const options = text ? parseJson(text) : {};
  if (!isRecord(options)) return { close: CLOSE.query };
  const said: Record<string, unknown> = {};
  for (const name of members) said[name] = own(options, name) ?? query.get(name) ?? undefined;
  return said['nonce'] === ownNonce ? { close: CLOSE.self } : { said, options };
}
