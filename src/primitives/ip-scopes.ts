/**
 * Determines the scope of an IP address: the hosts that can reach the address. The sources are the IPv4 and the IPv6
 * Special-Purpose Address Registry of IANA (RFC 6890 and the RFCs that update it, as of 2025). For multicast, the
 * sources are RFC 5771 and RFC 4291. The table `BLOCKS` omits address blocks that the registries call globally
 * reachable, with three exceptions. First, the table contains the blocks of AS112 and AMT, because only the servers of
 * these services have addresses there. Second, the table contains `64:ff9b::/96`, because each IPv6 address in this
 * block embeds an IPv4 address, and has the scope of this IPv4 address. Third, the table contains `192.0.0.0/24` and
 * `2001::/23` as a whole, although the registries call some addresses in these two blocks globally reachable. No peer
 * has an address in these two blocks.
 */

import { ipBytes } from './ip.ts';

/**
 * `global`: reachable from anywhere. `private`: reachable only within one private network. `loopback`: reachable on the
 * same machine only. `special`: one of two cases. In the first case, no peer can have the address. In the second case,
 * the address is reachable only for hosts on the same link, or only for hosts of the same provider. For example,
 * `169.254.169.254` is special: only hosts on the same link can reach this address. Cloud providers run their metadata
 * service at this address.
 */
export type IpScope = 'global' | 'private' | 'loopback' | 'special';

const BLOCKS: readonly (readonly [block: string, scope: IpScope | 'embedded', what: string])[] = [
  ['0.0.0.0/8', 'special', 'this network'],
  ['10.0.0.0/8', 'private', 'private use'],
  ['100.64.0.0/10', 'special', 'shared address space of providers'],
  ['127.0.0.0/8', 'loopback', 'loopback'],
  ['169.254.0.0/16', 'special', 'link local'],
  ['172.16.0.0/12', 'private', 'private use'],
  ['192.0.0.0/24', 'special', 'IETF protocol assignments'],
  ['192.0.2.0/24', 'special', 'documentation (TEST-NET-1)'],
  ['192.31.196.0/24', 'special', 'AS112-v4'],
  ['192.52.193.0/24', 'special', 'AMT'],
  ['192.88.99.0/24', 'special', 'deprecated (6to4 relay anycast)'],
  ['192.168.0.0/16', 'private', 'private use'],
  ['192.175.48.0/24', 'special', 'direct delegation AS112 service'],
  ['198.18.0.0/15', 'special', 'benchmarking'],
  ['198.51.100.0/24', 'special', 'documentation (TEST-NET-2)'],
  ['203.0.113.0/24', 'special', 'documentation (TEST-NET-3)'],
  ['224.0.0.0/4', 'special', 'multicast'],
  ['240.0.0.0/4', 'special', 'reserved, and limited broadcast'],

  ['::1/128', 'loopback', 'loopback'],
  ['::/128', 'special', 'unspecified'],
  ['::ffff:0:0/96', 'embedded', 'IPv4-mapped'],
  ['::/96', 'special', 'IPv4-compatible, deprecated by RFC 4291'],
  ['64:ff9b::/96', 'embedded', 'IPv4-IPv6 translation'],
  ['64:ff9b:1::/48', 'special', 'IPv4-IPv6 translation of local use'],
  ['100::/64', 'special', 'discard only'],
  ['100:0:0:1::/64', 'special', 'dummy prefix'],
  ['2001::/23', 'special', 'IETF protocol assignments: Teredo, benchmarking, ORCHID and others'],
  ['2001:db8::/32', 'special', 'documentation'],
  ['2002::/16', 'embedded', '6to4'],
  ['2620:4f:8000::/48', 'special', 'direct delegation AS112 service'],
  ['3fff::/20', 'special', 'documentation'],
  ['5f00::/16', 'special', 'segment routing (SRv6) SIDs'],
  ['fc00::/7', 'private', 'unique local'],
  ['fe80::/10', 'special', 'link-local unicast'],
  ['ff00::/8', 'special', 'multicast'],
];

const IPV4_BYTES = 4;

interface Block {
  readonly prefix: readonly number[];
  readonly bits: number;
  readonly scope: IpScope | 'embedded';
}

const PARSED: readonly Block[] = BLOCKS.map(([block, scope]) => {
  const [address = '', bits = ''] = block.split('/');
  return { prefix: ipBytes(address) ?? [], bits: Number(bits), scope };
});

/**
 * Returns the scope of an IPv4 or IPv6 address; undefined if the text is not an address. An IPv6 address in a block of
 * scope `embedded` has the scope of the embedded IPv4 address.
 */
export function ipScope(text: string): IpScope | undefined {
  const bytes = ipBytes(text);
  return bytes === undefined ? undefined : scopeOf(bytes);
}

function scopeOf(bytes: readonly number[]): IpScope {
  const block = PARSED.find((each) => isWithin(bytes, each));
  if (block === undefined) return 'global';
  if (block.scope !== 'embedded') return block.scope;
  // In a 6to4 address, the IPv4 address follows the prefix of two bytes. In the other blocks of scope `embedded`, the
  // IPv4 address is at the end.
  const at = block.bits === 16 ? 2 : bytes.length - IPV4_BYTES;
  return scopeOf(bytes.slice(at, at + IPV4_BYTES));
}

function isWithin(bytes: readonly number[], { prefix, bits }: Block): boolean {
  if (bytes.length !== prefix.length) return false;
  return prefix.every((byte, index) => {
    const left = Math.min(8, Math.max(0, bits - index * 8));
    const mask = (0xff << (8 - left)) & 0xff;
    return ((byte ^ (bytes[index] ?? 0)) & mask) === 0;
  });
}
