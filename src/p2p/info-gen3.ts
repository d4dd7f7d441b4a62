/** What a generation 3 node says of itself, member by member. */

import type { PeerAddress, PeerInfo } from '../ports/transport.ts';
import { type Fields, infoCount, infoText, own } from './packets.ts';

/** Members of an info in the order that real nodes write them. */
export const INFO_MEMBERS = [
  'os',
  'version',
  'wsPort',
  'httpPort',
  'minVersion',
  'protocolVersion',
  'height',
  'blockVersion',
  'maxHeightPrevoted',
  'networkId',
  'lastBlockId',
  'advertiseAddress',
  'nonce',
] as const;

/** The members that are understood, each only if its value is possible; the address is what the socket says. */
export function infoOf(said: Fields, address: PeerAddress): PeerInfo {
  const info: Record<string, unknown> = { ip: address.ip, wsPort: address.wsPort };
  const keep = (name: string, value: unknown): void => {
    if (value !== undefined) info[name] = value;
  };
  for (const name of ['os', 'version', 'protocolVersion', 'networkId', 'lastBlockId', 'nonce']) {
    keep(name, infoText(own(said, name)));
  }
  for (const name of ['httpPort', 'height', 'blockVersion', 'maxHeightPrevoted']) {
    keep(name, infoCount(own(said, name)));
  }
  const advertise = own(said, 'advertiseAddress');
  // Of a text only `false` means no; an empty value, as the reference sends when unset, means yes.
  if (advertise === false || advertise === 'false') info['advertiseAddress'] = false;
  else if (advertise !== undefined && advertise !== null) info['advertiseAddress'] = true;
  return info as unknown as PeerInfo;
}

/** Major number of a protocol version, undefined for a text that is none. */
export function majorOf(protocolVersion: string | undefined): number | undefined {
  const match = /^([0-9]{1,4})(?:\.[0-9]{1,6})*$/.exec(protocolVersion ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}
