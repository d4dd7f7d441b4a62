/** Tests `bloomery/client` in a web page of another origin than the node's, like the page of a web application. */

import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { packageDirectory } from '../../src/config/package.ts';
import { startDevnet, type TestDevnet } from '../../src/testing/index.ts';
import type { Untyped } from '../support/untyped.ts';
import { problemsOf } from './looks.ts';

export interface ClientPageOptions {
  readonly generation: 2 | 3;
  /** Path of the browser's executable. */
  readonly chromium: string;
}

const HTML = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>client</title>';
const BLOCKS = 120;
const LSK = 100_000_000n;

/** The values that `useClient` collects in the page from the results of the client. */
interface Seen {
  readonly address: string;
  readonly balance: string;
  readonly heights: readonly number[];
  readonly event: { readonly type: string; readonly amount: string };
  readonly waited: number;
  readonly refusal: { readonly code: string; readonly status: number };
}

/**
 * Uses the client in a browser: requests an account, reads several pages of a list, receives an event, and waits for a
 * transaction. Then sends an invalid transaction, which the node must refuse.
 *
 * @throws Error if the received values differ from the expected values, or if the page has an unexpected error or
 *   warning
 */
export async function browseClient({ generation, chromium: executablePath }: ClientPageOptions): Promise<void> {
  const net = await startDevnet({ generation, ...(generation === 3 ? { delegates: 5 } : {}) });
  const server = await servePage();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    await net.mine(BLOCKS);
    const page = await browser.newPage();
    const problems = problemsOf(page);
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const to = net.account('account_2').address;
    const running = page.evaluate(useClient, { url: net.url, generation, to }) as Promise<Seen>;
    const sent = await whenItFollows(page, () => net.send('account_1', { kind: 'transfer', to, amount: 5n * LSK }));
    await page.evaluate((id) => ((globalThis as Untyped).sentId = id), sent.id);
    check(await running, net, sent.height ?? 0);
    // Lines about the refused transaction and about the closed event stream are expected.
    const others = problems.filter((line) => !/\b400\b/.test(line) && !/\/api\/events\?/.test(line));
    if (others.length > 0) throw new Error(`the page of the client had problems: ${others.join('; ')}`);
  } finally {
    await browser.close();
    server.close();
    await net.close();
  }
}

function check(seen: Seen, net: TestDevnet, sentHeight: number): void {
  const expected: Seen = {
    address: net.account('account_2').address,
    balance: 'bigint',
    heights: Array.from({ length: BLOCKS + 1 }, (_, index) => index + 1),
    event: { type: 'blocks/new', amount: 'bigint' },
    waited: sentHeight,
    refusal: { code: 'REFUSED', status: 400 },
  };
  const [found, wanted] = [seen, expected].map((each) => JSON.stringify(each));
  if (found !== wanted) throw new Error(`the page of the client saw ${found}, not ${wanted}`);
}

/** Runs inside the page. */
async function useClient({ url, generation, to }: { url: string; generation: number; to: string }): Promise<unknown> {
  const place = '/client.js';
  const { createClient } = (await import(place)) as Untyped;
  const client = createClient(url, { generation });
  const page = globalThis as Untyped;
  const { data } = await client.get('/accounts', { address: to });
  const heights: number[] = [];
  for await (const { height } of client.items('/blocks', { sort: 'height:asc' })) heights.push(height);
  const ended = new AbortController();
  const events = client.events({ types: ['blocks/new'], signal: ended.signal });
  const first = events.next();
  const { value } = await first;
  ended.abort();
  while (page.sentId === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  const { height: waited } = await client.waitFor(page.sentId);
  const refusal = await client.post('/transactions', { type: 0 }).catch((error: unknown) => error);
  return {
    address: data[0].address,
    balance: typeof data[0].balance,
    heights,
    event: { type: value.type, amount: typeof value.data.totalAmount },
    waited,
    refusal: { code: refusal.code, status: refusal.status },
  };
}

/**
 * Waits until the event stream of the page is open, and then runs `work`. The stream does not contain events from
 * before it was open.
 */
async function whenItFollows<T>(page: Page, work: () => Promise<T>): Promise<T> {
  await page.waitForResponse(/\/api\/events/);
  return work();
}

async function servePage(): Promise<Server> {
  const client = readFileSync(join(packageDirectory(), 'dist/src/bundle/client.js'));
  const server = createServer(({ url }, response) => {
    const isClient = url === '/client.js';
    response.setHeader('content-type', isClient ? 'text/javascript' : 'text/html');
    response.end(isClient ? client : HTML);
  });
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  return server;
}
