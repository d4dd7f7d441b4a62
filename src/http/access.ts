/** Access: lists of addresses and networks, and the rules in front of every path. */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Request } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import { SILENT, type Observer } from '../ports/observer.ts';
import { isThisMachine } from './admission/client-address.ts';
import type { HttpOptions } from './options.ts';
import { accessDenied, Problem } from './problems.ts';
import type { Route } from './route.ts';

/** Addresses whose answer a list remembers; 100 bytes for one. */
const ADDRESSES_KNOWN_MAX = 2_000;

/** A list of addresses and networks. */
export interface AddressList {
  /** False for `undefined`: a closed connection has no address any more. */
  includes(address: string | undefined): boolean;
}

/**
 * Reads a whitelist of IPv4 and IPv6 addresses, each with an optional mask (`10.0.0.0/8`). An empty list means nobody. IPv4
 * addresses written as IPv6 (`::ffff:127.0.0.1`) match IPv4 entries. An entry that cannot be read is reported and passed
 * over.
 */
export function readAddressList(entries: readonly string[], observer: Observer): AddressList {
  const list = new BlockList();
  for (const entry of entries)
    if (!addEntry(list, entry))
      observer.log('warn', 'HTTP_WHITELIST_ENTRY_INVALID', 'A whitelist entry is no address or network', { entry });
  return listOf(list);
}

/**
 * The rules that hold for every path, known or not: enabled, listed, writable.
 *
 * @returns what tells why a request is refused; undefined for one that is not
 */
export function createAccessRule(options: HttpOptions): (request: IncomingMessage) => Problem | undefined {
  const listed = readAddressList(options.access.whiteList, options.observer);
  const isListed = (request: IncomingMessage): boolean =>
    clientAddresses(request, options.trustProxy).every((address) => listed.includes(address));
  return (request) => {
    if (!options.enabled) return DISABLED;
    if (!options.access.public && !isListed(request)) return NOT_LISTED;
    return options.readOnly && request.method !== 'GET' ? READ_ONLY : undefined;
  };
}

/** The answer to an address without access. */
export const NOT_LISTED = refused('API access denied', 'API access blocked.');
const DISABLED = refused('API access disabled', 'API is not enabled in this node.');
const READ_ONLY = refused('API write access denied', 'API write access blocked.');

/**
 * The addresses that a request comes from. With trusted proxies, these are the addresses that the proxies name, of which the
 * client itself may have written the first. Otherwise it is the address of the connection.
 */
export function clientAddresses({ headers, socket }: IncomingMessage, trustProxy: boolean): readonly string[] {
  const said = trustProxy ? headers['x-forwarded-for'] : undefined;
  const named = (Array.isArray(said) ? said.join(',') : (said ?? '')).split(',').map((entry) => entry.trim());
  const given = named.filter((entry) => entry !== '');
  return given.length > 0 ? given : [socket.remoteAddress ?? ''];
}

/**
 * Addresses that share the reserve of connections: this machine, and what the operator listed. A block so wide that it names
 * nobody in particular does not count.
 */
export function createTrust(options: HttpOptions): (address: string) => boolean {
  const named = options.access.whiteList.filter((entry) => !isWide(entry));
  const listed = readAddressList(named, SILENT);
  return (address) => isThisMachine(address) || listed.includes(address);
}

function isWide(entry: string): boolean {
  const bits = /\/([0-9]+)\s*$/.exec(entry)?.[1];
  return bits !== undefined && Number(bits) < (entry.includes(':') ? TRUSTED_BITS_MIN_6 : TRUSTED_BITS_MIN_4);
}

/** The widest private network, 10.0.0.0/8. */
const TRUSTED_BITS_MIN_4 = 8;
/** What a provider gets. */
const TRUSTED_BITS_MIN_6 = 32;

export interface RouteGuard {
  /** Throws what refuses a caller that a route does not serve. */
  check(route: Route, request: Request): void;
  /** Whether the caller may know who forges on this node. */
  maySeeForging(request: Request): boolean;
}

/** The rules of single routes, which hold besides those of every path. */
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
  /** Addresses say who asks only when nothing between stands in for somebody else. */
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

/** Headers that proxies add. */
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
 * Whether a request comes through a proxy although none is trusted: then the address is the proxy's, mostly this machine's,
 * and whoever asks the proxy would pass for it. HTTP/1.0 counts as a sign too: what still speaks it is a proxy that adds no
 * header, as nginx is by default. A sign can only take rights away here, so anybody may give one.
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
      const message = 'A proxy asks for others, and http.trustProxy is off: what is for this machine alone is refused';
      observer.log('warn', 'HTTP_PROXY_NOT_TRUSTED', message, { proxy: request.socket.remoteAddress });
    }
    return true;
  };
}

/**
 * Whether a page of another site asks, in a browser on a machine that is listed: the visitor of the page did not mean to. A
 * page is the node's own when it was loaded from the very host and port that it asks; another port of this machine may belong
 * to anybody. Programs send neither header.
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
 * Whether a request names a host that is not known to be this node. A page whose name was pointed at this node after it was
 * loaded asks so, and its browser takes the node for the page's own site; so does a proxy of this machine that passes the name
 * on. An address cannot be pointed elsewhere, but one that is not of this machine itself, asked from this machine, was asked of
 * a proxy.
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

/** Reads the Host header: lower case, with the port unless it is the usual one. */
function hostOf(host: string): URL | undefined {
  return /^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
}

/** Whether an address is this machine's own. */
export function isLoopback(address: string | undefined): boolean {
  return LOOPBACK.includes(address);
}

const LOOPBACK = readAddressList(['127.0.0.0/8', '::1'], SILENT);

/**
 * Whether the caller is listed. Where proxies are trusted, every address that they name must be: the first of them is
 * what the caller wrote itself.
 */
function isFrom(list: AddressList, request: Request): boolean {
  return request.ips.length > 0 ? request.ips.every((ip) => list.includes(ip)) : list.includes(request.ip);
}

/** The same, and the connection itself comes from a listed address: a header alone is never enough. */
function isWhollyFrom(list: AddressList, request: Request): boolean {
  return list.includes(request.socket.remoteAddress) && isFrom(list, request);
}

/** Looking an address up takes the runtime some 10 us, and the same few ask over and over. */
function listOf(list: BlockList): AddressList {
  const known = new LruMap<string, boolean>(ADDRESSES_KNOWN_MAX);
  return {
    includes: (address) => {
      if (address === undefined) return false;
      let isListed = known.get(address);
      if (isListed === undefined) {
        const family = isIP(address);
        isListed = family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
        // What is no address may be of any length: a proxy passes on what a client wrote.
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
