/**
 * Repeatedly kills a node that forges alone, each time within a second after the node accepted transactions. Each
 * accepted transaction must get into a block. One of the transactions registers a multisignature group. The members of
 * the group sign this registration after later restarts of the node.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hexOf } from '../../src/primitives/bytes.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { JsonObject } from '../../src/protocol/types.ts';
import { keyPairOf, makeTransaction } from '../support/chain-maker.ts';
import { lastWords, startTestDevnet, waitFor, waitForAnswer, type TestDevnet } from '../support/devnet.ts';
import { fundedAccount, isConfirmed, post, postTransaction, recentS, transfer } from './transfers.ts';

export interface AcceptedOptions {
  readonly generation: 2 | 3;
  readonly kills: number;
  /**
   * Returns a random number, uniform in [0, 1). The numbers determine how many transactions the test sends before each
   * kill, and the time of each kill.
   */
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface AcceptedReport {
  readonly accepted: number;
  /** Number of transactions that the node restored to its pool, summed over all restarts. */
  readonly restored: number;
  /** Ids of transactions that the node accepted and that are in no block. */
  readonly lost: readonly string[];
}

/**
 * The account that becomes a multisignature group. Another account sends the transfers, because every transaction of a
 * group needs signatures of its members.
 */
const GROUP = 'account_1';
const PER_LIFE_MAX = 4;
const KILL_MS_MAX = 1000;
const START_MS_MAX = 150_000;
/** Time limit for the confirmation of the last transactions, on a busy machine. */
const CONFIRM_MS_MAX = 120_000;

export async function runAccepted(options: AcceptedOptions): Promise<AcceptedReport> {
  const devnet = await startTestDevnet({ network: options.generation === 2 ? 'devnet-gen2' : 'devnet', nodes: 1 });
  try {
    return await keptIn(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function keptIn(devnet: TestDevnet, { kills, chance, log }: AcceptedOptions): Promise<AcceptedReport> {
  const { network } = devnet;
  const [node] = devnet.nodes;
  if (node === undefined) throw new Error('the devnet has no node');
  const accepted: string[] = [];
  const { registration, signatures } = groupOf(devnet);
  const first: JsonObject[] = [registration];
  for (let kill = 1; kill <= kills; kill += 1) {
    // Send the transactions at the same time, so that the node often adds several of them to its transaction journal in
    // one write.
    const count = 1 + Math.floor(chance() * PER_LIFE_MAX);
    const transactions = Array.from({ length: count }, (_, index) => transfer(network, kill * PER_LIFE_MAX + index));
    const posts = transactions.map((transaction) => postTransaction(node.url, network, transaction));
    for (const json of first.splice(0)) posts.push(post(`${node.url}/api/transactions`, json));
    const signature = kill === 1 ? undefined : signatures.shift();
    if (signature !== undefined) posts.push(post(`${node.url}/api/signatures`, signature));
    await Promise.all(posts);
    accepted.push(...transactions.map(({ id }) => id));
    await sleep(chance() * KILL_MS_MAX);
    await node.kill();
    node.start();
    await waitForAnswer(node, START_MS_MAX);
    if (kill % 20 === 0) log(`${kill} kills, ${accepted.length} transactions accepted`);
  }
  // Before each kill except the first, the test sends one signature, until both members of the multisignature group
  // have signed. After three or more kills, the test has sent both signatures, so the transaction that registers the
  // group must get into a block.
  if (signatures.length === 0) accepted.push(String(registration['id']));
  const lost = new Set(accepted);
  await waitFor(
    'all accepted transactions in blocks',
    async () => {
      for (const id of [...lost]) if (await isConfirmed(node.url, id)) lost.delete(id);
      return lost.size === 0;
    },
    CONFIRM_MS_MAX,
  ).catch(() => undefined);
  return { accepted: accepted.length, restored: restoredIn(readFileSync(node.plan.logFile, 'utf8')), lost: [...lost] };
}

/**
 * @returns `registration`: the registration of a group with two members, without the signatures of the members;
 *   `signatures`: the signatures of the two members
 */
function groupOf({ network }: TestDevnet): { registration: JsonObject; signatures: JsonObject[] } {
  const members = ['kept 1', 'kept 2'].map(keyPairOf);
  const keysgroup = members.map(({ publicKey }) => `+${hexOf(publicKey)}`);
  const content = { kind: 'multisignature', min: 2, lifetime: 24, keysgroup } as const;
  const made = makeTransaction(network.params, fundedAccount(network, GROUP), content, {
    timestamp: recentS(network),
    members,
  });
  const signatures = made.signatures.map((signature, index) => ({
    transactionId: made.id,
    publicKey: hexOf(members[index]?.publicKey ?? new Uint8Array()),
    signature,
  }));
  const registration = createRules(network.params).codec.transactionToJson({ ...made, signatures: [] });
  return { registration, signatures };
}

function restoredIn(log: string): number {
  const counts = log.matchAll(/restored transactions that an earlier run accepted +pool=(\d+)/g);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
