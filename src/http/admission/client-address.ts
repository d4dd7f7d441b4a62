/** What limits count as one client. */

import { isIPv6 } from 'node:net';

/**
 * The key that limits are kept under: an IPv4 address, also where it is written as IPv6 (`::ffff:192.0.2.1`), or the /64 of
 * an IPv6 address, since a /64 is the smallest network that providers give to one customer.
 *
 * @param address as a socket tells it
 */
export function clientKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  return `${groupsOf(address).slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** Groups of 16 bits in a /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** The eight groups of an address, without leading zeros. A zone (`%eth0`) belongs to the last one, which nobody asks for. */
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

/** Whether a connection comes from this machine itself. Other addresses of 127.0.0.0/8 are bounded like any stranger's. */
export function isThisMachine(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || address === '::ffff:127.0.0.1';
}
