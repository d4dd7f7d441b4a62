/**
 * Opens the dashboard in rare states, for example during a sync, without peers, after a reorg, or with a delegate that
 * was moved from another node and does not sign yet.
 */

import { strict as assert } from 'node:assert';
import type { Browser, Page } from 'playwright-core';
import { messageOf } from '../../src/primitives/errors.ts';
import { waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';
import { LOOKS, photographer, problemsOf } from './looks.ts';

interface RareState {
  /**
   * Each key is a pattern for the path and query of a request. Each value is a function that changes the data of the
   * node's answer before the page receives the answer.
   */
  readonly answers: Readonly<Record<string, (data: Untyped) => Untyped>>;
  /** Whether the page gets an event stream (`STILL_EVENTS`) that sends no events. */
  readonly isStill?: true;
  /** Number of figures on the overview that must be shown as alarming. */
  readonly alarms: number;
  /**
   * Each key is the name of a view (`glance` is the overview). The value lists the texts that the view must contain.
   */
  readonly views: Readonly<Record<string, readonly (string | RegExp)[]>>;
  /**
   * Each key is the name of a view. The first text of the value is the text to click before the screenshot. The other
   * texts must appear after the click.
   */
  readonly opened?: Readonly<Record<string, readonly [string, ...string[]]>>;
}

/** Age in seconds of the tip of a chain that is still being synchronized. */
const BEHIND_S = 7200;
/**
 * Time within which the overview must show the expected number of alarming figures. The number sometimes changes during
 * this time, because the page repeats its requests.
 */
const SMOOTHING_MS = 15_000;

const RARE_STATES: Readonly<Record<string, RareState>> = {
  rare: {
    answers: {
      'node/status': (status) => ({
        ...status,
        consensus: 33,
        reorgs: {
          count: 3,
          latest: [
            { time: at(40), commonHeight: 7, revertedBlocks: 2 },
            { time: at(4000), commonHeight: 4, revertedBlocks: 1 },
          ],
        },
      }),
      'node/status/forging': ([waiting, off, ...rest]) => [
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
      ],
      'node/diagnostics?limit=100': diagnostics,
    },
    alarms: 2,
    views: {
      glance: ['2 blocks above'],
      forging: [/^waiting$/, /^off$/],
      diagnostics: ['BLOCK_SIGNATURE_INVALID', 'and 2 more like it'],
    },
  },
  'catching-up': {
    answers: {
      'node/status': (status) => ({
        ...status,
        syncing: true,
        consensus: 0,
        networkHeight: status.height + 1200,
        syncProgress: { targetHeight: status.height + 1234, blocksPerS: 250, secondsLeft: 5 },
      }),
      'blocks?**': (blocks) => blocks.map((block: Untyped) => ({ ...block, timestamp: block.timestamp - BEHIND_S })),
    },
    isStill: true,
    alarms: 0,
    views: {
      glance: ['catching up with', 'as of the newest block here'],
      forging: ['not known yet'],
      blocks: ['2 h ago'],
    },
  },
  'no-peers': {
    answers: {
      'node/status': (status) => ({ ...status, consensus: 0, networkHeight: 0 }),
      'peers?limit=100': (peers) => peers.map((peer: Untyped) => ({ ...peer, state: 1 })),
      'node/peers?limit=200': (peers) => peers.map(lonely),
    },
    alarms: 1,
    views: {
      glance: ['none connected'],
      peers: ['0 connected, 3 known besides, 1 of them banned', /^banned$/],
      nodes: ['no peers on the same'],
    },
  },
  group: {
    answers: {
      'node/transactions/pending?**': () => [OF_A_GROUP],
      'node/transactions/*/signers': () => SIGNERS,
      'accounts/*/multisignature_groups': () => [{ ...SIGNERS, address: OF_A_GROUP.senderId, balance: '0' }],
    },
    alarms: 0,
    views: {
      pool: ['signatures of its group, has 1 of 3'],
      'transactions/1234567890123456789': [/^in the pool$/, 'signatures of its group, has 1 of 3'],
    },
    opened: { pool: ['signatures of its group, has 1 of 3', 'missing', 'signed'] },
  },
  // Use rounds of five slots, so that the short chain contains complete rounds. `withMissedSlot` makes one slot empty.
  rounds: {
    answers: {
      'node/constants': (constants) => ({ ...constants, activeDelegates: ROUND }),
      'blocks?sort=height:desc**': withMissedSlot,
    },
    alarms: 0,
    views: { delegates: ['Last rounds', 'nobody missed a slot', /^1 missed/] },
  },
  off: {
    answers: {
      'node/status/forging': (delegates) => delegates.map((each: Untyped) => ({ ...each, forging: false })),
      'node/diagnostics?limit=100': () => [],
    },
    alarms: 0,
    views: { glance: [/^0$/], forging: [/^off$/], diagnostics: ['Nothing was refused'] },
  },
};

const ROUND = 5;
const SIGNERS = {
  id: '1234567890123456789',
  min: 3,
  signed: 1,
  members: ['16313739661670634666L', '8273455169423958419L', '5434532364345932475L', '15433246787624612L'].map(
    (address, index) => ({ address, publicKey: String(index).repeat(64), hasSigned: index === 1 }),
  ),
};
const OF_A_GROUP = {
  id: SIGNERS.id,
  type: 8,
  timestamp: 100_000_000,
  senderId: '9999999999999999999L',
  senderPublicKey: 'ab'.repeat(32),
  fee: '10000000',
  amount: '4200000000',
  recipientId: '16313739661670634666L',
  signature: 'cd'.repeat(64),
  signatures: ['ef'.repeat(64)],
  asset: { amount: '4200000000', recipientId: '16313739661670634666L' },
};

/** An event stream that opens and sends no events. */
const STILL_EVENTS = `globalThis.EventSource = class extends EventTarget {
  readyState = 1;
  constructor() { super(); setTimeout(() => this.dispatchEvent(new Event('open')), 10); }
  close() {}
};`;

/**
 * Shows states that do not occur in a healthy devnet, by changing the answers of the node on their way to the page.
 *
 * @returns number of screenshots
 */
export async function visitRareStates(
  browser: Browser,
  { devnet, name, directory }: { readonly devnet: TestDevnet; readonly name: string; readonly directory: string },
): Promise<number> {
  let taken = 0;
  for (const [what, state] of Object.entries(RARE_STATES)) {
    const context = await browser.newContext(LOOKS[name] ?? {});
    const page = await context.newPage();
    const problems = problemsOf(page);
    if (state.isStill === true) await page.addInitScript(STILL_EVENTS);
    for (const [path, edit] of Object.entries(state.answers)) await change(page, path, edit);
    const photographs = photographer(page, `${name}-${what}`, directory);
    for (const [view, texts] of Object.entries(state.views)) {
      await page.goto(`${devnet.nodes[0]?.url}/${view === 'glance' ? '' : `#/${view}`}`);
      for (const text of texts) await page.getByText(text).first().waitFor();
      // Wait, because the overview sometimes shows one more alarming figure until the newest block has reached all
      // peers.
      const areRight = async (): Promise<boolean> => (await page.locator('.figures .bad').count()) === state.alarms;
      if (view === 'glance') await waitFor(`${what}: ${state.alarms} alarming figures`, areRight, SMOOTHING_MS);
      const [summary, ...shown] = state.opened?.[view] ?? [];
      if (summary !== undefined) await page.getByText(summary).first().click();
      for (const text of shown) await page.getByText(text, { exact: true }).first().waitFor();
      await photographs.take(view.split('/')[0] ?? view);
    }
    taken += photographs.taken();
    assert.deepEqual(problems, [], `${name}, ${what}: errors in the console`);
    await page.unrouteAll({ behavior: 'wait' });
    await context.close();
  }
  return taken;
}

function change(page: Page, path: string, edit: (data: Untyped) => Untyped): Promise<unknown> {
  return page.route(`**/${path}`, async (route) => {
    try {
      // The node closes idle connections. Retry, because the node perhaps closes a connection just before a request
      // arrives.
      const answer: Untyped = await (await route.fetch({ maxRetries: 3 })).json();
      await route.fulfill({ json: { meta: {}, ...answer, data: edit(answer.data) } });
    } catch (error) {
      // The page is closed if the visit has failed, and then needs no answer. If the page is open, abort the request,
      // so that `problemsOf` reports it.
      if (!page.isClosed()) await route.abort().catch(() => undefined);
      if (!page.isClosed()) console.error(`${route.request().url()}: ${messageOf(error)}`);
    }
  });
}

/** Makes the first peer of the list banned, and each other peer known but not connected. */
function lonely({ ip, wsPort }: Untyped, index: number): Untyped {
  const known = { ip, wsPort, verdict: 'known', roles: [], reputation: 100 };
  return index > 0
    ? known
    : {
        ...known,
        verdict: 'banned',
        reputation: 0,
        reason: 'it sent a block with a false signature',
        until: at(-80_000),
      };
}

/** Moves each of the newest seven blocks one slot later, so that the slot before these seven blocks is empty. */
function withMissedSlot(blocks: Untyped): Untyped {
  const from = blocks[0].height - ROUND - 1;
  return blocks.map((block: Untyped) => (block.height >= from ? { ...block, timestamp: block.timestamp + 2 } : block));
}

function at(secondsAgo: number): string {
  return new Date(Date.now() - secondsAgo * 1000).toISOString();
}

function diagnostics(): Untyped {
  return [
    ...[7, 6, 5].map((number) => ({
      number,
      time: at(31 - number),
      module: 'peers',
      code: 'PEER_OFFENCE_EXEMPT',
      message: 'a peer that the operator named broke a rule',
      fields: {
        peer: '10.0.0.8:5000',
        offence: 'PROCEDURE_RATE',
        detail: 'getTransactions: too many uses in 10000 ms',
      },
    })),
    {
      number: 3,
      time: at(30),
      module: 'chain',
      code: 'BLOCK_SIGNATURE_INVALID',
      message: 'refused a block',
      fields: { height: 12, peer: '10.0.0.7:5000' },
    },
    {
      number: 2,
      time: at(430),
      module: 'forge',
      code: 'FORGING_PAUSED',
      message: 'forging is paused in a slot of ours',
      fields: { slot: 165582943, reason: 'no peer has reported its tip yet' },
    },
    {
      number: 1,
      time: at(830),
      module: 'peers',
      code: 'PEER_DISCONNECTED',
      message: 'A peer is gone',
      fields: { peer: '10.0.0.7:5000', code: 4403, reason: 'banned' },
    },
  ];
}
