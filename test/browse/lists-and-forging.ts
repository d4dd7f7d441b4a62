/**
 * Acts as a visitor of the dashboard: filters and sorts lists, pages through them, follows a search suggestion, and
 * switches the forging of a delegate off and on.
 */

import { strict as assert } from 'node:assert';
import type { Page } from 'playwright-core';
import { waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Photographer } from './looks.ts';

export interface ListsVisit {
  readonly page: Page;
  readonly devnet: TestDevnet;
  readonly photographs: Photographer;
  /**
   * Whether the browser shows the page with the screen size of a phone. With this size, the form of the filters is
   * closed at first.
   */
  readonly isPhone: boolean;
  /** Address of an account that received transfers. */
  readonly address: string;
}

const WAIT_MS = 60_000;

/** Sets filters in the form and in the URL fragment. Checks the rows and the fragment, and goes back once. */
export async function visitLists({ page, photographs, isPhone, address }: ListsVisit): Promise<void> {
  const hash = async (): Promise<string> => String(await page.evaluate('location.hash'));
  const field = (title: string) => page.locator(`.filters label:has(> span:text-is("${title}")) > :is(input, select)`);
  const openForm = async (): Promise<void> => {
    if (isPhone && !(await page.locator('.filters.open').isVisible()))
      await page.getByRole('button', { name: 'Filter and sort' }).click();
  };
  await page.evaluate("location.hash = '#/transactions'");
  await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
  await openForm();
  await field('Kind').selectOption({ label: 'Votes' });
  await page.locator('tbody td:visible').getByText('Votes', { exact: true }).first().waitFor();
  assert.equal(await page.locator('tbody').getByText('Transfer', { exact: true }).count(), 0);
  assert.equal(await hash(), '#/transactions?kind=3');
  await photographs.take('transactions-votes');
  await page.getByRole('link', { name: 'Clear' }).click();
  await page.getByRole('link', { name: 'Clear' }).waitFor({ state: 'detached' });
  await openForm();
  await field('To').fill(address.slice(0, -1));
  await field('Order').selectOption({ label: 'smallest amount first' });
  await page.getByText(/^\d+ transactions$/).waitFor();
  assert.match(await hash(), /to=\d+&sort=amount%3Aasc/);
  await page.goBack();
  await waitFor('the choice before', async () => (await hash()) === '#/transactions', WAIT_MS);
  await page.evaluate("location.hash = '#/transactions?from=nobody'");
  await page.getByText('nobody is not an address').waitFor();
  assert.equal(await field('From').getAttribute('aria-invalid'), 'true');
  assert.equal(await field('To').getAttribute('aria-invalid'), null);
  await photographs.take('transactions-problem');
  await page.evaluate("location.hash = '#/transactions?min=200000000'");
  await page.getByText('No such transactions.').waitFor();

  // Filter the blocks by a delegate that has forged. In the first round, most delegates have not forged yet.
  await page.evaluate("location.hash = '#/blocks'");
  const forgers = page.getByRole('main').getByRole('link', { name: /^genesis_\d+$/ });
  await forgers.nth(1).waitFor();
  const name = await forgers.first().innerText();
  await page.evaluate(`location.hash = '#/blocks?delegate=${name}'`);
  await waitFor('blocks of one delegate', async () => new Set(await forgers.allInnerTexts()).size === 1, WAIT_MS);
  assert.equal(await forgers.first().innerText(), name);
  await page.evaluate("location.hash = '#/delegates?name=genesis_1&sort=missedBlocks%3Adesc'");
  await page.getByRole('main').getByRole('link', { name: 'genesis_101', exact: true }).waitFor();
  assert.equal(await page.getByRole('main').getByRole('link', { name: 'genesis_2', exact: true }).count(), 0);
  assert.match(await page.locator('th[aria-sort="descending"]').innerText(), /^Missed/);
  await photographs.take('delegates-filtered');
}

/**
 * Goes forward and back between the pages of a list. New blocks must not shift the rows of an open page, and the
 * browser's back button must return to the same page with the same rows.
 */
export async function visitPages({ page, photographs }: ListsVisit): Promise<void> {
  const hash = async (): Promise<string> => String(await page.evaluate('location.hash'));
  const heights = async (): Promise<readonly string[]> => page.locator('tbody td:first-child').allInnerTexts();
  const pages = page.getByRole('navigation', { name: 'Pages' });
  // Use the list of blocks, because the list of delegates has only one page.
  await page.evaluate("location.hash = '#/blocks?sort=height%3Aasc'");
  await page.getByRole('heading', { level: 1, name: 'Blocks' }).waitFor();
  await pages.getByText('Page 1', { exact: true }).waitFor();
  await waitFor('the oldest block', async () => (await heights())[0] === '1', WAIT_MS);
  assert.equal(await pages.getByRole('link', { name: 'First' }).count(), 0);
  await pages.getByRole('link', { name: 'Next' }).click();
  await pages.getByText('Page 2', { exact: true }).waitFor();
  await waitFor('the second page', async () => (await heights())[0] === '26', WAIT_MS);
  assert.match(await hash(), /^#\/blocks\?sort=height%3Aasc&page=2&after=[\w-]+$/);
  await photographs.take('blocks-page-2');
  const second = await hash();
  await page.goBack();
  await waitFor('the first page again', async () => (await heights())[0] === '1', WAIT_MS);
  // In the default order, the newest blocks come first. New blocks must nevertheless not change the rows of page 2.
  await page.evaluate("location.hash = '#/blocks'");
  await pages.getByRole('link', { name: 'Next' }).click();
  await pages.getByText('Page 2', { exact: true }).waitFor();
  await waitFor('rows', async () => (await heights()).length > 0, WAIT_MS);
  const before = await heights();
  const place = await hash();
  await page.locator('tbody a').first().click();
  await page.getByRole('heading', { level: 1, name: /^Block / }).waitFor();
  await page.goBack();
  await pages.getByText('Page 2', { exact: true }).waitFor();
  await waitFor('the same rows', async () => (await heights()).join() === before.join(), WAIT_MS);
  assert.equal(await hash(), place);
  await pages.getByRole('link', { name: 'Previous' }).click();
  await pages.getByText('Page 1', { exact: true }).waitFor();
  // If a user opens the URL of page 2 directly, page 2 must have a link to the first page.
  await page.evaluate(`location.hash = '${second}'`);
  await waitFor('the page of the address', async () => (await heights())[0] === '26', WAIT_MS);
  await pages.getByRole('link', { name: 'First' }).click();
  await waitFor('the first page', async () => (await heights())[0] === '1', WAIT_MS);
  await page.evaluate("location.hash = '#/blocks?page=2&after=odd'");
  await page.locator('main [role="alert"]').getByText(/after/).waitFor();
  await photographs.take('blocks-odd-cursor');
}

/** Types a search, selects a suggestion with the keyboard, and opens it. */
export async function visitSuggestions({ page, photographs }: ListsVisit): Promise<void> {
  const field = page.locator('input[type="search"]');
  await field.fill('genesis_7');
  await page.getByRole('option', { name: 'Delegate genesis_7', exact: true }).waitFor();
  assert.match(await page.getByRole('option').first().innerText(), /genesis_7$/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.locator('[aria-selected="true"]').waitFor();
  await photographs.take('suggestions');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /^Delegate genesis_7\d$/ }).waitFor();
  await field.fill('12');
  await page.getByRole('option', { name: 'Block 12' }).click();
  await page.getByRole('heading', { level: 1, name: 'Block 12' }).waitFor();
}

/** Switches the forging of a delegate off and on again. A wrong password must change nothing. */
export async function visitForgingView({ page, devnet, photographs }: ListsVisit): Promise<void> {
  const password = devnet.network.forgers?.defaultPassword ?? '';
  await page.evaluate("location.hash = '#/forging'");
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'genesis_1', exact: true }) });
  await row.getByRole('button', { name: 'Disable' }).click();
  await page.getByLabel('Password').fill('not the password');
  await photographs.take('forging-switch');
  const send = page.getByRole('dialog').getByRole('button', { name: /able$/ });
  await send.click();
  await page.getByText('Invalid password').waitFor();
  await page.getByLabel('Password').fill(password);
  await send.click();
  await row.getByText('off', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Enable' }).click();
  await page.getByLabel('Password').fill(password);
  await send.click();
  await row.getByText('on', { exact: true }).waitFor();
}

/** Whether the problem is the expected refusal of the wrong password or of the invalid cursor in the URL. */
export function isOfRefusal(problem: string): boolean {
  return (
    /node\/status\/forging: 404$/.test(problem) ||
    /[?&]after=odd.*: 400$/.test(problem) ||
    /^Failed to load resource.* 40[04] /.test(problem)
  );
}
