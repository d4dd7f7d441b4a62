/**
 * Uses the controls of a devnet on the dashboard: clock, blocks, nodes, network links between nodes, faucet and
 * transfers.
 */

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';
import { LOOKS, photographer, problemsOf, type Photographer } from './looks.ts';

const NODES = 3;
const START_MS_MAX = 150_000;
const WAIT_MS = 60_000;
const HOUR_MS = 3_600_000;
const ADDRESS = '12345678901234567890L';

export interface ControlsVisit {
  readonly generation: 2 | 3;
  readonly directory: string;
  /** Names of entries of `LOOKS`: screen sizes and colour schemes. */
  readonly looks: readonly string[];
}

/** @returns number of screenshots */
export async function visitDevnetControls(browser: Browser, visit: ControlsVisit): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), 'bloomery-browse-devnet-'));
  const { http, ws } = await freePortRanges(NODES + 1);
  const flags = ['--nodes', `${NODES}`, '--delegates', '5', '--generation', `${visit.generation}`, '--data-dir', data];
  const devnet = spawn(
    process.execPath,
    [CLI_ENTRY, 'devnet', ...flags, '--http-port', `${http}`, '--ws-port', `${ws}`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const url = `http://127.0.0.1:${http}`;
  try {
    const states = async (): Promise<readonly string[]> => {
      const answer = (await (await fetch(`${url}/devnet`)).json()) as Untyped;
      return answer.data.nodes.map(({ state }: Untyped) => state);
    };
    const areUp = async (): Promise<boolean> => (await states()).every((state) => state === 'running');
    await waitFor('the devnet', areUp, START_MS_MAX, () => (devnet.exitCode === null ? undefined : 'it ended'));
    let taken = 0;
    for (const name of visit.looks) taken += await visitOnce(browser, { url, name, directory: visit.directory });
    return taken;
  } finally {
    devnet.kill();
    if (devnet.exitCode === null) await once(devnet, 'exit');
    rmSync(data, { recursive: true, force: true });
  }
}

interface OneVisit {
  readonly url: string;
  readonly name: string;
  readonly directory: string;
}

async function visitOnce(browser: Browser, { url, name, directory }: OneVisit): Promise<number> {
  const context = await browser.newContext(LOOKS[name] ?? {});
  const page = await context.newPage();
  const problems = problemsOf(page);
  const photographs = photographer(page, `${name}-devnet`, directory);
  await page.goto(`${url}/`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('navigation', { name: 'Views' }).getByText('Devnet').click();
  await page.getByRole('heading', { level: 1, name: 'Devnet' }).waitFor();
  const part = (title: string): Locator => page.getByRole('region', { name: title, exact: true });
  const parts = {
    time: part('Clock and blocks'),
    links: part('Links and faults'),
    nodes: part('Nodes of the devnet'),
    faucet: part('Faucet'),
    send: part('Send'),
  };
  await parts.links.getByText('No fault is in force.').waitFor();
  await photographs.take('healthy');
  await moveTime(page, parts.time);
  await sendFunds(page, parts.faucet, parts.send, photographs);
  await cutLinks(parts.links, photographs);
  await endNodes(parts.nodes, photographs);
  await photographs.take('after');
  // After `endNodes` has killed node 2, the page still requests the status of node 2, and the browser logs each refused
  // connection.
  const unexpected = problems.filter((problem) => !problem.includes('net::ERR_CONNECTION_REFUSED'));
  assert.deepEqual(unexpected, [], `${name}: errors in the console`);
  await context.close();
  return photographs.taken();
}

async function moveTime(page: Page, time: Locator): Promise<void> {
  const clock = async (): Promise<number> =>
    Date.parse(`${(await time.locator('dd').first().innerText()).slice(0, 19).replace(' ', 'T')}Z`);
  await time.getByRole('button', { name: 'Stop the clock' }).click();
  await time.getByText(/UTC, stopped/).waitFor();
  const before = await clock();
  await time.getByLabel('Time ahead, or a date').fill('1h');
  await page.keyboard.press('Enter');
  await time.getByText('The clock of all nodes is at').waitFor();
  await waitFor('an hour later', async () => (await clock()) - before === HOUR_MS, WAIT_MS);
  await time.getByLabel('Slots to forge now').fill('many');
  await time.getByRole('button', { name: 'Forge', exact: true }).click();
  await time.getByText('“many” is not a number of slots').waitFor();
  await time.getByLabel('Slots to forge now').fill('3');
  await time.getByRole('button', { name: 'Forge', exact: true }).click();
  await time.getByText(/^Forged 3 slots: the chain is at \d+\.$/).waitFor();
  await time.getByLabel('Forge blocks').selectOption({ label: 'on demand' });
  await time.getByText('Blocks are forged on demand.').waitFor();
  await time.getByRole('button', { name: 'Start the clock' }).click();
  await time.getByText(/UTC, running/).waitFor();
}

async function sendFunds(page: Page, faucet: Locator, send: Locator, photographs: Photographer): Promise<void> {
  await faucet.getByLabel('To').fill('nobody');
  await page.keyboard.press('Enter');
  await faucet.getByText('“nobody” is not an address').waitFor();
  await faucet.getByLabel('To').fill(ADDRESS);
  await faucet.getByLabel('Amount, LSK').fill('12.5');
  await faucet.getByRole('button', { name: 'Give' }).click();
  await faucet.getByText(/ LSK since block /).waitFor();
  await send.getByLabel('From').selectOption('account_2');
  await send.getByLabel('To').fill(ADDRESS);
  await send.getByLabel('Amount, LSK').fill('0.0.1');
  await send.getByRole('button', { name: 'Send' }).click();
  await send.getByText('“0.0.1” is not an amount').waitFor();
  await photographs.take('refused');
  await send.getByLabel('Amount, LSK').fill('0.5');
  await send.getByLabel('Text').fill('for tea');
  await send.getByRole('button', { name: 'Send' }).click();
  await send.getByText(/^Transaction .* is in the pool\.$/).waitFor();
  await send
    .getByRole('status')
    .getByRole('link')
    .evaluate((link: { click(): void }) => link.click());
  await page.getByText(/sends 0\.5 LSK to/).waitFor();
  await page.getByText('for tea').first().waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Devnet' }).waitFor();
}

async function cutLinks(links: Locator, photographs: Photographer): Promise<void> {
  await links.getByRole('checkbox', { name: 'node 2' }).check();
  await links.getByRole('button', { name: 'Cut' }).click();
  await links.getByText(/^The network is cut into /).waitFor();
  await links.getByLabel('Faults below are of').selectOption('node 1');
  for (const fault of ['delay', 'loss', 'clock']) {
    await links.getByRole('button', { name: `Set the ${fault}` }).click();
    const word = { delay: /150 ms late/, loss: /5 % of messages lost/, clock: /clock 3 s ahead/ }[fault] ?? '';
    await links.getByText(word).waitFor();
  }
  await photographs.take('faults');
  await links.getByRole('button', { name: 'End all faults' }).click();
  await links.getByText('No fault is in force.').waitFor();
}

async function endNodes(nodes: Locator, photographs: Photographer): Promise<void> {
  assert.equal(
    await nodes.getByRole('button', { name: 'Kill node 0' }).count(),
    0,
    'the node of the page is not killed',
  );
  await nodes.getByRole('button', { name: 'Kill node 2' }).click();
  await nodes.getByText('Node 2 is killed.').waitFor();
  await nodes.getByRole('button', { name: 'Pause node 1' }).click();
  await nodes.getByText('Node 1 is paused.').waitFor();
  await nodes.getByRole('button', { name: 'Continue node 1' }).waitFor();
  await photographs.take('nodes-down');
  await nodes.getByRole('button', { name: 'Continue node 1' }).click();
  await nodes.getByText('Node 1 is running.').waitFor({ timeout: WAIT_MS });
  await nodes.getByRole('button', { name: 'Restart node 2' }).click();
  await nodes.getByText('Node 2 is running.').waitFor({ timeout: WAIT_MS });
}
