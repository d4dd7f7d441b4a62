/** Looks at what is rare: branches that were left, lost consensus, delegates that wait. */

import { strict as assert } from 'node:assert';
import type { Browser } from 'playwright-core';
import type { TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';
import { LOOKS, photographer, problemsOf } from './looks.ts';

/**
 * What a healthy devnet does not show: its answers are changed on their way to the page.
 *
 * @returns number of screenshots
 */
export async function visitRareStates(
  browser: Browser,
  { devnet, name, directory }: { readonly devnet: TestDevnet; readonly name: string; readonly directory: string },
): Promise<number> {
  const context = await browser.newContext(LOOKS[name] ?? {});
  const page = await context.newPage();
  const problems = problemsOf(page);
  const change = (path: string, edit: (data: Untyped) => Untyped): Promise<unknown> =>
    page.route(`**/api/${path}`, async (route) => {
      const answer: Untyped = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, data: edit(answer.data) } });
    });
  const now = Date.now();
  const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1000).toISOString();
  await change('node/status', (status) => ({
    ...status,
    consensus: 33,
    syncing: true,
    networkHeight: status.height + 1200,
    branchChanges: {
      count: 3,
      latest: [
        { time: at(40), commonHeight: 7, revertedBlocks: 2 },
        { time: at(4000), commonHeight: 4, revertedBlocks: 1 },
      ],
    },
  }));
  await change('node/status/forging', ([waiting, off, ...rest]) => [
    {
      ...waiting,
      waiting: {
        code: 'FORGING_HAND_OVER',
        reason: 'a block from after the last signature must be final',
        until: at(-500),
      },
    },
    { ...off, forging: false },
    ...rest,
  ]);
  await change('node/decisions?limit=100', () =>
    [
      {
        room: 'chain',
        code: 'BLOCK_SIGNATURE_INVALID',
        message: 'refused a block',
        fields: { height: 12, peer: '10.0.0.7:5000' },
      },
      {
        room: 'forge',
        code: 'FORGING_PAUSED',
        message: 'a slot of ours passes unused',
        fields: { slot: 165582943, reason: 'no peer has said yet where the network is' },
      },
      {
        room: 'peers',
        code: 'PEER_DISCONNECTED',
        message: 'A peer is gone',
        fields: { peer: '10.0.0.7:5000', code: 4403, reason: 'banned' },
      },
    ].map((decision, index) => ({ ...decision, number: 3 - index, time: at(30 + 400 * index) })),
  );
  const photographs = photographer(page, `${name}-rare`, directory);
  await page.goto(`${devnet.nodes[0]?.url}/`);
  await page.getByText('2 blocks above').waitFor();
  assert.equal(await page.locator('.figures .bad').count(), 2, 'consensus and waiting stand out');
  await photographs.take('glance');
  await page.goto(`${devnet.nodes[0]?.url}/#/forging`);
  await page.getByText('waiting', { exact: true }).waitFor();
  await page.getByText('off', { exact: true }).waitFor();
  await photographs.take('forging');
  await page.goto(`${devnet.nodes[0]?.url}/#/decisions`);
  await page.getByText('BLOCK_SIGNATURE_INVALID').waitFor();
  await photographs.take('decisions');
  assert.deepEqual(problems, [], `${name}: errors in the console`);
  await context.close();
  return photographs.taken();
}
