import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import { fakeNode } from './fake-node.ts';

const DIRECTORY = fileURLToPath(new URL('../../src/dashboard/bundle/', import.meta.url));
const BYTES_MAX = 100_000;

async function serveDashboard(t: ExecutionContext, options: Partial<HttpOptions> = {}): Promise<string> {
  const server = createHttpServer(fakeNode(3).api, {
    port: 0,
    address: '127.0.0.1',
    dashboardDirectory: DIRECTORY,
    ...options,
  });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return `http://127.0.0.1:${port}`;
}

function assetsNamed(page: string): readonly string[] {
  return [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
}

test('the page is revalidated at each request, and its files may be cached forever', async (t) => {
  const url = await serveDashboard(t);
  const page = await fetch(`${url}/`);
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(page.headers.get('cache-control'), 'no-cache');
  const assets = assetsNamed(await page.text());
  t.is(assets.length, 3);
  for (const path of assets) {
    const asset = await fetch(`${url}${path}`);
    t.is(asset.status, 200, path);
    t.regex(path, /-[0-9a-f]{8}\.(css|js|svg)$/);
    t.regex(asset.headers.get('cache-control') ?? '', /immutable/);
    t.is(asset.headers.get('x-content-type-options'), 'nosniff');
    t.true(Buffer.from(await asset.arrayBuffer()).equals(readFileSync(join(DIRECTORY, path))), path);
  }
});

test('the page of a devnet is marked, other pages are not', async (t) => {
  const devnet = { ask: () => Promise.resolve({}) };
  t.true((await (await fetch(await serveDashboard(t, { devnet }))).text()).includes('<html data-devnet '));
  t.false((await (await fetch(await serveDashboard(t))).text()).includes('data-devnet'));
});

test('the page tells browsers to load nothing from other origins', async (t) => {
  const url = await serveDashboard(t);
  const policy = (await fetch(`${url}/`)).headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'none'/);
  t.regex(policy, /frame-ancestors 'none'/);
  t.notRegex(policy, /unsafe|\*(?!;|$)|https:/);
  // The files may contain the loopback address, and the addresses of the XML namespaces of SVG and MathML. No browser
  // requests the addresses of XML namespaces.
  for (const file of readdirSync(join(DIRECTORY, 'assets'))) {
    const text = readFileSync(join(DIRECTORY, 'assets', file), 'utf8');
    const addresses = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address);
    t.deepEqual(
      [...new Set(addresses)].filter((address) => !/www\.w3\.org|127\.0\.0\.1/.test(address)),
      [],
      file,
    );
  }
});

test('the whole page is less than 100 KB compressed', (t) => {
  const files = ['index.html', ...readdirSync(join(DIRECTORY, 'assets')).map((name) => join('assets', name))];
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(DIRECTORY, file))).length, 0);
  t.true(bytes < BYTES_MAX, `${bytes} bytes`);
});

test('the page is served read-only to allowed clients, and not at all when it is disabled', async (t) => {
  const closed = await serveDashboard(t, { access: { public: false, whiteList: [] } });
  t.is((await fetch(`${closed}/`)).status, 403);
  const open = await serveDashboard(t);
  t.is((await fetch(`${open}/`, { method: 'POST' })).status, 404);
  t.is((await fetch(`${open}/assets/`)).status, 404);
  t.is((await fetch(`${open}/assets/../../package.json`)).status, 404);
  t.is((await fetch(`${open}/assets/%2e%2e/index.html`)).status, 404);
  t.is((await (await fetch(`${open}/`, { method: 'HEAD' })).text()).length, 0);
  const off = await serveDashboard(t, { dashboardDirectory: '/nowhere' });
  t.is((await fetch(`${off}/`)).status, 404);
});
