/** Parses IPv4 and IPv6 addresses. */

const IPV4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/;
const IPV6_GROUP = /^[0-9a-fA-F]{1,4}$/;
const IPV6_GROUPS = 8;

/**
 * True for four decimal numbers from 0 to 255 without leading zeros, separated by dots. Leading zeros are refused
 * because some programs read `010` as octal eight.
 */
export function isIpv4(value: unknown): value is string {
  return typeof value === 'string' && IPV4.test(value);
}

/**
 * Returns the 4 or 16 bytes of an address; undefined if the text is not an address. A text with a zone (`%eth0`) is not
 * an address.
 */
export function ipBytes(text: string): readonly number[] | undefined {
  return isIpv4(text) ? text.split('.').map(Number) : ipv6Bytes(text);
}

/** Number of leading bytes of an IPv6 address that identify a customer of a provider (a /64). */
const PREFIX_BYTES = 8;
const MAPPED = '0,0,0,0,0,0,0,0,0,0,255,255';

/**
 * Returns a text that identifies the owner of an address, usually one customer of a provider. For an IPv4 address,
 * and for an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`), the result is the IPv4 address. For any other IPv6 address,
 * the result is its /64 prefix. The function returns any other text unchanged.
 */
export function addressPrefixOf(text: string): string {
  const bytes = ipBytes(text);
  if (bytes?.length !== 16) return text;
  if (bytes.slice(0, 12).join() === MAPPED) return bytes.slice(12).join('.');
  const half = bytes.slice(0, PREFIX_BYTES);
  return `${half.map((byte) => byte.toString(16).padStart(2, '0')).join('')}/64`;
}

function ipv6Bytes(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => groupsOf(half, index === halves.length - 1));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = IPV6_GROUPS - head.length - (tail?.length ?? 0);
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])];
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

/**
 * Returns the 16-bit groups of a part of an IPv6 address; undefined if the part is invalid.
 *
 * @param half the part of the address before or after `::`; the whole address if the address does not contain `::`
 * @param isLast true if the address ends with `half`; in this case, the last two groups can be written as an IPv4
 *   address
 */
function groupsOf(half: string, isLast: boolean): number[] | undefined {
  if (half === '') return [];
  const texts = half.split(':');
  const last = texts.at(-1) ?? '';
  const octets = isLast && isIpv4(last) ? last.split('.').map(Number) : undefined;
  const plain = octets === undefined ? texts : texts.slice(0, -1);
  if (!plain.every((group) => IPV6_GROUP.test(group))) return undefined;
  const groups = plain.map((group) => Number.parseInt(group, 16));
  if (octets === undefined) return groups;
  const [a = 0, b = 0, c = 0, d = 0] = octets;
  return [...groups, a * 256 + b, c * 256 + d];
}
