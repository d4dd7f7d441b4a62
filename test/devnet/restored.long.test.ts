/**
 * A node that forges for all delegates restarts from a backup of its data folder. The second node of the network has
 * the whole chain. In half of the tests, the second node is already running at this restart. In the other half, the
 * second node starts 22 seconds later. The clocks of both nodes are set forward, so that the delegates that signed
 * after the backup soon have slots again.
 */

import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { loadNetwork } from '../../src/config/network.ts';
import { entryOf } from '../../src/node/journal-lines.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { Rules, SignedHeader } from '../../src/protocol/rules.ts';
import { ACTIVE_DELEGATES } from '../../src/protocol/params.ts';
import { slotAtMs } from '../../src/protocol/slots.ts';
import { waitFor } from '../support/devnet.ts';
import { devnetCopy, editJson, temporaryFolder } from '../support/network-folder.ts';
import { startOneNode, type OneNode } from '../support/one-node.ts';
import { freePortRanges } from '../support/ports.ts';

const BACKUP_HEIGHT = 6;
const BLOCKS_AFTER = 14;
/**
 * Number of slots from the restart of the nodes to the first slot of a delegate that signed a header after the backup.
 */
const START_SLOTS = 5;
const LATE_MS = 22_000;
const WAIT_MS_MAX = 120_000;
/**
 * Time limit for the first new blocks after the restore of an old data folder. If the journal in this folder has no
 * header of a delegate, the delegate first leaves one of its slots unused, because another data folder of the machine
 * is possibly in use. The next slot of the delegate comes about one round (101 slots of two seconds) later.
 */
const CONTINUES_WITHIN_MS = 360_000;

interface Signed {
  readonly delegate: string;
  readonly header: SignedHeader;
}

for (const [generation, packaged, when, lateMs] of [
  [2, 'devnet-gen2', 'are there', 0],
  [2, 'devnet-gen2', 'are late', LATE_MS],
  [3, 'devnet', 'are there', 0],
  [3, 'devnet', 'are late', LATE_MS],
] as const) {
  test(`generation ${generation}: a node with a data folder from a backup signs nothing on its old tip when its peers ${when}, then continues`, async (t) => {
    t.timeout(600_000);
    const network = devnetCopy(t, packaged);
    // The member `notice` of `forgers.json` says that the passphrases of the delegates are published. The test removes
    // this member, and `forging.riskDoubleForging` is then false by default. The node therefore searches for headers
    // that its delegates signed on other nodes.
    editJson(network, 'forgers.json', ({ notice: _, ...forgers }) => forgers);
    const { params, name } = loadNetwork(network);
    const folder = temporaryFolder(t);
    const [forgerPorts, relayPorts] = [await freePortRanges(1), await freePortRanges(1)];
    const forger = (clockOffsetMs: number): Promise<OneNode> =>
      startOneNode(t, {
        network,
        ports: forgerPorts,
        fixedPeers: [`127.0.0.1:${relayPorts.ws}`],
        dataDir: join(folder, 'forger'),
        config: { forging: { force: true } },
        env: { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') },
        clockOffsetMs,
      });
    const relay = (clockOffsetMs: number): Promise<OneNode> =>
      startOneNode(t, {
        network,
        ports: relayPorts,
        fixedPeers: [`127.0.0.1:${forgerPorts.ws}`],
        dataDir: join(folder, 'relay'),
        clockOffsetMs,
      });
    const journal = (): readonly Signed[] => signedIn(join(folder, 'forger', name, 'forging-journal'));

    const firstRelay = await relay(0);
    let node = await forger(0);
    await waitForHeight(node, BACKUP_HEIGHT);
    await stop(node);
    cpSync(join(folder, 'forger'), join(folder, 'backup'), { recursive: true });
    const backedUp = journal();
    node = await forger(0);
    const firstLostSlot = slotAtMs(Date.now(), params);
    await waitForHeight(node, backedUp.length + 1 + BLOCKS_AFTER);
    await stop(node);
    const before = journal();
    t.true(before.length >= backedUp.length + BLOCKS_AFTER);
    await waitForHeight(firstRelay, before.length);
    await stop(firstRelay);

    rmSync(join(folder, 'forger'), { recursive: true });
    cpSync(join(folder, 'backup'), join(folder, 'forger'), { recursive: true });
    const slotMs = params.blockTimeS * 1000;
    const offsetMs = (firstLostSlot + ACTIVE_DELEGATES - START_SLOTS - slotAtMs(Date.now(), params)) * slotMs;
    if (lateMs === 0) await relay(offsetMs);
    node = await forger(offsetMs);
    if (lateMs > 0) {
      t.regex(await waitingOf(node), /FORGING_OLD_TIP|no peer has reported/);
      await sleep(lateMs);
      t.is((await nodeClient(node.url).status()).height, backedUp.length + 1);
      await relay(offsetMs);
    }
    await waitForHeight(node, before.length + 3, CONTINUES_WITHIN_MS);
    await stop(node);
    const all = [...before, ...journal()];
    t.true(journal().length > backedUp.length);
    t.deepEqual(contradictionsAmong(all, createRules(params)), []);
  });
}

async function waitForHeight(node: OneNode, height: number, waitMsMax = WAIT_MS_MAX): Promise<void> {
  const client = nodeClient(node.url);
  await waitFor(`height ${height}`, async () => (await client.status()).height >= height, waitMsMax);
}

/**
 * Forging status of the first delegate that must wait before it may forge, as JSON with the reason for the wait. If no
 * delegate waits, the result is a text that says so.
 */
async function waitingOf(node: OneNode): Promise<string> {
  const response = await fetch(`${node.url}/api/node/status/forging`);
  const { data } = (await response.json()) as { readonly data: readonly { readonly waiting?: object }[] };
  return JSON.stringify(data.find(({ waiting }) => waiting !== undefined) ?? 'no delegate waits');
}

async function stop(node: OneNode): Promise<void> {
  node.process.kill('SIGTERM');
  await node.ended;
}

function signedIn(file: string): readonly Signed[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const entry = entryOf(line);
      if (entry === undefined || !('blockId' in entry)) return [];
      const { delegate, ...header } = entry;
      return [{ delegate, header }];
    });
}

/** Contradictions between different headers of the same delegate. @param all headers in the order of signing */
function contradictionsAmong(all: readonly Signed[], rules: Rules): readonly string[] {
  const once = [...new Map(all.toReversed().map((signed) => [signed.header.blockId, signed])).values()].toReversed();
  return once.flatMap((one, index) =>
    once
      .slice(index + 1)
      .filter(({ delegate }) => delegate === one.delegate)
      .flatMap(({ header }) => rules.contradiction(one.header, header) ?? []),
  );
}
