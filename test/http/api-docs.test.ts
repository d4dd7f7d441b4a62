import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import { fakeNode } from './fake-node.ts';

const DIRECTORY = fileURLToPath(new URL('../../src/dashboard/api-docs/', import.meta.url));
const DASHBOARD = fileURLToPath(new URL('../../src/dashboard/bundle/', import.meta.url));
/**
 * Maximum total size of the compressed files of the page of the API documentation, in bytes. Swagger UI alone has
 * 489 kB compressed.
 */
const PACKED_BYTES_MAX = 560_000;

async function start(t: ExecutionContext, options: Partial<HttpOptions> = {}): Promise<string> {
  const settings = { port: 0, address: '127.0.0.1', apiDocsDirectory: DIRECTORY, ...options };
  const server = createHttpServer(fakeNode(3).api, settings);
  const { port } = await server.start();
  t.teardown(() => server.close());
  return `http://127.0.0.1:${port}`;
}

/**
 * Sends each request over a new connection, because the node may close an idle connection just when a client uses it
 * again.
 */
function get(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, headers: { connection: 'close', ...init.headers } });
}

function assetsNamed(page: string): readonly string[] {
  return [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
}

test('the API documentation uses only files of the node, which may be cached forever, compressed or plain', async (t) => {
  const url = await start(t);
  const page = await get(`${url}/api/docs`);
  t.is(page.status, 200);
  t.is(page.headers.get('cache-control'), 'no-cache');
  const html = await page.text();
  t.notRegex(html, /https?:\/\//);
  const assets = assetsNamed(html);
  t.is(assets.length, 5);
  let packedBytes = 0;
  for (const path of assets) {
    t.regex(path, /-[0-9a-f]{8}\.(css|js|svg)$/);
    const file = join(DIRECTORY, path.replace('/assets/api-docs/', 'assets/'));
    const packed = readFileSync(`${file}.gz`);
    packedBytes += packed.length;
    const asked = await get(`${url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
    t.is(asked.headers.get('content-encoding'), 'gzip', path);
    t.is(Number(asked.headers.get('content-length')), packed.length, path);
    t.regex(asked.headers.get('cache-control') ?? '', /immutable/);
    t.is(asked.headers.get('x-content-type-options'), 'nosniff');
    t.regex(asked.headers.get('content-type') ?? '', /charset=utf-8$|^image\/svg\+xml$/);
    const plain = await get(`${url}${path}`, { headers: { 'accept-encoding': 'identity' } });
    t.is(plain.headers.get('content-encoding'), null, path);
    // `deepEqual` would block the server of the other tests for many seconds.
    t.true(Buffer.from(await plain.arrayBuffer()).equals(gunzipSync(packed)), path);
  }
  t.true(packedBytes < PACKED_BYTES_MAX, `${packedBytes} bytes`);
});

test('the page tells browsers to run only files of the node and to contact no other host', async (t) => {
  const url = await start(t);
  for (const path of ['/api/docs', '/docs', '/api/docs?plain=true']) {
    const policy = (await get(`${url}${path}`)).headers.get('content-security-policy') ?? '';
    t.regex(policy, /^default-src 'none';/, path);
    t.regex(policy, /frame-ancestors 'none'/, path);
    t.notRegex(policy, /unsafe|\*|https?:/, path);
  }
});

test('the plain page is served without the folder of the API documentation, and on request', async (t) => {
  const url = await start(t);
  const plain = await (await get(`${url}/api/docs?plain=true`)).text();
  t.true(plain.includes('multisignature_groups'));
  t.notRegex(plain, /<script/);
  for (const options of [
    { apiDocsDirectory: '/nowhere' },
    { apiDocsDirectory: '/nowhere', dashboardDirectory: DASHBOARD },
  ]) {
    const without = await start(t, options);
    t.is(await (await get(`${without}/api/docs`)).text(), plain);
  }
});

test('files of the API documentation are served read-only to allowed clients, beside those of the dashboard', async (t) => {
  const url = await start(t, { dashboardDirectory: DASHBOARD });
  const [asset = ''] = assetsNamed(await (await get(`${url}/api/docs`)).text());
  t.is((await get(`${url}${asset}`)).status, 200);
  t.is((await (await get(`${url}${asset}`, { method: 'HEAD' })).arrayBuffer()).byteLength, 0);
  t.is((await get(`${url}${asset}`, { method: 'POST' })).status, 404);
  for (const path of ['/assets/api-docs/', '/assets/api-docs/..%2findex.html', '/assets/api-docs/LICENSES.txt'])
    t.is((await get(`${url}${path}`)).status, 404, path);
  const [own = ''] = assetsNamed(await (await get(`${url}/`)).text());
  t.is((await get(`${url}${own}`)).status, 200);
  const closed = await start(t, { access: { public: false, whiteList: [] } });
  t.is((await get(`${closed}${asset}`)).status, 403);
});

test('the library is the published one, with its licence, and installs without sending anything', (t) => {
  const library = join(packageDirectory(), 'node_modules', 'swagger-ui-dist');
  const html = readFileSync(join(DIRECTORY, 'index.html'), 'utf8');
  const [, name = ''] = /\/assets\/api-docs\/(swagger-ui-bundle-[^"]+)"/.exec(html) ?? [];
  const served = gunzipSync(readFileSync(join(DIRECTORY, 'assets', `${name}.gz`))).toString('utf8');
  const published = readFileSync(join(library, 'swagger-ui-bundle.js'), 'utf8');
  t.true(published.startsWith(served.trimEnd()));
  t.true(published.length - served.length < 100);
  t.regex(readFileSync(join(DIRECTORY, 'LICENSES.txt'), 'utf8'), /Apache License/);
  const lock = JSON.parse(readFileSync(join(packageDirectory(), 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { name?: string; hasInstallScript?: boolean }>;
  };
  const reporters = Object.entries(lock.packages).filter(([path]) => path.endsWith('@scarf/scarf'));
  t.deepEqual(
    reporters.map(([, { name, hasInstallScript }]) => ({ name, hasInstallScript })),
    [{ name: 'empty-npm-package', hasInstallScript: undefined }],
  );
});
