/** Decides which addresses count as one client for the HTTP limits. */

import { isIPv6 } from 'node:net';

/**
 * Returns the key under which the limits count a client: its IPv4 address, or the /64 network of its IPv6 address. An
 * IPv4 address written as IPv6 (`::ffff:192.0.2.1`) has the key of the IPv4 address. A /64 is the smallest network that
 * providers usually give to one customer.
 *
 * @param address address as node:net reports it (`socket.remoteAddress`)
 */
export function clientKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  return `${groupsOf(address).slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** Number of groups of 16 bits in the prefix of a /64 network. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/**
 * Returns the groups of an IPv6 address, each without leading zeros. The result has eight groups. If the address ends
 * with an IPv4 address, the result has seven groups, and the IPv4 address is the last one. If the address has a zone
 * (`%eth0`), the zone is a part of the last group. The key that `clientKey` returns does not contain the last group.
 */
function groupsOf(address: string): readonly string[] {
  const [before = '', after] = address.toLowerCase().split('::');
  const head = before === '' ? [] : before.split(':');
  if (after === undefined) return head.map(plain);
  const tail = after === '' ? [] : after.split(':');
  // An IPv4 address at the end stands for two groups.
  const tailGroups = tail.length + (after.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: Math.max(0, GROUPS - head.length - tailGroups) }, () => '0');
  return [...head, ...zeros, ...tail].map(plain);
}

function plain(group: string): string {
  return group.replace(/^0+(?=.)/, '');
}

/**
 * True for 127.0.0.1 (also if written as `::ffff:127.0.0.1`) and for ::1. This machine usually connects to itself from
 * one of these addresses. Other addresses of this machine, such as 127.0.0.2, have the same limits as the addresses of
 * other machines.
 */
export function isThisMachine(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || address === '::ffff:127.0.0.1';
}
