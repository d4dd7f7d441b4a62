/**
 * Three nodes that do not forge run behind HAProxy, which uses docs/deploy/haproxy.cfg. Clients read through HAProxy.
 * The test kills, stops, pauses and cuts off the nodes, and causes reorgs. Each client compares its answers to requests
 * with `minHeight`: no such answer may contain a lower height or a lower balance than an earlier such answer. Every
 * request must get an answer after at most two retries of the balancer.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  lastWords,
  startTestDevnet,
  waitFor,
  waitForAnswer,
  waitForCommonBlock,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { freePort } from '../support/ports.ts';
import { startHaproxy, type Haproxy, type HaproxyCounts } from './haproxy.ts';
import { asking, askingInTurn, ReplicaClients, type Ask, type ReplicaClientsReport } from './replica-clients.ts';
import { troubleReplicas, type FaultReport, type ReplicaFault } from './replica-faults.ts';
import { postTransaction, transfer } from './transfers.ts';

export interface ReplicasOptions {
  readonly minutes: number;
  readonly clients: number;
  readonly reorganisations: number;
  readonly faults: readonly ReplicaFault[];
  /** Path of HAProxy. If undefined, clients ask the nodes in turn. */
  readonly haproxy: string | undefined;
  /** Returns a random number, uniform in [0, 1). The numbers determine the times and the victims of the faults. */
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface ReplicasReport extends FaultReport {
  readonly clients: ReplicaClientsReport;
  /** Number of blocks that the replicas reverted in each reorg. */
  readonly reverted: readonly number[];
  readonly balancer: HaproxyCounts | undefined;
}

/**
 * Number of delegates of each forging node. The second node has two thirds of the delegates, so the branch of the
 * second node wins.
 */
const SHARES = [34, 67];
const REPLICAS = 3;
const TRANSFER_EVERY_MS = 1_000;
const START_MS_MAX = 180_000;
const BRANCH_MS_MAX = 240_000;
/** Minimum number of blocks on the losing branch before the test reconnects the nodes. */
const REVERTED_MIN = 2;
/** Maximum number of characters of the balancer's log in the message of a failure. */
const LOG_CHARS = 2_000;

/** @throws Error that names the first broken guarantee */
export async function runReplicas(options: ReplicasOptions): Promise<ReplicasReport> {
  const http = { trustProxy: true };
  const devnet = await startTestDevnet({ nodes: 2, shares: SHARES, spectators: REPLICAS, hasWires: true, http });
  let haproxy: Haproxy | undefined;
  let transfers: Transfers | undefined;
  let clients: ReplicaClients | undefined;
  try {
    const { network, nodes } = devnet;
    const replicas = nodes.slice(2);
    for (const replica of replicas) replica.start();
    for (const replica of replicas) await waitForAnswer(replica, START_MS_MAX);
    const sent = (transfers = new Transfers(devnet));
    const { address } = sent;
    await waitFor('the first transfer everywhere', () => sent.areIn(nodes), START_MS_MAX);
    const ports = replicas.map(({ plan }) => plan.httpPort);
    const own = await freePort();
    if (options.haproxy !== undefined) {
      haproxy = await startHaproxy(options.haproxy, devnet.directory, { own, nodes: ports });
    }
    const balancer = haproxy;
    const askOf = (): Ask => (balancer === undefined ? askingInTurn(ports) : asking(own));
    options.log(`${network.name}: ${options.clients} clients`);
    clients = new ReplicaClients(options.clients, address, askOf);
    const { reverted, ...faults } = await troublesOf(devnet, sent, options);
    sent.end();
    return { clients: await clients.end(), reverted, ...faults, balancer: await balancer?.counts() };
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${haproxy?.log().slice(-LOG_CHARS) ?? ''}\n${lastWords(devnet)}`, {
      cause: error,
    });
  } finally {
    transfers?.end();
    await haproxy?.stop();
    await devnet.close();
    // The nodes are stopped by now, so each request of the clients ends immediately.
    await clients?.end();
  }
}

async function troublesOf(
  devnet: TestDevnet,
  transfers: Transfers,
  { minutes, reorganisations, faults, chance, log }: ReplicasOptions,
): Promise<FaultReport & { readonly reverted: readonly number[] }> {
  const { wires, nodes } = devnet;
  const [forger, ...others] = nodes;
  if (wires === undefined || forger === undefined) throw new Error('the devnet has no wires or no nodes');
  const endMs = performance.now() + minutes * 60_000;
  let areReorganised = false;
  const isOver = (): boolean => areReorganised && performance.now() >= endMs;
  const world = { replicas: others.slice(1), forger, wires, chance, log };
  const reorganise = async (): Promise<readonly number[]> => {
    const reverted: number[] = [];
    const pauseMs = (minutes * 60_000) / (reorganisations + 1);
    try {
      for (let count = 0; count < reorganisations; count += 1) {
        await sleep(pauseMs / 2);
        reverted.push(await reorganiseOnce(devnet, transfers, log));
      }
    } finally {
      areReorganised = true;
    }
    return reverted;
  };
  // Wait for both tasks (the faults and the reorgs), even if one task fails.
  const [report, reverted] = await Promise.allSettled([troubleReplicas(world, faults, isOver), reorganise()]);
  if (report.status === 'rejected') throw report.reason;
  if (reverted.status === 'rejected') throw reverted.reason;
  return { ...report.value, reverted: reverted.value };
}

/**
 * Separates the two forging nodes. Reconnects the nodes only when the branch that the replicas do not see is the better
 * branch, and both branches contain the same transfers. If only the losing branch contained a transfer, the reorg could
 * remove this transfer. The balance of the recipient would then correctly go back, and the test would report a fault.
 *
 * @returns number of reverted blocks; the number is one too high if both nodes got one more block between the reading
 *   of the height and the cut
 */
async function reorganiseOnce(
  { nodes, wires }: TestDevnet,
  transfers: Transfers,
  log: (line: string) => void,
): Promise<number> {
  const [seen, hidden] = nodes;
  if (seen === undefined || hidden === undefined || wires === undefined) throw new Error('nobody forges');
  const heights = async () => Promise.all([seen, hidden].map(async ({ client }) => (await client.status()).height));
  const common = (await seen.client.status()).height;
  wires.cut(hidden.plan.wsPort);
  const isBetter = async (): Promise<boolean> => {
    const [ours = 0, theirs = 0] = await heights();
    return ours >= common + REVERTED_MIN && theirs > ours + 1;
  };
  await waitFor('a better branch that replicas do not see', isBetter, BRANCH_MS_MAX);
  transfers.isHeld = true;
  await waitFor(
    'the same transfers on both branches',
    async () => (await transfers.areIn([seen, hidden])) && (await isBetter()),
    BRANCH_MS_MAX,
  );
  const [ours = 0] = await heights();
  // The height of the node `seen` was `common` shortly before the cut, and is `ours` now. Compare the blocks at height
  // `ours`, and not at height `common + 1`: if a block arrived between the reading of `common` and the cut, both
  // branches have the same block at height `common + 1`.
  const left = await seen.client.blockId(ours);
  wires.mend(hidden.plan.wsPort);
  await waitFor(
    'the better branch',
    async () => (await seen.client.blockId(ours)) !== left && (await seen.client.status()).height > ours,
    BRANCH_MS_MAX,
  );
  await waitForCommonBlock([seen, hidden], ours + 1, BRANCH_MS_MAX);
  log(`a reorganisation of ${ours - common} blocks from height ${common}`);
  transfers.isHeld = false;
  return ours - common;
}

/**
 * A steady flow of transfers to an account that sends nothing. The transfers go to all forging nodes, so that both
 * branches of the chain get all of them.
 */
class Transfers {
  readonly #devnet: TestDevnet;
  readonly #timer: NodeJS.Timeout;
  readonly address = '1000000L';
  readonly #forgers: readonly TestNode[];
  isHeld = false;
  #count = 0;
  #sum = 0n;
  #isSending = false;

  constructor(devnet: TestDevnet) {
    this.#devnet = devnet;
    this.#forgers = devnet.nodes.slice(0, SHARES.length);
    this.#timer = setInterval(() => void this.#send(), TRANSFER_EVERY_MS);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Returns whether the chain of each node contains all transfers. */
  async areIn(nodes: readonly TestNode[]): Promise<boolean> {
    if (this.#isSending || this.#count === 0) return false;
    const wanted = this.#sum;
    const balances = await Promise.all(nodes.map(({ url }) => balanceAt(url, this.address)));
    return balances.every((balance) => balance >= wanted);
  }

  async #send(): Promise<void> {
    if (this.isHeld || this.#isSending) return;
    this.#isSending = true;
    try {
      const { network } = this.#devnet;
      const transaction = transfer(network, this.#count, 1);
      this.#count += 1;
      // It is enough that one forging node accepts the transfer. A forger may refuse a transfer that it already has
      // from gossip, or be too busy.
      const sent = this.#forgers.map(({ url }) => postTransaction(url, network, transaction));
      if ((await Promise.allSettled(sent)).some(({ status }) => status === 'fulfilled')) {
        this.#sum += BigInt(this.#count);
      }
    } finally {
      this.#isSending = false;
    }
  }
}

async function balanceAt(url: string, address: string): Promise<bigint> {
  const answer = await fetch(`${url}/api/accounts?address=${address}`, { signal: AbortSignal.timeout(60_000) });
  const { data } = (await answer.json()) as { readonly data: readonly { readonly balance: string }[] };
  return BigInt(data[0]?.balance ?? 0);
}
