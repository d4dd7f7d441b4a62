/**
 * Puts honest nodes under load. Four nodes of a devnet forge. The configuration of a fifth node contains the address of
 * one of the four, and the fifth node discovers the other three. No node may penalise or drop another node, and every
 * transaction must get into a block.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  lastWords,
  startTestDevnet,
  waitFor,
  waitForCommonBlock,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { isConfirmed, postTransaction, transfer } from './transfers.ts';
import { wrongsOf } from './wrongs.ts';

export interface LoadOptions {
  readonly generation: 2 | 3;
  readonly seconds: number;
  readonly perSecond: number;
  readonly log: (line: string) => void;
}

export interface LoadReport {
  readonly sent: number;
  readonly confirmed: number;
  /** Number of connected peers of the fifth node at the end. */
  readonly peersOfFifth: number;
  /** Counters of penalties, bans and dropped messages that are not zero, by node and name. Empty if all is well. */
  readonly wrongs: Readonly<Record<string, number>>;
}

const NODES = 4;
const START_MS_MAX = 150_000;
/**
 * Maximum time from the last sent transaction until all transactions are in blocks. This time is enough even on a busy
 * machine.
 */
const CONFIRM_MS_MAX = 180_000;
const CONFIRM_LOOK_MS = 2_000;
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const network = options.generation === 2 ? 'devnet-gen2' : 'devnet';
  const devnet = await startTestDevnet({ network, nodes: NODES, spectators: 1 });
  try {
    return await loadOn(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function loadOn(devnet: TestDevnet, { seconds, perSecond, log }: LoadOptions): Promise<LoadReport> {
  const { nodes } = devnet;
  const fifth = nodes[NODES];
  const first = nodes[0];
  if (fifth === undefined || first === undefined) throw new Error('the devnet lacks a node');
  meetOthersThrough(fifth, first);
  fifth.start();
  await waitForCommonBlock(nodes, 3, START_MS_MAX);
  await waitFor('the fifth node has all peers', async () => (await peersOf(fifth)) === NODES, START_MS_MAX);

  const waiting = new Set<string>();
  const startedMs = performance.now();
  for (let sent = 0; sent < seconds * perSecond; sent += 1) {
    await sleep(Math.max(0, startedMs + (sent / perSecond) * 1000 - performance.now()));
    const node = nodes[sent % nodes.length] ?? first;
    const transaction = transfer(devnet.network, sent);
    await postTransaction(node.url, devnet.network, transaction);
    waiting.add(transaction.id);
    if (sent % (60 * perSecond) === 0) log(`${sent} sent, ${JSON.stringify(await wrongsOf(nodes))}`);
  }
  const sent = waiting.size;
  const deadlineMs = performance.now() + CONFIRM_MS_MAX;
  while (waiting.size > 0 && performance.now() < deadlineMs) {
    for (const id of [...waiting]) if (await isConfirmed(first.url, id)) waiting.delete(id);
    if (waiting.size > 0) await sleep(CONFIRM_LOOK_MS);
  }
  const report = {
    sent,
    confirmed: sent - waiting.size,
    peersOfFifth: await peersOf(fifth),
    wrongs: await wrongsOf(nodes),
  };
  log(`${report.confirmed} of ${sent} transactions in blocks, the fifth node has ${report.peersOfFifth} peers`);
  if (Object.keys(report.wrongs).length > 0) for (const line of linesOfFaults(devnet)) log(line);
  return report;
}

/** Log lines about penalties of peers, with the reason. */
function linesOfFaults({ nodes }: TestDevnet): readonly string[] {
  return nodes.flatMap(({ plan }) =>
    readFileSync(plan.logFile, 'utf8')
      .split('\n')
      .filter((line) => /OFFENCE|PENALISED|BANNED|WASTEFUL/.test(line))
      .map((line) => `node ${plan.index}: ${line}`),
  );
}

/**
 * Configures the fifth node with the address of one peer only. The fifth node learns the other addresses from this
 * peer. Nodes are lenient towards configured peers, so the test would miss penalties if the addresses of all peers were
 * configured.
 */
function meetOthersThrough(node: TestNode, first: TestNode): void {
  const { httpPort, wsPort, configFile } = node.plan;
  const config = {
    http: { port: httpPort, host: '127.0.0.1' },
    p2p: { port: wsPort, host: '127.0.0.1', fixedPeers: [`127.0.0.1:${first.plan.wsPort}`] },
    verifier: { threads: 0 },
  };
  writeFileSync(configFile, JSON.stringify(config));
}

async function peersOf(node: TestNode): Promise<number> {
  const verdicts = await node.client.peerVerdicts(100);
  return verdicts.filter(({ verdict }) => verdict === 'connected').length;
}
