/**
 * Runs a devnet: starts the processes of its nodes, controls its chain clock, and accepts commands of the user on its
 * control port.
 */

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Network } from '../../config/network.ts';
import { SerialQueue } from '../../engine/serial-queue.ts';
import { systemClock } from '../../node/system.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { messageOf } from '../../primitives/errors.ts';
import { checkPortsFree } from '../ports.ts';
import { usageError } from '../error-lines.ts';
import type { LinkOptions } from './agent-link.ts';
import { removeControlFile, writeControlFile } from './control-file.ts';
import { startControlServer, type ControlOperation } from './control-server.ts';
import { afterStart } from './start-wait.ts';
import { FaultControl } from './fault-control.ts';
import { readClock, writeClock, writeNodeFolder } from './folder.ts';
import type { ForkFacts } from './fork/prepare.ts';
import { restoreState } from './node-state.ts';
import { operationsOf } from './operations.ts';
import { performForPage } from './page-controls.ts';
import { DevnetAccounts } from './devnet-accounts.ts';
import { DEVNET_HOST, planFollower, type PlannedNode } from './plan.ts';
import type { RestartMode } from './restart-policy.ts';
import type { AgentEvent } from './messages.ts';
import { Snapshots } from './snapshots.ts';
import { SupervisedNode } from './supervised-node.ts';
import { processParts, runDevnet, type DevnetResult } from './supervisor.ts';
import type { Screen } from './table.ts';
import type { MiningMode } from './mining.ts';
import { Timekeeper } from './timekeeper.ts';

export interface SessionOptions {
  /**
   * Folder of the devnet. Before the call of `runSession`, the caller must lock the folder and write the files of the
   * devnet to the folder.
   */
  readonly directory: string;
  readonly network: Network;
  readonly nodes: readonly PlannedNode[];
  readonly httpPort: number;
  readonly wsPort: number;
  readonly restart: RestartMode;
  readonly mode: MiningMode;
  /**
   * Time between two blocks on the machine's clock, in milliseconds; undefined if this time is the length of a slot.
   */
  readonly intervalMs?: number;
  readonly screen: Screen;
  readonly stop: AbortController;
  readonly untilHeight?: number;
  readonly onReady?: (result: DevnetResult, session: RunningSession) => void;
  /** Facts about the fork; undefined for a devnet that is not forked. */
  readonly fork?: ForkFacts;
  /** True if each node starts with a new copy of a chain whose database pages and state `prepareFork` has checked. */
  readonly areChainsCopied?: boolean;
  /** Format of the log lines of nodes that the user adds; undefined for the default format. */
  readonly logFormat?: 'json';
}

/** Access to a running devnet for code in the process that runs `runSession`. */
export interface RunningSession {
  readonly operations: ReadonlyMap<string, ControlOperation>;
  readonly nodes: () => readonly SupervisedNode[];
  readonly accounts: DevnetAccounts;
  readonly timekeeper: Pick<Timekeeper, 'exclusively'>;
}

/**
 * An operation that a user requested on the dashboard of a node. The node forwards the request to the process that runs
 * `runSession`.
 */
type AskedOperation = Extract<AgentEvent, { readonly event: 'operation' }>;

const TOKEN_BYTES = 32;

/**
 * Runs a devnet and its control port until the devnet ends. This function has the same results and errors as
 * `runDevnet`. In addition, the function throws a system error if the program cannot open the control port or cannot
 * write the control file.
 */
export async function runSession(options: SessionOptions): Promise<DevnetResult | undefined> {
  const { directory, network, screen, stop } = options;
  const session = new Session(options);
  const token = hexOf(randomBytes(TOKEN_BYTES));
  const operations = session.operations();
  const control = await startControlServer(operations, token);
  try {
    writeControlFile(directory, { port: control.port, token });
    return await runDevnet({
      nodes: options.nodes,
      network,
      restart: options.restart,
      screen,
      stop: stop.signal,
      parts: session.parts,
      attach: (nodes) => session.attach(nodes),
      onEnding: () => session.end(),
      ...(options.untilHeight === undefined ? {} : { untilHeight: options.untilHeight }),
      onReady: (result) =>
        options.onReady?.(result, {
          ...{ operations, nodes: () => session.nodes, accounts: session.accounts, timekeeper: session.timekeeper },
        }),
    });
  } finally {
    session.close();
    removeControlFile(directory);
    await control.close();
  }
}

class Session {
  readonly #options: SessionOptions;
  readonly #timekeeper: Timekeeper;
  readonly #accounts: DevnetAccounts;
  readonly #faults: FaultControl;
  #nodes: SupervisedNode[] = [];
  /**
   * Numbers of the nodes that have not started yet, and whose chains are therefore still copies of the chain that
   * `prepareFork` checked. Empty if `areChainsCopied` is not true.
   */
  readonly #copied: Set<number>;
  /** Operations by name; empty until the method `operations` is called. */
  #operations: ReadonlyMap<string, ControlOperation> = new Map();
  /**
   * Numbers of the nodes in `options.nodes` that have not been ready yet; undefined after all of them have been ready.
   */
  #missing: Set<number> | undefined;
  /** Adds one node after another, so that two nodes cannot get the same number. */
  readonly #additions = new SerialQueue();
  #isEnding = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#copied = new Set(options.areChainsCopied === true ? options.nodes.map(({ index }) => index) : []);
    this.#missing = new Set(options.nodes.map(({ index }) => index));
    this.#timekeeper = new Timekeeper({
      params: options.network.params,
      clock: systemClock,
      mode: options.mode,
      intervalMs: options.intervalMs,
      // If an earlier run saved a clock setting, the nodes start with this setting. A node needs the chain time even
      // before `Timekeeper.begin` is called: at its start, the node restores transactions to its pool, and judges the
      // age of these transactions.
      earlier: readClock(options.directory),
      links: () =>
        this.#nodes.flatMap(({ process, stateName }) =>
          stateName === 'running' && process?.link?.isUsable === true ? [process.link] : [],
        ),
      partOf: (link) => this.#faults.partOf(link),
      print: (line) => options.screen.print(line),
    });
    this.#faults = new FaultControl({ nodes: () => this.#nodes, timekeeper: this.#timekeeper });
    const { directory, network, fork } = options;
    const funders = fork === undefined ? {} : { funders: fork.funders };
    this.#accounts = new DevnetAccounts({ directory, network, timekeeper: this.#timekeeper, ...funders });
  }

  get nodes(): readonly SupervisedNode[] {
    return this.#nodes;
  }

  get accounts(): DevnetAccounts {
    return this.#accounts;
  }

  get timekeeper(): Timekeeper {
    return this.#timekeeper;
  }

  get parts() {
    const { network } = this.#options;
    return processParts(
      network,
      (node) => this.#linkOf(node),
      () => systemClock.nowMs(),
    );
  }

  attach(nodes: SupervisedNode[]): void {
    this.#nodes = nodes;
  }

  operations(): ReadonlyMap<string, ControlOperation> {
    const { stop, directory, network } = this.#options;
    const operations = operationsOf({
      nodes: () => this.#nodes,
      timekeeper: this.#timekeeper,
      accounts: this.#accounts,
      faults: this.#faults,
      snapshots: new Snapshots({
        directory,
        networkName: network.name,
        isFork: this.#options.fork !== undefined,
        timekeeper: this.#timekeeper,
        nodes: () => this.#nodes,
      }),
      add: () => this.#additions.run(() => this.#add()),
      resumed: ({ node }) => this.#welcome(node.index),
      stop: () => stop.abort(),
      clockMoved: () => this.#keepClock(),
    });
    this.#operations = afterStart(operations, {
      hasBegun: () => this.#timekeeper.hasBegun,
      missing: () => [...(this.#missing ?? [])],
      clock: systemClock,
    });
    return this.#operations;
  }

  /** After this call, the session adds no further node. */
  end(): void {
    this.#isEnding = true;
  }

  close(): void {
    this.#timekeeper.stop();
    this.#keepClock();
  }

  #linkOf({ index }: PlannedNode): LinkOptions {
    const { setting, isHeld } = this.#timekeeper;
    const { fork, nodes } = this.#options;
    const isChainChecked = this.#copied.delete(index);
    return {
      first: {
        ...{ setting, isHeld, impersonated: this.#accounts.impersonated, faults: this.#faults.of(index) },
        ...(fork === undefined ? {} : { fork: { index, nodes: nodes.length } }),
        isChainChecked,
        hasPageControls: this.#hasWorthlessKeys,
      },
      onReturn: () => this.#welcome(index),
      onEvent: (event) => {
        if (event.event === 'transaction') {
          this.#timekeeper.transactionArrived(event.id, event.transaction, this.#nodes[index]?.process?.link);
        } else if (event.event === 'operation') void this.#performForPage(index, event);
        else this.#ready(index);
      },
    };
  }

  /**
   * True if the keys that sign in this devnet have no value: the network publishes the keys of its delegates, or the
   * devnet is a fork. In a fork, the substitute key (`substituteKeyOf`) signs for the delegates. If the result is
   * false, the dashboard gets no controls, because a transfer of this devnet might be valid on a network that somebody
   * uses.
   */
  get #hasWorthlessKeys(): boolean {
    const { network, fork } = this.#options;
    return fork !== undefined || network.forgers?.arePublished === true;
  }

  async #performForPage(index: number, asked: AskedOperation): Promise<void> {
    const outcome = await performForPage(this.#operations, asked, index);
    const link = this.#nodes[index]?.process?.link;
    // An error is ignored: if the node has ended meanwhile, its dashboard no longer waits for the outcome.
    await link?.ask({ op: 'outcome', operation: asked.number, outcome }).catch(() => undefined);
  }

  #ready(index: number): void {
    if (this.#missing === undefined) {
      this.#welcome(index);
      return;
    }
    this.#missing.delete(index);
    if (this.#missing.size > 0) return;
    this.#missing = undefined;
    const { screen, stop } = this.#options;
    // It is possible that users set faults, such as a delay, while nodes were starting. All nodes get these faults
    // before `begin` allows the nodes to forge.
    this.#faults
      .sendFaults()
      .then(() => this.#timekeeper.begin())
      .catch((error: unknown) => {
        if (!stop.signal.aborted) screen.print(`the devnet could not begin: ${messageOf(error)}`);
      });
  }

  #welcome(index: number): void {
    const link = this.#nodes[index]?.process?.link;
    if (link === undefined) return;
    // If the request fails, the error is ignored. If the node has ended, it gets the faults at its next start. If the
    // node does not answer, it gets the faults when it answers again.
    link
      .ask({ op: 'faults', faults: this.#faults.of(index) })
      .then(() => this.#timekeeper.welcome(link))
      .catch(() => undefined);
  }

  async #add(): Promise<SupervisedNode> {
    const { directory, network, httpPort, wsPort, restart, logFormat } = this.#options;
    const plans = this.#nodes.map(({ node }) => node);
    const log = logFormat === undefined ? {} : { logFormat };
    const plan = planFollower(plans, { httpPort, wsPort, directory, network, ...log });
    await checkPortsFree([plan.httpPort, plan.wsPort].map((port) => ({ host: DEVNET_HOST, port })));
    writeNodeFolder(plan);
    if (this.#options.fork !== undefined) await this.#copyChainTo(plan);
    if (this.#isEnding) throw usageError('the devnet is ending: start it again, and then add the node');
    const { start, client, nowMs } = this.parts;
    const node = new SupervisedNode({ node: plan, client: client(plan), restart, start, nowMs });
    this.#nodes.push(node);
    await this.#faults.sendFaults();
    return node;
  }

  /**
   * Copies the chain to a new node of a forked devnet. The reason is `--new-network-id`: the signatures of the blocks
   * before the fork cover the old network identifier, so a node of the fork cannot verify these blocks. The method also
   * copies the chain in a fork without this option.
   */
  async #copyChainTo({ directory }: PlannedNode): Promise<void> {
    const source = this.#nodes.find(
      ({ process, stateName }) => stateName === 'running' && process?.link?.isUsable === true,
    );
    const link = source?.process?.link;
    if (link === undefined)
      throw usageError(
        'the new node needs a copy of the chain, but no node that could give one runs: restart a node first',
      );
    const draft = join(directory, 'chain-of-another');
    try {
      await this.#timekeeper.exclusively(() => link.ask({ op: 'snapshot', directory: draft }));
      restoreState(draft, join(directory, this.#options.network.name), { withJournal: false });
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }

  #keepClock(): void {
    const { setting } = this.#timekeeper;
    if (setting.kind === 'running' && setting.aheadMs === 0 && readClock(this.#options.directory) === undefined) return;
    writeClock(this.#options.directory, setting);
  }
}
