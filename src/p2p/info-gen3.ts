/** Reads infos of peers in the form of generation 3. */

import type { PeerAddress, PeerInfo } from '../ports/transport.ts';
import { readMembers } from './info.ts';
import { type Fields, own } from './frame-validation.ts';

/** Members of an info in the order in which nodes of lisk-sdk write them. */
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

const TEXTS = ['os', 'version', 'protocolVersion', 'networkId', 'lastBlockId', 'nonce'] as const;
const COUNTS = ['httpPort', 'height', 'blockVersion', 'maxHeightPrevoted'] as const;

/**
 * Reads `advertiseAddress` and the members of a node info that `TEXTS` and `COUNTS` name. Omits members with impossible
 * values. The result has the address `address`.
 */
export function infoOf(fields: Fields, address: PeerAddress): PeerInfo {
  const info = readMembers(fields, address, TEXTS, COUNTS);
  const advertise = own(fields, 'advertiseAddress');
  // Only `false`, as a boolean or as a text, counts as false. Nodes of lisk-sdk send an empty text for an unset member,
  // and an empty text counts as true.
  if (advertise === false || advertise === 'false') info.advertiseAddress = false;
  else if (advertise !== undefined && advertise !== null) info.advertiseAddress = true;
  return info;
}
