/**
 * The lab of `npm run differential -- --http`: a real node and two nodes of this project, one for each HTTP dialect, on
 * one chain that does not grow. The clock of the real node started in the past and ran fast, so the node forged most of
 * the chain in past slots. The chain has transactions of every type that `Wallet` can send. All three nodes have the
 * same transactions in their pools. No node forges any more, and our nodes have no peers.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KnownAccount } from '../../../src/cli/genesis/accounts-file.ts';
import type { Generation } from '../../../src/protocol/params.ts';
import { defaultCacheFolder, installPostgres, installRelease } from '../../interop/install.ts';
import { ask, answerOf, statusOf } from '../../interop/http.ts';
import { makeNode, setForging, type InteropNode } from '../../interop/nodes.ts';
import { restTogether } from '../../interop/rest.ts';
import { eventually, untilHeight } from '../../interop/waiting.ts';
import { Wallet } from '../../interop/wallet.ts';
import { makeWorld, type World } from '../../interop/world.ts';
import type { Untyped } from '../../support/untyped.ts';

export interface HttpLab {
  readonly generation: Generation;
  readonly real: string;
  readonly extended: string;
  readonly strict: string;
  readonly world: World;
  readonly wallet: Wallet;
  close(): Promise<void>;
}

/**
 * Number of past slots in which the real node forges. The number exceeds the length of a round, so that the delegates
 * on the chain have ranks and rewards.
 */
const PAST_SLOTS = 112;
const PAST_MS_MAX = 300_000;
const SYNC_MS_MAX = 120_000;
/** Time for two checks of the pools. By default, both kinds of nodes check their pool every five seconds. */
const QUEUES_MS = 12_000;
const LSK = 100_000_000n;
/** Owner of a multisignature group, and the member whose public key the group contains in upper case. */
const ODD_GROUP = ['account_7', 'account_8'] as const;

export function oddGroupOf(wallet: Wallet): readonly string[] {
  return ODD_GROUP.map((name) => wallet.account(name).address);
}

/** A lab that is starting. */
export interface StartingLab {
  /** If the lab could not be started, the promise rejects, and no process and no file of the lab remain. */
  readonly lab: Promise<HttpLab>;
  /** Ends all processes of the lab and removes its folder. May be called during the start. */
  close(): Promise<void>;
}

/**
 * If `close` is called while the lab is starting, it ends the processes of the lab. Without these processes, the start
 * fails. `close` waits at most this long for the failure.
 */
const NOTICE_MS_MAX = 5_000;

export function startHttpLab(generation: Generation, log: (line: string) => void): StartingLab {
  let closeWorld: (() => Promise<void>) | undefined;
  const lab = makeLab(generation, log, (close) => {
    closeWorld = close;
  });
  return {
    lab,
    async close() {
      await closeWorld?.();
      const settled = lab.then(noted, noted);
      await Promise.race([settled, sleep(NOTICE_MS_MAX)]);
      // While `close` waited, the start may have created another process or file. Close the world again, to end the
      // process and to remove the file.
      await closeWorld?.();
    },
  };
}

function noted(): void {
  // The caller that awaits the lab handles the error.
}

async function makeLab(
  generation: Generation,
  log: (line: string) => void,
  begun: (close: () => Promise<void>) => void,
): Promise<HttpLab> {
  const release = await installRelease(generation, defaultCacheFolder(), log);
  const postgres = await installPostgres(defaultCacheFolder(), log);
  const world = await makeWorld({ release, postgres, log, keep: false, begun });
  try {
    const { delegates, password } = world;
    const real = await makeNode(world, 'real');
    await real.start({ delegates, pastSlots: PAST_SLOTS });
    await untilHeight(real, PAST_SLOTS - 8, PAST_MS_MAX);
    await untilPresent(real);
    const wallet = new Wallet(world, [real]);
    await wallet.everyType(1);
    await oddGroup(wallet, world);
    const ours = await Promise.all([false, true].map(() => makeNode(world, 'ours')));
    for (const node of ours) await node.start({ peers: [real.address] });
    const { height } = await statusOf(real.url);
    for (const node of ours) await untilHeight(node, height, SYNC_MS_MAX);
    const tip = await restTogether([real, ...ours], (forging) => setForging(real, delegates, password, forging));
    // Restart our nodes without peers, because answers about peers differ from node to node.
    for (const [index, node] of ours.entries()) {
      await node.stop();
      const http = { strictDialect: index === 1 };
      await node.start({ delegates, force: false, isAlone: true, http });
    }
    const [extended, strict] = ours as [InteropNode, InteropNode];
    const lab = { generation, real: real.url, extended: extended.url, strict: strict.url, world, wallet };
    await fillPools(lab);
    log(`generation ${generation}: a real node and two of ours at height ${tip.height}`);
    return { ...lab, close: () => world.close() };
  } catch (error) {
    await world.close();
    throw error;
  }
}

/** The clock of the node starts in the past and runs fast. Resolves when this clock shows the present time. */
async function untilPresent(node: InteropNode): Promise<void> {
  await eventually(`${node.name} lives in the present`, PAST_MS_MAX, async () => {
    const { data } = await ask(node.url, 'node/status');
    return Math.abs(data.currentTime - Date.now()) < 500;
  });
}

/** Registers a multisignature group with one member. The registration contains the member's key in upper case. */
async function oddGroup(wallet: Wallet, world: World): Promise<void> {
  const [owner, member] = ODD_GROUP.map((name) => wallet.account(name)) as [KnownAccount, KnownAccount];
  const group = wallet.make('registerMultisignature', {
    passphrase: owner.passphrase,
    keysgroup: [member.publicKey.toUpperCase()],
    lifetime: 24,
    minimum: 1,
  });
  const own = wallet.signature(group, member.passphrase).signature as string;
  await wallet.include([{ ...group, signatures: [own] }]);
  world.log('a group with a member in capitals is in the chain');
}

/** Puts transactions into the pools: some that wait for a block, and one that waits for signatures. */
async function fillPools(lab: Omit<HttpLab, 'close'>): Promise<void> {
  const { wallet } = lab;
  const [rich, other, erin] = [wallet.account('account_9'), wallet.account('account_10'), wallet.account('account_5')];
  const waiting: Untyped[] = [
    wallet.transfer(rich, other, 3n * LSK, { data: 'waits' }),
    wallet.transfer(other, rich, 2n * LSK),
    wallet.make('registerSecondPassphrase', { passphrase: rich.passphrase, secondPassphrase: 'another' }),
    // A transfer from a multisignature account without the signatures of the members.
    wallet.transfer(erin, rich, LSK),
  ];
  for (const body of waiting) {
    for (const url of [lab.real, lab.extended, lab.strict]) {
      const { status, body: answer } = await answerOf(url, 'transactions', { method: 'POST', body });
      if (status !== 200) throw new Error(`${url} refused ${JSON.stringify(body)}: ${JSON.stringify(answer)}`);
      // Send the transactions one at a time, so that all pools have the same order.
      await sleep(20);
    }
  }
  await sleep(QUEUES_MS);
}
