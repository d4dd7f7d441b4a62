/**
 * Code that all tests of this folder share: the screen sizes and colour schemes, a function that checks a page and
 * takes a screenshot, and a function that records the errors and warnings of a page.
 */

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';

export const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  'desktop-light': { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  'wide-dark': { viewport: { width: 1920, height: 1080 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true },
};

export interface Photographer {
  /**
   * @throws AssertionError if the page or a table on it is too wide, or if the accessibility checker axe finds a
   *   violation
   */
  take(what: string): Promise<void>;
  /** Number of screenshots so far. */
  taken(): number;
}

/**
 * @param name prefix of the file names of the screenshots, and of error messages
 * @param rulesOff rules that axe does not check
 */
export function photographer(
  page: Page,
  name: string,
  directory: string,
  rulesOff: readonly string[] = [],
): Photographer {
  let taken = 0;
  return {
    taken: () => taken,
    async take(what) {
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.equal(overflow, 0, `${name}, ${what}: the page is wider than the screen`);
      const scrolling = await page
        .locator('.scroll[tabindex]')
        .evaluateAll((tables) => tables.map(({ ariaLabel }) => ariaLabel));
      assert.deepEqual(scrolling, [], `${name}, ${what}: a table is wider than its place`);
      assert.deepEqual(await accessibilityFaults(page, rulesOff), [], `${name}, ${what}: accessibility`);
      await page.screenshot({ path: join(directory, `${name}-${what}.png`), fullPage: true });
      taken += 1;
    },
  };
}

/**
 * Source code of axe (half a megabyte). Playwright runs this code through the debugger, so the content security policy
 * of the page does not block the code.
 */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * @returns a text for each violation that axe finds on the page, with the selectors of the first three elements that
 *   cause it
 */
async function accessibilityFaults(page: Page, rulesOff: readonly string[]): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const rules = Object.fromEntries(rulesOff.map((rule) => [rule, { enabled: false }]));
  return page.evaluate(`axe.run({ rules: ${JSON.stringify(rules)} }).then(({ violations }) => violations.map(({ id, help, nodes }) =>
    id + ': ' + help + ' (' + nodes.length + ': ' + nodes.slice(0, 3).map(({ target }) => target.join(' ')).join(', ') + ')'))`);
}

/** @returns an array to which each later error, warning and failed request of the page is added */
export function problemsOf(page: Page): readonly string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('requestfailed', (request) => {
    // When the page closes an event stream, Playwright reports a failed request. Ignore it, because it is no fault.
    if (!/\/api\/events(\?|$)/.test(request.url())) problems.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.url()}: ${response.status()}`);
  });
  return problems;
}
