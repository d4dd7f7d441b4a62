/** Visits all pages of the dashboard in a browser: clicks, waits for expected texts, and takes screenshots. */

import { strict as assert } from 'node:assert';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { startTestDevnet, waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';
import { checkBackButton, checkSlowReturn } from './back-button.ts';
import { visitDevnetControls } from './devnet-controls.ts';
import { isOfRefusal, visitForgingView, visitLists, visitPages, visitSuggestions } from './lists-and-forging.ts';
import { LOOKS, photographer, problemsOf } from './looks.ts';
import { visitApiDocs } from './api-docs-page.ts';
import { visitRareStates } from './rare-states.ts';

export interface BrowseOptions {
  /** Folder for the screenshots. */
  readonly directory: string;
  readonly generation: 2 | 3;
  /**
   * Names of the combinations of screen size and colour scheme (keys of `LOOKS`) with which the test visits the
   * dashboard; default: all combinations.
   */
  readonly looks?: readonly string[];
  /** Path of the browser's executable. */
  readonly chromium: string;
  readonly log: (line: string) => void;
}

/** Pages about things that do not exist. Each entry contains the name of the screenshot, and the path of the page. */
const ABSENT = [
  ['no-block', '#/blocks/4000000'],
  ['no-transaction', '#/transactions/1'],
  ['no-account', '#/accounts/1L'],
  ['no-delegate', '#/delegates/nobody'],
] as const;

/** The visits begin when the chain has at least this height, so that the list of blocks has more than one page. */
const BLOCKS_MIN = 32;
const TRANSFERS = 25;
const WAIT_MS = 60_000;

const load = createRequire(import.meta.url);

/**
 * @returns number of screenshots
 * @throws Error if a page lacks an expected element or text, if the browser logs an unexpected error or warning, or if
 *   a check before a screenshot fails
 */
export async function browse(options: BrowseOptions): Promise<number> {
  mkdirSync(options.directory, { recursive: true });
  const network = options.generation === 2 ? 'devnet-gen2' : 'devnet';
  const devnet = await startTestDevnet({ nodes: 4, network });
  let browser: Browser | undefined;
  try {
    const address = await sendTransfers(devnet, options.generation);
    browser = await chromium.launch({ executablePath: options.chromium, args: ['--no-sandbox'] });
    let screenshots = 0;
    const looks = Object.entries(LOOKS).filter(([name]) => options.looks?.includes(name) ?? true);
    for (const [name, look] of looks) {
      screenshots += await visit(browser, { devnet, address, name, look, options });
      const url = devnet.nodes[0]?.url ?? '';
      screenshots += await visitApiDocs(browser, { url, name, look, directory: options.directory });
      options.log(`${name}: everything was there`);
    }
    await checkSlowReturn(browser, devnet);
    options.log('a slow return leads to the same place');
    for (const look of ['desktop-light', 'phone-dark']) {
      screenshots += await visitRareStates(browser, { devnet, name: look, directory: options.directory });
    }
    options.log('what is rare shows too');
    screenshots += await watchLosses(browser, devnet, options.directory);
    options.log('a lost node shows, and its return');
    const { generation, directory } = options;
    screenshots += await visitDevnetControls(browser, { generation, directory, looks: looks.map(([name]) => name) });
    options.log('the controls of a devnet work');
    return screenshots;
  } finally {
    await browser?.close();
    await devnet.close();
  }
}

/** @returns address of an account that received transfers */
async function sendTransfers(devnet: TestDevnet, generation: 2 | 3): Promise<string> {
  const [, from, to] = readAccounts(devnet.network.directory);
  assert(from !== undefined && to !== undefined, 'the devnet has accounts');
  const { transfer } = load(`lisk-transactions-${generation}`);
  const { networkIdentifier } = devnet.network.params;
  const post = async (index: number): Promise<boolean> => {
    const transaction: Untyped = transfer({
      networkIdentifier,
      amount: String(123_456_789 * (index + 1)),
      recipientId: to.address,
      passphrase: from.passphrase,
    });
    const response = await fetch(`${devnet.nodes[0]?.url}/api/transactions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(transaction),
    });
    return response.ok;
  };
  for (let index = 0; index < TRANSFERS; index++) {
    assert(await waitFor('an accepted transfer', () => post(index), WAIT_MS), 'the node takes transfers');
    // The recipient's balance must change at two times, because the chart “Balance over time” needs two points.
    if (index === 0) await sleep(1500);
  }
  const client = devnet.nodes[0]?.client;
  await waitFor('enough blocks', async () => ((await client?.status())?.height ?? 0) >= BLOCKS_MIN, WAIT_MS);
  return to.address;
}

interface Visit {
  readonly devnet: TestDevnet;
  readonly address: string;
  readonly name: string;
  readonly look: BrowserContextOptions;
  readonly options: BrowseOptions;
}

async function visit(browser: Browser, { devnet, address, name, look, options }: Visit): Promise<number> {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  const problems = problemsOf(page);
  const photographs = photographer(page, name, options.directory);
  const photograph = photographs.take;
  const open = (view: string): Promise<void> => page.getByRole('navigation', { name: 'Views' }).getByText(view).click();
  const heading = async (text: string | RegExp): Promise<void> =>
    page.getByRole('heading', { level: 1, name: text }).waitFor();

  await page.goto(`${devnet.nodes[0]?.url}/`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('heading', { name: /^Round \d+$/ }).waitFor();
  await page.getByRole('region', { name: 'Nodes on this machine' }).getByText('in step').nth(3).waitFor();
  const slots = await page.locator('.slots li').count();
  assert(slots >= 100 && slots <= 210, `the round has ${slots} slots`);
  const before = await heightShown(page);
  await waitFor('a live block', async () => (await heightShown(page)) > before, WAIT_MS);
  assert.equal(await page.locator('.figures .bad').count(), 0, `${name}: a healthy devnet has no alarming figure`);
  await photograph('glance');

  // Use the keyboard to go to the previous slot of the round, and to open the page of this slot.
  await page.locator('.slots a[tabindex="0"]').focus();
  await page.keyboard.press('ArrowLeft');
  assert.match(await page.locator('.slot-line').innerText(), /forged|missed|has the/);
  await photograph('focus');
  await page.keyboard.press('Enter');
  await heading(/^(Block \d+|Delegate .+)$/);

  await open('Blocks');
  await heading('Blocks');
  await page.locator('tbody tr').nth(5).waitFor();
  await photograph('blocks');
  await page.getByRole('link', { name: /^\d+$/ }).first().click();
  await heading(/^Block \d+$/);
  await page.getByText('Payload hash').waitFor();
  await photograph('block-empty');
  await page.getByRole('link', { name: /^← \d+$/ }).click();
  await heading(/^Block \d+$/);
  await page
    .getByRole('main')
    .getByRole('link', { name: /^genesis_\d+$/ })
    .first()
    .click();
  await heading(/^Delegate genesis_\d+$/);
  await page.getByText(/^\d+ accounts?/).click();
  await photograph('delegate');

  await open('Transactions');
  await heading('Transactions');
  await page.locator('tbody').getByText('Transfer').and(page.locator(':visible')).first().waitFor();
  await photograph('transactions');
  await page.locator('tbody a[href^="#/transactions/"]:visible').first().click();
  await heading('Transaction');
  await page
    .locator('.badge')
    .getByText(/^(confirmed|final)$/)
    .waitFor();
  await page.getByText(/^(confirmed|final) \d+ confirmations?$/).waitFor();
  await page.getByText(/sends [\d.]+ LSK to/).waitFor();
  await page.getByText('JSON', { exact: true }).click();
  await page.getByText('"senderPublicKey"').waitFor();
  await page
    .getByRole('button', { name: /^Copy / })
    .first()
    .waitFor();
  await photograph('transaction');
  await page.getByRole('main').getByRole('link', { name: /^\d+$/ }).click();
  await heading(/^Block \d+$/);
  await page.locator('tbody').getByText('Transfer').and(page.locator(':visible')).first().waitFor();
  await photograph('block');

  await open('Pool');
  await heading('Pool');
  await photograph('pool');

  await open('Accounts');
  await heading('Accounts');
  await page.getByRole('link', { name: address }).first().waitFor();
  await photograph('accounts');
  await page.getByRole('link', { name: address }).first().click();
  await heading(`Account ${address}`);
  await page.locator('tbody').getByText('Transfer').and(page.locator(':visible')).first().waitFor();
  await page.getByRole('heading', { name: 'Balance over time' }).waitFor();
  await photograph('account');

  await open('Delegates');
  await page.getByRole('link', { name: 'genesis_1', exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Last rounds' }).waitFor();
  await photograph('delegates');
  await checkBackButton(page);
  await open('Peers');
  await page.getByText('connected', { exact: true }).nth(2).waitFor();
  await page.getByText(/^3 connected/).waitFor();
  await photograph('peers');
  await open('Nodes');
  await page.getByText('in step').nth(3).waitFor();
  await photograph('nodes');
  await open('Forging');
  await page.getByText('on', { exact: true }).first().waitFor();
  // Until the results of a delegate, for example its earnings, are loaded, its cells show `…`.
  await page.getByRole('cell', { name: '…' }).first().waitFor({ state: 'detached' });
  await photograph('forging');
  await open('Diagnostics');
  await heading('Diagnostics');
  await photograph('diagnostics');

  await open('Charts');
  await heading('Charts');
  await page.getByRole('heading', { level: 2, name: 'Block delay, ms' }).waitFor({ timeout: WAIT_MS });
  await page.getByText(/^\d+ transactions? in \d+ blocks?$/).waitFor();
  await photograph('charts');
  await page.getByRole('link', { name: 'Last day' }).click();
  await page.locator('.choices [aria-current]').getByText('Last day').waitFor();
  assert.equal(await page.evaluate('location.hash'), '#/charts?span=day');

  const visitOfLists = { page, devnet, photographs, isPhone: look.hasTouch === true, address };
  await visitForgingView(visitOfLists);
  await visitLists(visitOfLists);
  await visitPages(visitOfLists);
  await visitSuggestions(visitOfLists);

  await seek(page, '1', /^Block 1$/);
  await page.keyboard.press('/');
  assert.equal(await page.evaluate('document.activeElement.type'), 'search', `${name}: the key / leads to the search`);
  await seek(page, address.slice(0, -1), `Account ${address}`);
  await seek(page, address, `Account ${address}`);
  await seek(page, 'genesis_7', 'Delegate genesis_7');
  await page.locator('input[type="search"]').fill('no such thing!');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing has that name.').waitFor();
  await photograph('search-failed');
  await page.locator('input[type="search"]').fill('');
  await page.goBack();
  await heading(`Account ${address}`);
  await seek(page, 'genesis_9', 'Delegate genesis_9');
  await page.getByText(/^\d+ accounts?/).click();
  await page.locator('.more a').first().click();
  await page.getByText(/^\d+ delegates?$/).click();
  await page.getByRole('link', { name: 'genesis_9', exact: true }).waitFor();
  await photograph('account-votes');
  for (const [what, hash] of ABSENT) {
    await page.evaluate(`location.hash = '${hash}'`);
    await page.locator('.none').waitFor();
    await photograph(what);
  }
  const unexpected = problems.filter((problem) => !isOfRefusal(problem));
  assert.deepEqual(unexpected, [], `${name}: errors in the console`);
  await context.close();
  return photographs.taken();

  async function seek(where: Page, text: string, found: string | RegExp): Promise<void> {
    await where.locator('input[type="search"]').fill(text);
    await where.getByRole('button', { name: 'Search' }).click();
    await heading(found);
  }
}

/**
 * Pauses the node that serves the page, and then another node. Then stops both nodes, and restarts the node that serves
 * the page. The page must show that a node does not answer, and must recover by itself when the node answers again.
 * While a node is paused, the page must still update the rows of the other nodes.
 */
async function watchLosses(browser: Browser, devnet: TestDevnet, directory: string): Promise<number> {
  const page = await browser.newPage();
  const [own, , , other] = devnet.nodes;
  assert(own !== undefined && other !== undefined, 'there are four nodes');
  await page.goto(`${own.url}/`);
  await page.getByText('in step').nth(3).waitFor();
  const nodes = page.getByRole('region', { name: 'Nodes on this machine' });
  own.pause(true);
  await page.getByText('The node does not answer').waitFor({ timeout: WAIT_MS });
  await nodes.getByText('no answer').waitFor();
  await page.getByText('as of the newest block here').waitFor();
  await page.screenshot({ path: join(directory, 'paused-node.png'), fullPage: true });
  const shown = await secondHeight();
  await waitFor('a higher height of another node', async () => (await secondHeight()) > shown + 1, WAIT_MS);
  own.pause(false);
  await page.getByText('live', { exact: true }).waitFor({ timeout: WAIT_MS });
  await nodes.getByText('in step').nth(3).waitFor({ timeout: WAIT_MS });
  other.pause(true);
  await nodes.getByText('no answer').waitFor({ timeout: WAIT_MS });
  const before = await secondHeight();
  await waitFor('a higher height beside a paused node', async () => (await secondHeight()) > before + 1, WAIT_MS);
  other.pause(false);
  await nodes.getByText('in step').nth(3).waitFor({ timeout: WAIT_MS });
  await other.stop();
  await nodes.getByText('no answer').waitFor({ timeout: WAIT_MS });
  await page.locator('.slots .missed').first().waitFor({ timeout: WAIT_MS });
  await page.screenshot({ path: join(directory, 'lost-peer.png'), fullPage: true });
  await own.stop();
  await page.getByText('The node does not answer').waitFor({ timeout: WAIT_MS });
  await page.screenshot({ path: join(directory, 'lost-node.png'), fullPage: true });
  own.start();
  await page.getByText('live', { exact: true }).waitFor({ timeout: WAIT_MS });
  return 3;

  /** @returns height in the row of the second node, which this test never pauses or stops */
  async function secondHeight(): Promise<number> {
    const row = nodes.getByRole('row').nth(2);
    return Number((await row.getByRole('cell').nth(2).innerText()).replace(/\D/g, ''));
  }
}

async function heightShown(page: Page): Promise<number> {
  const text = await page.locator('.figures strong').first().innerText();
  return Number(text.replace(/\D/g, ''));
}
