/** Checks that the browser's back button restores the scroll position. */

import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';
import { LOOKS } from './looks.ts';

const WAIT_MS = 60_000;
/** Scroll position at which the visitor follows a link. */
const PLACE_PX = 900;
/** Index of the row with the link that the visitor follows. */
const ROW = 40;
/**
 * Number of delegates in a round. `checkSlowReturn` writes this number into the node's answer for `node/constants`.
 * With such short rounds, the page shows ended rounds after few blocks.
 */
const ROUND = 5;
/**
 * Times by which `checkSlowReturn` delays the node's answers for these paths, in milliseconds. Each delay is shorter
 * than the page's timeout for a request.
 */
const LATE_MS: Readonly<Record<string, number>> = { delegates: 2000, blocks: 6000, 'node/slots': 6000 };

/**
 * Follows a link from the page of delegates, and goes back. The page of delegates must then have the same scroll
 * position as before the visitor followed the link.
 *
 * @param page a browser tab that shows the list of delegates
 */
export async function checkBackButton(page: Page): Promise<void> {
  const place = await leave(page);
  await page.goBack();
  await waitFor('the place on the page', async () => Math.abs((await scrolled(page)) - place) < 2, WAIT_MS);
}

/**
 * Follows a link from the page of delegates, and goes back while the node answers slowly. The page shows the last
 * rounds above the list of delegates, but receives them several seconds after the list. When all content has arrived,
 * the visitor must see the same rows as before following the link.
 */
export async function checkSlowReturn(browser: Browser, devnet: TestDevnet): Promise<void> {
  const context = await browser.newContext(LOOKS['phone-dark'] ?? {});
  const page = await context.newPage();
  let isSlow = false;
  await page.route('**/node/constants', async (route) => {
    const answer: Untyped = await (await route.fetch({ maxRetries: 3 })).json();
    await route.fulfill({ json: { ...answer, data: { ...answer.data, activeDelegates: ROUND } } });
  });
  for (const [path, lateMs] of Object.entries(LATE_MS)) {
    await page.route(`**/${path}?**`, async (route) => {
      if (isSlow) await sleep(lateMs);
      // `continue` fails if the page was closed during the delay.
      await route.continue().catch(() => undefined);
    });
  }
  await page.goto(`${devnet.nodes[0]?.url}/#/delegates`);
  await page.locator('.past-round').first().waitFor({ timeout: WAIT_MS });
  await page.locator('tbody a').nth(ROW).waitFor({ state: 'attached', timeout: WAIT_MS });
  const place = await leave(page);
  isSlow = true;
  await page.goBack();
  await page.locator('.past-round').first().waitFor({ timeout: WAIT_MS });
  await page.locator('tbody a').nth(ROW).waitFor({ state: 'attached', timeout: WAIT_MS });
  await isComplete(page);
  const back = await scrolled(page);
  assert(Math.abs(back - place) < 2, `the visitor was at ${place} px, and is at ${back} px after a slow return`);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.close();
}

/** Scrolls down and follows a link. @returns the scroll position when the visitor left */
async function leave(page: Page): Promise<number> {
  // Wait for all content: content that arrives later, above the scroll position, would move the rows.
  await isComplete(page);
  await waitFor(
    'a long page',
    () => page.evaluate(`document.documentElement.scrollHeight > ${PLACE_PX} + innerHeight`),
    WAIT_MS,
  );
  await page.evaluate(`scrollTo(0, ${PLACE_PX})`);
  // The page stores its scroll position when scrolling stops. So the script clicks the link only if the page has stored
  // the current position. The script reads the position and clicks in one step, because a new block could change the
  // page between two steps.
  let place = 0;
  const follow = `{
    const place = scrollY;
    const isNoted = place > 0 && history.state?.scrollY === place;
    if (isNoted) document.querySelectorAll('tbody a')[${ROW}].click();
    isNoted ? place : 0;
  }`;
  await waitFor(
    'a note of the place',
    async () => {
      place = Number(await page.evaluate(follow));
      return place > 0;
    },
    WAIT_MS,
  );
  await page.getByRole('heading', { level: 1, name: /^(Delegate|Account) / }).waitFor();
  assert.equal(await scrolled(page), 0, 'another page begins at its top');
  return place;
}

async function isComplete(page: Page): Promise<void> {
  await waitFor('answers for all parts', async () => (await page.getByText('Asking the node…').count()) === 0, WAIT_MS);
}

async function scrolled(page: Page): Promise<number> {
  return Number(await page.evaluate('scrollY'));
}
