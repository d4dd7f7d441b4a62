/** Serves the dashboard from memory: the page at `/`, and the files of that page under `/assets/`. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Request, RequestHandler, Response } from 'express';
import { isLoopback } from './access.ts';

interface File {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly packed: Buffer;
  readonly cacheControl: string;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Value of `Cache-Control` for an asset. The name of an asset contains a hash of its content, so an asset with the same
 * name always has the same content.
 */
const FOR_EVER = 'public, max-age=31536000, immutable';
/**
 * Value of `Cache-Control` for the page. The page refers to the assets of one version of the dashboard, so the browser
 * must check before each use whether the page has changed.
 */
const ASK_EVERY_TIME = 'no-cache';

/**
 * @param directory folder that `bin/bundle.js` wrote
 * @param isDevnet true if the page is allowed to show the controls of a devnet
 * @returns a handler that serves `/` and `/assets/...` and passes other requests on; undefined when the folder does not
 *   contain `index.html`
 */
export function serveDashboard(directory: string, isDevnet = false): RequestHandler | undefined {
  const page = join(directory, 'index.html');
  if (!existsSync(page)) return undefined;
  const html = readFileSync(page, 'utf8');
  const marked = isDevnet ? html.replace('<html ', '<html data-devnet ') : html;
  const files = new Map([['/', fileFrom(Buffer.from(marked), '.html', ASK_EVERY_TIME)]]);
  const assets = join(directory, 'assets');
  for (const name of readdirSync(assets)) files.set(`/assets/${name}`, fileOf(join(assets, name), FOR_EVER));
  return (request, response, next) => {
    const file = files.get(request.path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (file === undefined || !isRead) return next();
    send(file, request, response);
  };
}

/** True for a path that can be a file of the dashboard. */
export function isDashboardPath(path: string): boolean {
  return path === '/' || path.startsWith('/assets/');
}

function send(file: File, request: Request, response: Response): void {
  const isPacked = request.acceptsEncodings('gzip') === 'gzip' && file.packed.length < file.plain.length;
  const body = isPacked ? file.packed : file.plain;
  response.setHeader('Content-Type', file.contentType);
  response.setHeader('Content-Length', body.length);
  response.setHeader('Cache-Control', file.cacheControl);
  response.setHeader('Content-Security-Policy', policyFor(request));
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.vary('Accept-Encoding');
  if (isPacked) response.setHeader('Content-Encoding', 'gzip');
  response.status(200).end(request.method === 'HEAD' ? undefined : body);
}

/**
 * Content security policy of the page. If the connection comes from a loopback address, the page is also allowed to
 * load data from other nodes on this machine. The page can then compare the nodes of a devnet.
 */
function policyFor(request: Request): string {
  const others = isLoopback(request.socket.remoteAddress) ? ' http://127.0.0.1:*' : '';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${others}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function fileOf(path: string, cacheControl: string): File {
  return fileFrom(readFileSync(path), extname(path), cacheControl);
}

function fileFrom(plain: Buffer, extension: string, cacheControl: string): File {
  const contentType = CONTENT_TYPES[extension] ?? 'application/octet-stream';
  return { contentType, plain, packed: gzipSync(plain, { level: 9 }), cacheControl };
}
