/**
 * Reads the interactive API documentation from a folder: the page for the route `/docs`, and the files of the page. The
 * route sends the page, and this module serves the files under `/assets/api-docs/`. The build compresses the files, but
 * not the page.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';

export interface ApiDocsPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ApiDocs {
  readonly page: ApiDocsPage;
  /** Serves the files of the page, and passes other requests on. */
  readonly serveFiles: RequestHandler;
}

/**
 * Content security policy of the page. The policy allows scripts, styles, images and data from the node. For images, it
 * also allows `data:` URLs, because the style sheet contains such URLs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const COMMON_HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PACKED = '.gz';

/**
 * @param directory folder that `bin/api-docs.js` wrote
 * @returns undefined when the folder does not contain `index.html`
 */
export function openApiDocs(directory: string): ApiDocs | undefined {
  const file = join(directory, 'index.html');
  if (!existsSync(file)) return undefined;
  const assets = join(directory, 'assets');
  const names = new Map(readdirSync(assets).map((name) => [`/assets/api-docs/${name.slice(0, -PACKED.length)}`, name]));
  /**
   * Files that were requested, by name. If all files are in memory, each in two forms (compressed and uncompressed),
   * they take about 2.4 MB. Most nodes never need the files, so a file is read when it is first requested.
   */
  const read = new Map<string, { readonly packed: Buffer; plain?: Buffer }>();
  const serveFiles: RequestHandler = (request, response, next) => {
    const name = names.get(request.path);
    if (name === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return next();
    let asset = read.get(name);
    if (asset === undefined) read.set(name, (asset = { packed: readFileSync(join(assets, name)) }));
    const isPacked = request.acceptsEncodings('gzip') === 'gzip';
    const body = isPacked ? asset.packed : (asset.plain ??= gunzipSync(asset.packed));
    response.set(COMMON_HEADERS);
    response.setHeader('Content-Type', CONTENT_TYPES[extname(request.path)] ?? 'application/octet-stream');
    response.setHeader('Content-Length', body.length);
    // The name of a file contains a hash of its content, so a file with the same name always has the same content.
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    response.vary('Accept-Encoding');
    if (isPacked) response.setHeader('Content-Encoding', 'gzip');
    response.status(200).end(request.method === 'HEAD' ? undefined : body);
  };
  const headers = { ...COMMON_HEADERS, 'Cache-Control': 'no-cache' };
  return { page: { html: readFileSync(file, 'utf8'), headers }, serveFiles };
}
