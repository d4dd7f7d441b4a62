/** What nodes of both generations say of themselves, read member by member. */

import type { PeerAddress } from '../ports/transport.ts';
import { type Fields, infoCount, infoText, own } from './packets.ts';

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
export function majorOf(protocolVersion: string | undefined): number | undefined {
  const match = /^([0-9]{1,4})(?:\.[0-9]{1,6})*$/.exec(protocolVersion ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Whether a peer's protocol version can talk to ours. */
export function isProtocolCompatible(theirs: string | undefined, ours: string): boolean {
  const major = majorOf(theirs);
  return major !== undefined && major >= 1 && major === majorOf(ours);
}
