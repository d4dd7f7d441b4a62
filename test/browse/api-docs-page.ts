/**
 * Acts as a visitor of the interactive API documentation: opens an operation, tries it, and checks the answer that the
 * page shows.
 */

import { strict as assert } from 'node:assert';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { photographer, problemsOf } from './looks.ts';

const WAIT_MS = 60_000;

/**
 * Rules of the accessibility checker axe that Swagger UI, the library of the page, breaks. Swagger UI breaks the four
 * rules of this list as follows. The headings skip a level. The head of an operation is a button inside another button.
 * The part above the operations is outside every landmark. A select element has no accessible name.
 */
const OF_THE_LIBRARY = ['heading-order', 'nested-interactive', 'region', 'select-name'];

export interface ReferenceVisit {
  /** URL of a running node. */
  readonly url: string;
  readonly name: string;
  readonly look: BrowserContextOptions;
  readonly directory: string;
}

/**
 * @returns number of screenshots
 * @throws Error if an expected element is missing, if the browser reports an error or a warning, if the page sends a
 *   request to another server, or if a check before a screenshot fails
 */
export async function visitApiDocs(browser: Browser, visit: ReferenceVisit): Promise<number> {
  const { url, name, look, directory } = visit;
  const context = await browser.newContext(look);
  const page = await context.newPage();
  const problems = problemsOf(page);
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !asked.startsWith('data:')) elsewhere.push(asked);
  });
  const photographs = photographer(page, name, directory, OF_THE_LIBRARY);

  await page.goto(`${url}/api/docs`);
  await page.getByRole('heading', { level: 1, name: /^Bloomery/ }).waitFor({ timeout: WAIT_MS });
  await photographs.take('api-docs');
  await openOperation(page, 'node', 'getNodeStatus');
  const operation = page.locator('[id="operations-node-getNodeStatus"]');
  await operation.getByText('Example Value').first().waitFor();
  await photographs.take('api-docs-operation');
  const answer = await tryIt(page, 'operations-node-getNodeStatus');
  assert.match(answer, /"networkIdentifier"|"broadhash"/, `${name}: the tried request is answered`);
  await photographs.take('api-docs-tried');

  await openOperation(page, 'events', 'getEvents');
  assert.match(await tryIt(page, 'operations-events-getEvents'), /event: |: /, `${name}: a stream shows its beginning`);

  await page.goto(`${url}/api/docs?plain=true`);
  await page.getByRole('heading', { level: 2, name: 'GET /node/status', exact: true }).waitFor();
  assert.deepEqual(problems, [], `${name}: errors in the console of the API documentation`);
  assert.deepEqual(elsewhere, [], `${name}: the API documentation asks nobody but the node`);
  await context.close();
  return photographs.taken();
}

/** Opens an operation. Opens its group first if the group is closed, as on a phone. */
async function openOperation(page: Page, group: string, id: string): Promise<void> {
  const operation = page.locator(`[id="operations-${group}-${id}"]`);
  if ((await operation.count()) === 0) await page.locator(`[id="operations-tag-${group}"]`).click();
  await operation.locator('.opblock-summary-control').click();
}

/** Executes an operation on the page. @returns the answer of the node as the page shows it */
async function tryIt(page: Page, id: string): Promise<string> {
  const operation = page.locator(`[id="${id}"]`);
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const shown = operation.locator('.live-responses-table .highlight-code').first();
  await shown.waitFor({ timeout: WAIT_MS });
  return shown.innerText();
}
