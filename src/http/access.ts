/**
 * Decides which clients are allowed to use the HTTP interface. Reads the lists of allowed addresses. Creates the access
 * rule for all paths, and the access rules of single routes.
 */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Request } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import { SILENT, type Observer } from '../ports/observer.ts';
import { isThisMachine } from './admission/client-address.ts';
import type { HttpOptions } from './options.ts';
import { accessDenied, Problem } from './problems.ts';
import type { Route } from './route.ts';

/** Maximum number of addresses in the cache of one list (see `listOf`). Each address takes about 100 bytes. */
const ADDRESSES_KNOWN_MAX = 2_000;

/** A list of IP addresses and networks. */
export interface AddressList {
  /**
   * True if the list includes the address. False if the address is `undefined`. An undefined address means that the
   * connection has closed.
   */
  includes(address: string | undefined): boolean;
}

/**
 * Reads a list of IPv4 and IPv6 addresses, each with an optional mask (`10.0.0.0/8`). An empty list includes no
 * address. An IPv4 address written as IPv6 (`::ffff:127.0.0.1`) matches IPv4 entries. The function logs and skips an
 * entry that is neither an address nor a network.
 */
export function readAddressList(entries: readonly string[], observer: Observer): AddressList {
  const list = new BlockList();
  for (const entry of entries)
    if (!addEntry(list, entry))
      observer.log('warn', 'HTTP_WHITELIST_ENTRY_INVALID', 'A whitelist entry is not an address or network', { entry });
  return listOf(list);
}

/**
 * Creates the access rule that applies to every path, known or unknown. The returned function checks that the interface
 * is enabled. If `access.public` is false, the function also checks that every address of the request
 * (`clientAddresses`) is in the list `access.whiteList`. If `readOnly` is true, the function refuses every method that
 * is not in `READING_METHODS`.
 *
 * @returns a function that returns the refusal of a request, or undefined if the request is allowed
 */
export function createAccessRule(options: HttpOptions): (request: IncomingMessage) => Problem | undefined {
  const listed = readAddressList(options.access.whiteList, options.observer);
  const isListed = (request: IncomingMessage): boolean =>
    clientAddresses(request, options.trustProxy).every((address) => listed.includes(address));
  return (request) => {
    if (!options.enabled) return DISABLED;
    if (!options.access.public && !isListed(request)) return NOT_LISTED;
    return options.readOnly && !READING_METHODS.has(request.method ?? '') ? READ_ONLY : undefined;
  };
}

/** Methods that change nothing. A browser sends OPTIONS before a cross-origin GET request that has a custom header. */
const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The answer to a client whose address is not in `access.whiteList`. */
export const NOT_LISTED = refused('API access denied', 'API access blocked.');
const DISABLED = refused('API access disabled', 'API is not enabled in this node.');
const READ_ONLY = refused('API write access denied', 'API write access blocked.');

/**
 * Returns the addresses from which a request comes. If proxies are trusted and the header `X-Forwarded-For` of the
 * request is not empty, the result is the list of addresses in the header. The first of these addresses proves nothing,
 * because the client itself can have written it. In all other cases, the result contains only the address of the
 * connection, or an empty text if the connection has closed.
 */
export function clientAddresses({ headers, socket }: IncomingMessage, trustProxy: boolean): readonly string[] {
  const ofConnection = socket.remoteAddress ?? '';
  const forwarded = trustProxy ? headers['x-forwarded-for'] : undefined;
  if (forwarded === undefined) return [ofConnection];
  const named = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',').map(addressText);
  const given = named.filter((entry) => entry !== '');
  return given.length > 0 ? given : [ofConnection];
}

/**
 * Maximum number of characters of an address in `X-Forwarded-For`. The longest IPv6 address with a zone is shorter. The
 * node stores such addresses, so a client must not choose their length.
 */
const ADDRESS_CHARS_MAX = 100;

/** The text is a copy. A part of the header would keep the whole header in memory. */
function addressText(entry: string): string {
  return Buffer.from(entry.trim().slice(0, ADDRESS_CHARS_MAX), 'latin1').toString('latin1');
}

/**
 * Creates the function that recognises trusted addresses: this machine, and the addresses in `access.whiteList`. The
 * node reserves a share of its connections and event streams for trusted addresses. A very wide network in the list
 * (see `TRUSTED_BITS_MIN_4`) makes no address trusted, because such a network does not name particular clients.
 */
export function createTrust(options: Pick<HttpOptions, 'access'>): (address: string) => boolean {
  const named = options.access.whiteList.filter((entry) => !isWide(entry));
  const listed = readAddressList(named, SILENT);
  return (address) => isThisMachine(address) || listed.includes(address);
}

function isWide(entry: string): boolean {
  const [, address = '', bits] = /^\s*(\S*)\/([0-9]+)\s*$/.exec(entry) ?? [];
  if (bits === undefined) return false;
  if (!address.includes(':')) return Number(bits) < TRUSTED_BITS_MIN_4;
  return Number(bits) < TRUSTED_BITS_MIN_6 || isWideInIpv4(address, Number(bits));
}

/** True for an IPv6 network that includes the IPv6 forms (such as `::ffff:10.0.0.1`) of a very wide IPv4 network. */
function isWideInIpv4(address: string, bits: number): boolean {
  if (bits >= MAPPED_BITS + TRUSTED_BITS_MIN_4 || isIP(address) !== 6) return false;
  const isMapped = new URL(`http://[${address}]`).hostname.startsWith('[::ffff:');
  return isMapped || readAddressList([`${address}/${bits}`], SILENT).includes('0.0.0.0');
}

/** Length in bits of the prefix `::ffff:0:0`. Each IPv4 address has an IPv6 form with this prefix. */
const MAPPED_BITS = 96;

/** Shortest mask of a trusted IPv4 network: 8 bits, because 10.0.0.0/8 is the widest private network. */
const TRUSTED_BITS_MIN_4 = 8;
/** Shortest mask of a trusted IPv6 network, in bits. */
const TRUSTED_BITS_MIN_6 = 32;

export interface RouteGuard {
  /** @throws Problem 403 if the access rule of the route refuses the request */
  check(route: Route, request: Request): void;
  /** True when the caller is allowed to see which delegates forge on this node. */
  maySeeForging(request: Request): boolean;
}

/** Creates the access rules of single routes. Such a rule applies in addition to the access rule for all paths. */
export function guardRoutes(options: HttpOptions): RouteGuard {
  const forging = readAddressList(options.forgingWhiteList, options.observer);
  const secrets = readAddressList(options.legacySignatures.whiteList, options.observer);
  const isServed = {
    forging: (request: Request) => isFrom(forging, request),
    loopback: (request: Request) => isWhollyFrom(LOOPBACK, request),
    secrets: (request: Request) => isWhollyFrom(secrets, request),
  };
  const isConcealed = noticeProxies(options);
  const isOwnName = ownNames(options.hostNames);
  /**
   * True when the caller itself made the request. False in three cases:
   * - The request comes through an untrusted proxy.
   * - The request comes from a page of another site, except a page from the origin in `http.corsOrigin`.
   * - The request has a `Host` header for which `isUnderForeignName` is true.
   */
  const isItself = (request: Request) =>
    !isConcealed(request) &&
    !isOfForeignPage(request, options.cors.origin) &&
    !isUnderForeignName(request, isOwnName, options.trustProxy);
  return {
    check: (route, request) => {
      if (route.access === undefined) return;
      if (!isItself(request) || !isServed[route.access](request)) throw accessDenied();
    },
    maySeeForging: (request) => isItself(request) && isServed.forging(request),
  };
}

/** Headers that proxies add to the requests that they forward. */
const PROXY_HEADERS = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
];

/**
 * Creates a function that recognises requests through an untrusted proxy. If the option `trustProxy` is off, the
 * function returns true for each request that came through a proxy. Such a request has the address of the proxy, which
 * often runs on this machine. Without this check, every client of the proxy would get the rights of the proxy's
 * address. A request with HTTP/1.0 also counts as a request through a proxy. The reason is that some proxies add no
 * header and use HTTP/1.0, for example nginx before version 1.29.7 with its default settings. A client gains nothing by
 * adding false proxy headers, because these headers can only remove rights.
 */
function noticeProxies({ trustProxy, observer }: HttpOptions): (request: Request) => boolean {
  let isLogged = false;
  return (request) => {
    const isProxied =
      PROXY_HEADERS.some((name) => request.headers[name] !== undefined) ||
      (request.httpVersionMajor === 1 && request.httpVersionMinor === 0);
    if (trustProxy || !isProxied) return false;
    if (!isLogged) {
      isLogged = true;
      const message =
        'A proxy forwards requests of other machines, and http.trustProxy is off: requests to restricted routes are refused';
      observer.log('warn', 'HTTP_PROXY_NOT_TRUSTED', message, { proxy: request.socket.remoteAddress });
    }
    return true;
  };
}

/**
 * True for a request that a page of another site sends from the browser of its visitor. Even if the address of the
 * visitor is in the list of addresses that are allowed to use the route, the visitor did not intend the request. A page
 * belongs to the node only if the page was loaded from the host and the port to which the request goes. The port
 * matters, because a different port of this machine can belong to a different program. Pages from the origin `allowed`
 * count like pages of the node. If a request has neither `Origin` nor `Sec-Fetch-Site`, the result is false, because
 * clients other than browsers usually send neither header.
 */
function isOfForeignPage({ headers }: Request, allowed: string | boolean): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin === allowed) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || host === undefined || new URL(origin).host !== hostOf(host)?.host;
}

/**
 * True for a request whose `Host` header contains no readable host, or contains a name that does not belong to this
 * node. Such a name can be a sign of DNS rebinding. In this attack, the browser first loads a page from the attacker's
 * host name. Then the attacker changes the DNS record of this name to the node's address. The browser then regards the
 * node as the site of the page. A proxy on this machine can also send a request with such a name. If the `Host` header
 * contains an IP address, the request cannot come from DNS rebinding. But such a request can come from a proxy on this
 * machine. If a client on this machine connects from a loopback address, and the `Host` header of its request contains
 * an IP address, this IP address is usually a loopback address too. The function is therefore also true if a request
 * comes from a loopback address and its `Host` header contains an IP address that is not a loopback address. If the
 * node trusts proxies, the function is false for such a request, because a trusted proxy can send it.
 */
function isUnderForeignName(
  { headers, socket }: Request,
  isOwnName: (name: string) => boolean,
  trustProxy: boolean,
): boolean {
  const name = hostOf(headers.host ?? '')?.hostname;
  if (name === undefined) return true;
  if (name === 'localhost' || isOwnName(name)) return false;
  const address = name.replace(/^\[|\]$/g, '');
  if (isIP(address) === 0) return true;
  return !trustProxy && isLoopback(socket.remoteAddress) && !isLoopback(address);
}

function ownNames(names: readonly string[]): (name: string) => boolean {
  const own = new Set(names.map((name) => name.toLowerCase()));
  return (name) => own.has(name);
}

/**
 * Parses the text of a Host header. Returns a URL with the host in lower case. The URL contains the port only if the
 * port is not the default port. Returns undefined for a text that is not a host.
 */
function hostOf(host: string): URL | undefined {
  return /^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
}

/** True for a loopback address: 127.0.0.0/8 or ::1. */
export function isLoopback(address: string | undefined): boolean {
  return LOOPBACK.includes(address);
}

const LOOPBACK = readAddressList(['127.0.0.0/8', '::1'], SILENT);

/**
 * True if the list contains the IP address of the client that sent the request. If proxies are trusted and the request
 * has the header `X-Forwarded-For`, every address in this header must be in the list. The first address alone proves
 * nothing, because the client itself can have written this address.
 */
function isFrom(list: AddressList, request: Request): boolean {
  return request.ips.length > 0 ? request.ips.every((ip) => list.includes(ip)) : list.includes(request.ip);
}

/**
 * True when the address of the caller is in the list, and the connection itself also comes from a listed address. A
 * listed address in a header alone is not enough.
 */
function isWhollyFrom(list: AddressList, request: Request): boolean {
  return list.includes(request.socket.remoteAddress) && isFrom(list, request);
}

/**
 * Returns an address list that caches the results of lookups. The cache saves time, because a lookup in a `BlockList`
 * takes a few microseconds, and most lookups are for the same few addresses.
 */
function listOf(list: BlockList): AddressList {
  const known = new LruMap<string, boolean>(ADDRESSES_KNOWN_MAX);
  return {
    includes: (address) => {
      if (address === undefined) return false;
      let isListed = known.get(address);
      if (isListed === undefined) {
        const family = isIP(address);
        isListed = family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
        // The cache stores only valid addresses. A client can send a header with a text of any length through a trusted
        // proxy, and such texts could fill the memory.
        if (family !== 0) known.set(address, isListed);
      }
      return isListed;
    },
  };
}

function addEntry(list: BlockList, entry: string): boolean {
  const parts = /^([^/]+)(?:\/([0-9]{1,3}))?$/.exec(entry.trim());
  const address = parts?.[1] ?? '';
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const prefix = Number(parts?.[2] ?? bits);
  if (family === 0 || prefix > bits) return false;
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return true;
}

function refused(message: string, reason: string): Problem {
  return new Problem(403, { message, errors: [reason] });
}
