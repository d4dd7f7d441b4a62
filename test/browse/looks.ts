/** Parts of all visits: screen sizes and colour schemes, screenshots with checks, and problems of the browser. */

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
  /** @throws AssertionError if the page or a table on it is too wide, or if axe finds a violation */
  take(what: string): Promise<void>;
  /** Number of screenshots so far. */
  taken(): number;
}

/**
 * @param name name of the look, used as the prefix of file names
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
 * Source of axe, half a megabyte, read once. It runs through the debugger, so no content security policy of the page
 * blocks it.
 */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations that axe finds on the current page, each with its first three elements. */
async function accessibilityFaults(page: Page, rulesOff: readonly string[]): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const rules = Object.fromEntries(rulesOff.map((rule) => [rule, { enabled: false }]));
  return page.evaluate(`axe.run({ rules: ${JSON.stringify(rules)} }).then(({ violations }) => violations.map(({ id, help, nodes }) =>
    id + ': ' + help + ' (' + nodes.length + ': ' + nodes.slice(0, 3).map(({ target }) => target.join(' ')).join(', ') + ')'))`);
}

/** Collects every problem that the browser reports for the page. */
export function problemsOf(page: Page): readonly string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('requestfailed', (request) => {
    // A closed event stream counts as a failed request. The stream closes with the page, or after the first events.
    if (!/\/api\/events(\?|$)/.test(request.url())) problems.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.url()}: ${response.status()}`);
  });
  return problems;
}
