/** One node of a devnet over all its processes: the one that runs, and those that are started when it ends. */

import type { NodeClient } from '../node-client.ts';
import type { NodeEnd, NodeProcess } from './node-process.ts';
import type { PlannedNode } from './plan.ts';
import { RestartPolicy, type RestartMode } from './restart-policy.ts';

export interface SupervisedNodeOptions {
  readonly node: PlannedNode;
  readonly client: NodeClient;
  readonly restart: RestartMode;
  readonly start: (node: PlannedNode) => NodeProcess;
  readonly nowMs: () => number;
}

type State =
  | { readonly kind: 'running'; readonly process: NodeProcess; readonly startedMs: number }
  | { readonly kind: 'waiting'; readonly untilMs: number }
  | { readonly kind: 'dead'; readonly reason: string };

export class SupervisedNode {
  readonly node: PlannedNode;
  readonly client: NodeClient;
  readonly #options: SupervisedNodeOptions;
  readonly #policy: RestartPolicy;
  #state: State;

  /** Starts the first process. */
  constructor(options: SupervisedNodeOptions) {
    this.#options = options;
    this.node = options.node;
    this.client = options.client;
    this.#policy = new RestartPolicy(options.restart);
    this.#state = this.#started();
  }

  /** The process that runs, if one does. */
  get process(): NodeProcess | undefined {
    return this.#state.kind === 'running' ? this.#state.process : undefined;
  }

  /** Why no process will run any more; undefined while one runs or will. */
  get deathReason(): string | undefined {
    return this.#state.kind === 'dead' ? this.#state.reason : undefined;
  }

  /** How the process ended, when it has and nothing has followed from it yet. */
  async end(): Promise<NodeEnd | undefined> {
    const { process } = this;
    return process === undefined || process.isRunning() ? undefined : process.ended;
  }

  /**
   * Decides what follows from an ended process, or starts the next one when its time has come.
   *
   * @returns a line for the user when something happened
   */
  async supervise(): Promise<string | undefined> {
    const nowMs = this.#options.nowMs();
    const state = this.#state;
    const name = `node ${this.node.index}`;
    if (state.kind === 'waiting' && nowMs >= state.untilMs) {
      this.#state = this.#started();
      return `${name} is started again`;
    }
    const end = await this.end();
    if (state.kind !== 'running' || end === undefined) return undefined;
    const decision = this.#policy.ended(end, nowMs - state.startedMs);
    if (decision.kind === 'giveUp') {
      this.#state = { kind: 'dead', reason: end.reason };
      return `${name} ended: ${end.reason}: not started again: ${decision.reason}: its log is ${this.node.logFile}`;
    }
    this.#state = { kind: 'waiting', untilMs: nowMs + decision.delayMs };
    return `${name} ended: ${end.reason}: started again in ${decision.delayMs / 1000} s`;
  }

  #started(): State {
    const { node, start, nowMs } = this.#options;
    return { kind: 'running', process: start(node), startedMs: nowMs() };
  }
}
