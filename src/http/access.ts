/** Who may ask: lists of addresses and networks, and the rules in front of every path. */

import { BlockList, isIP } from 'node:net';
import { hostname as machineName } from 'node:os';
import type { Request, RequestHandler } from 'express';
import { SILENT, type Observer } from '../ports/observer.ts';
import type { HttpOptions } from './options.ts';
import { accessDenied, Problem } from './problems.ts';
import type { Route } from './route.ts';

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

/** The rules that hold for every path, known or not: enabled, listed, writable. */
export function guardAccess(options: HttpOptions): RequestHandler {
  const listed = readAddressList(options.access.whiteList, options.observer);
  return (request, _response, next) => {
    if (!options.enabled) throw refused('API access disabled', 'API is not enabled in this node.');
    if (!options.access.public && !isFrom(listed, request)) throw refused('API access denied', 'API access blocked.');
    if (options.readOnly && request.method !== 'GET')
      throw refused('API write access denied', 'API write access blocked.');
    next();
  };
}

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
  /** Addresses say who asks only when nothing between stands in for somebody else. */
  const isItself = (request: Request) =>
    !isConcealed(request) &&
    !isOfForeignPage(request, options.cors.origin) &&
    (options.trustProxy || !isUnderForeignName(request));
  return {
    check: (route, request) => {
      if (route.access === undefined) return;
      if (!isItself(request) || !isServed[route.access](request)) throw accessDenied();
    },
    maySeeForging: (request) => isItself(request) && isServed.forging(request),
  };
}

/** Headers by which proxies name whom they ask for. */
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip'];

/**
 * Whether a request comes through a proxy although none is trusted: then the address is the proxy's, mostly this machine's,
 * and whoever asks the proxy would pass for it. A header can only take rights away here, so anybody may send it.
 */
function noticeProxies({ trustProxy, observer }: HttpOptions): (request: Request) => boolean {
  let isTold = false;
  return (request) => {
    if (trustProxy || !PROXY_HEADERS.some((name) => request.headers[name] !== undefined)) return false;
    if (!isTold) {
      isTold = true;
      const message = 'A proxy asks for others, and http.trustProxy is off: what is for this machine alone is refused';
      observer.log('warn', 'HTTP_PROXY_NOT_TRUSTED', message, { proxy: request.socket.remoteAddress });
    }
    return true;
  };
}

/**
 * Whether a page of another site asks, in a browser on a machine that is listed: the visitor of the page did not mean to.
 * Programs send no origin, and pages of the node itself none or their own.
 */
function isOfForeignPage({ headers }: Request, allowed: string | boolean): boolean {
  const { origin, host } = headers;
  if (origin === undefined || origin === allowed) return false;
  const page = URL.canParse(origin) ? new URL(origin) : undefined;
  return page === undefined || (page.host !== host && !LOOPBACK_NAMES.has(page.hostname));
}

/**
 * Whether this machine asks itself by a name that anybody can own. A page whose name was pointed at this machine after it was
 * loaded asks so, and its browser takes the node for the page's own site.
 */
function isUnderForeignName({ headers, socket }: Request): boolean {
  if (!isLoopback(socket.remoteAddress)) return false;
  const { host = '' } = headers;
  const { hostname } = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : { hostname: '' };
  const isOwn = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || !hostname.includes('.') || OWN_NAME.test(hostname);
  return !isOwn && hostname !== machineName().toLowerCase();
}

/** Endings that no registry of names gives away. */
const OWN_NAME = /\.(?:localhost|local|internal|home\.arpa)$/;

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

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

function listOf(list: BlockList): AddressList {
  return {
    includes: (address) => {
      const family = isIP(address ?? '');
      return address !== undefined && family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
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
