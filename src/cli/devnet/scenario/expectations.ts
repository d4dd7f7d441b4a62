/** Checks the expectations of a scenario: queries the nodes over HTTP, and reads their logs. */

import { lskText } from '../../../primitives/amount.ts';
import { ProtocolError } from '../../../primitives/errors.ts';
import { nodeAsker } from '../../ask-node.ts';
import { nodeClient, type NodeClient } from '../../node-client.ts';
import { DEVNET_HOST } from '../plan.ts';
import type { SupervisedNode } from '../supervised-node.ts';
import { LogCodes } from './log-codes.ts';
import { metricIn } from './metric-text.ts';
import type { Bounds, Condition, Expected } from './scenario.ts';

/** An expectation, and the value that does not meet the expectation, both as text. */
export interface Difference {
  readonly expected: string;
  readonly found: string;
}

export interface Scene {
  readonly nodes: () => readonly Pick<SupervisedNode, 'node' | 'stateName'>[];
  /** Returns the address of an account. The account is given by its name in the scenario, or by its address. */
  readonly addressOf: (account: string) => string;
}

/**
 * Time limit for an answer of a node, in milliseconds. The time limit is long, because a scenario must not fail on an
 * overloaded machine.
 */
const ANSWER_MS_MAX = 30_000;
const METRICS_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Codes of log lines with which a node reports that it penalises, disconnects or bans a peer. `PEER_OFFENCE_EXEMPT`
 * reports an offence of a peer that the configuration names. The node does not lower the reputation of the peer for
 * this offence, but the scenario counts the offence as a penalty.
 */
const PENALTY_CODES = [
  'PEER_PENALISED',
  'PEER_OFFENCE_EXEMPT',
  'PEER_DISCONNECTED_FOR_OFFENCE',
  'PEER_WASTEFUL',
  'PEER_BANNED',
];
const PEERS_MAX = 100;

interface Watched {
  readonly index: number;
  readonly name: string;
  readonly url: string;
  readonly logFile: string;
  readonly client: NodeClient;
}

export class Expectations {
  readonly #scene: Scene;
  readonly #logs = new LogCodes();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /**
   * Returns the expected and the found value of the first condition that is not true now; undefined when all conditions
   * are true.
   */
  async difference({ conditions, nodes }: Expected): Promise<Difference | undefined> {
    const watched = this.#watched(nodes);
    for (const condition of conditions) {
      const difference = await this.#compare(condition, watched);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }

  async #compare(condition: Condition, nodes: readonly Watched[]): Promise<Difference | undefined> {
    switch (condition.kind) {
      case 'heights':
        return this.#each(nodes, 'height', condition.bounds, async ({ client }) => (await client.status()).height);
      case 'finalized':
        return this.#each(
          nodes,
          'finalized height',
          condition.bounds,
          async ({ client }) => (await client.status()).chainMaxHeightFinalized,
        );
      case 'finalityLag':
        return this.#each(nodes, 'blocks that are not final', condition.bounds, async ({ client }) => {
          const { height, chainMaxHeightFinalized } = await client.status();
          return height - chainMaxHeightFinalized;
        });
      case 'sameBlock':
        return sameBlock(nodes, condition.isSame);
      case 'account': {
        const address = this.#scene.addressOf(condition.account);
        return this.#each(
          nodes,
          `LSK of ${condition.account}`,
          condition.balance,
          ({ url }) => balanceOf(url, address),
          lskText,
        );
      }
      case 'pool':
        return this.#each(nodes, 'transactions in the pool', condition.bounds, async ({ client }) => {
          const { confirmed, total } = (await client.status()).transactions;
          return total - confirmed;
        });
      case 'noPenalty':
        return this.#each(nodes, 'penalties', { max: 0 }, (node) => this.#penalties(node));
      case 'metric': {
        const { name, labels, bounds } = condition;
        return this.#each(nodes, name, bounds, async ({ url }) =>
          metricIn(await textOf(`${url}/metrics`), name, labels),
        );
      }
      case 'log': {
        const { code, bounds } = condition;
        return this.#each(nodes, `log lines ${code}`, bounds, async ({ logFile }) => this.#logs.count(logFile, [code]));
      }
    }
  }

  /**
   * Compares a value of each node with the bounds. A node that does not answer, or has no such value, does not meet the
   * bounds.
   */
  async #each<T extends number | bigint>(
    nodes: readonly Watched[],
    what: string,
    bounds: Bounds<T>,
    read: (node: Watched) => Promise<T | undefined>,
    text: (value: T) => string = String,
  ): Promise<Difference | undefined> {
    const expected = `${what} ${boundsText(bounds, text)} on ${namesOf(nodes)}`;
    const figures = await Promise.all(nodes.map((node) => answerOf(node, () => read(node))));
    const isWrong = figures.some(({ value }) => value === undefined || !isWithin(value, bounds));
    if (!isWrong) return undefined;
    const found = figures.map(
      ({ name, value, silence }) => `${name}: ${value === undefined ? (silence ?? 'none') : text(value)}`,
    );
    return { expected, found: found.join(', ') };
  }

  async #penalties({ client, logFile }: Watched): Promise<number> {
    const peers = await client.peerVerdicts(PEERS_MAX);
    const charged = peers.filter(({ verdict, reputation }) => verdict === 'banned' || reputation < 100).length;
    return charged + this.#logs.count(logFile, PENALTY_CODES);
  }

  /**
   * Returns the nodes with the given numbers. If `numbers` is undefined, returns all nodes that are neither killed nor
   * paused now.
   */
  #watched(numbers: readonly number[] | undefined): readonly Watched[] {
    return this.#scene
      .nodes()
      .filter(({ node, stateName }) =>
        numbers === undefined ? stateName !== 'killed' && stateName !== 'paused' : numbers.includes(node.index),
      )
      .map(({ node: { index, httpPort, logFile } }) => {
        const url = `http://${DEVNET_HOST}:${httpPort}`;
        return { index, name: `node ${index}`, url, logFile, client: nodeClient(url, ANSWER_MS_MAX) };
      });
  }
}

interface Observed<T> {
  readonly name: string;
  readonly value: T | undefined;
  readonly silence?: string;
}

async function answerOf<T>({ name }: Watched, read: () => Promise<T | undefined>): Promise<Observed<T>> {
  try {
    return { name, value: await read() };
  } catch (error) {
    if (error instanceof ProtocolError) return { name, value: undefined, silence: 'does not answer' };
    throw error;
  }
}

async function sameBlock(nodes: readonly Watched[], isSame: boolean): Promise<Difference | undefined> {
  const expected = isSame ? `one chain on ${namesOf(nodes)}` : `several chains on ${namesOf(nodes)}`;
  const heights = await Promise.all(
    nodes.map((node) => answerOf(node, async () => (await node.client.status()).height)),
  );
  const silent = heights.find(({ value }) => value === undefined);
  if (silent !== undefined) return { expected, found: `${silent.name} does not answer` };
  const height = Math.min(...heights.flatMap(({ value }) => value ?? []));
  const blocks = await Promise.all(nodes.map((node) => answerOf(node, () => node.client.blockId(height))));
  const ids = new Set(blocks.map(({ value }) => value));
  // It is possible that a node has no block at `height` while the node reverts blocks. In this case, the condition is
  // false for both values of `isSame`.
  if (!ids.has(undefined) && (ids.size === 1) === isSame) return undefined;
  const found = blocks.map(({ name, value }) => `${name}: ${value ?? 'none'}`).join(', ');
  return { expected, found: `at height ${height} ${found}` };
}

async function balanceOf(url: string, address: string): Promise<bigint> {
  const [account] = await nodeAsker(url, { timeoutMs: ANSWER_MS_MAX }).ask<{ balance: string }[]>(
    `accounts?address=${address}`,
  );
  return BigInt(account?.balance ?? '0');
}

/** @throws ProtocolError `NODE_UNREACHABLE` */
async function textOf(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return (await response.text()).slice(0, METRICS_BYTES_MAX);
  } catch (error) {
    throw new ProtocolError('NODE_UNREACHABLE', { url }, `no node answers at ${url}`, { cause: error });
  }
}

function isWithin<T extends number | bigint>(value: T, { min, max }: Bounds<T>): boolean {
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}

function boundsText<T extends number | bigint>({ min, max }: Bounds<T>, text: (value: T) => string): string {
  if (min !== undefined && min === max) return text(min);
  const parts = [
    ...(min === undefined ? [] : [`at least ${text(min)}`]),
    ...(max === undefined ? [] : [`at most ${text(max)}`]),
  ];
  return parts.join(' and ');
}

function namesOf(nodes: readonly Watched[]): string {
  return nodes.length === 0
    ? 'no node'
    : `node${nodes.length === 1 ? '' : 's'} ${nodes.map(({ index }) => index).join(', ')}`;
}
