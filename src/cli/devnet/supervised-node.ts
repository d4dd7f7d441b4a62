/**
 * Runs one node of a devnet: starts, pauses and kills its process, and restarts the node after its process has ended.
 */

import { SerialQueue } from '../../engine/serial-queue.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeClient } from '../node-client.ts';
import type { ProcessEnd, NodeProcess } from './node-process.ts';
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
  /** The user ended the node. The node stays down until the user starts it again. */
  | { readonly kind: 'killed' }
  | { readonly kind: 'dead'; readonly reason: string };

export class SupervisedNode {
  readonly node: PlannedNode;
  readonly client: NodeClient;
  readonly #options: SupervisedNodeOptions;
  readonly #policy: RestartPolicy;
  #state: State;
  #isPaused = false;
  /** Runs calls of `kill` and `restart` one after another. */
  readonly #queue = new SerialQueue();
  /** The process whose end `kill` or `restart` awaits. */
  #ending: NodeProcess | undefined;
  /** Number of calls of `kill` that wait in `#queue` for an earlier call of `kill` or `restart`. */
  #killsWaiting = 0;
  #isClosed = false;

  /** Starts the first process. */
  constructor(options: SupervisedNodeOptions) {
    this.#options = options;
    this.node = options.node;
    this.client = options.client;
    this.#policy = new RestartPolicy(options.restart);
    this.#state = this.#started();
  }

  /** The process of the node; undefined after `kill`, and after `supervise` has handled the end of the process. */
  get process(): NodeProcess | undefined {
    return this.#state.kind === 'running' ? this.#state.process : undefined;
  }

  /**
   * True while `kill` or `restart` waits for the end of the node's process. Until this end, the node's process can
   * still write to the files of the node.
   */
  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /**
   * State of the node's process, as one word. `ended`: the node waits for its restart. `dead`: the supervisor does not
   * restart the node, but the user can restart it.
   */
  get stateName(): 'running' | 'paused' | 'killed' | 'ended' | 'dead' {
    const { kind } = this.#state;
    if (kind === 'waiting') return 'ended';
    if (kind === 'running') return this.#isPaused ? 'paused' : 'running';
    return kind;
  }

  /**
   * Kills the process immediately, so that the node ends as in a crash. Resolves when the process has ended. The node
   * stays down until `restart` is called.
   */
  async kill(): Promise<void> {
    // Kills `#ending` without waiting in the queue. In the queue, the kill would wait for an earlier `restart`, and
    // this `restart` can wait for a process that does not stop.
    this.#killsWaiting += 1;
    this.#ending?.kill();
    await this.#queue.run(() => {
      this.#killsWaiting -= 1;
      return this.#end((process) => process.kill());
    });
  }

  /**
   * Stops the running process, if there is one, waits for its end, and starts a new process. After `close`, the method
   * starts no process.
   */
  async restart(): Promise<void> {
    await this.#queue.run(async () => {
      await this.#end((process) => process.stop());
      // If a call of `kill` waits in the queue, this method starts no process, because the call of `kill` would end the
      // new process immediately.
      if (!this.#isClosed && this.#killsWaiting === 0) this.#state = this.#started();
    });
  }

  /**
   * Ends the supervision of the node. The supervisor calls this method when the devnet ends.
   *
   * @returns the process that the caller must end: the running process, or the process whose end `kill` or `restart`
   *   awaits
   */
  close(): NodeProcess | undefined {
    this.#isClosed = true;
    return this.process ?? this.#ending;
  }

  /**
   * If `isPaused` is true, pauses the process. If `isPaused` is false, lets the process continue.
   *
   * @throws ProtocolError `DEVNET_NODE_DOWN` when no process runs
   */
  pause(isPaused: boolean): void {
    const { process } = this;
    if (process?.isRunning() !== true) {
      const { index } = this.node;
      const message = `node ${index} does not run: start it with bloomery devnet restart ${index}`;
      throw new ProtocolError('DEVNET_NODE_DOWN', { index }, message);
    }
    process.pause(isPaused);
    this.#isPaused = isPaused;
  }

  /**
   * Reason why the process of the node ended, if the supervisor will not restart the node. Undefined while a process
   * runs, while the node waits for its restart, and after the user has killed the node.
   */
  get deathReason(): string | undefined {
    return this.#state.kind === 'dead' ? this.#state.reason : undefined;
  }

  /**
   * The way in which the process ended; undefined if the process runs, if the user killed the node, or if `supervise`
   * has already handled the end.
   */
  async end(): Promise<ProcessEnd | undefined> {
    const { process } = this;
    return process === undefined || process.isRunning() ? undefined : process.ended;
  }

  /**
   * If the process has ended, decides whether and after which delay the node gets a new process. If the delay of an
   * earlier decision is over, starts the new process.
   *
   * @returns a line for the user if the process ended or a new process was started; otherwise undefined
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
    // It is possible that the user killed or restarted the node during the `await`.
    if (state.kind !== 'running' || end === undefined || this.#state !== state) return undefined;
    this.#isPaused = false;
    const decision = this.#policy.ended(end, nowMs - state.startedMs);
    if (decision.kind === 'giveUp') {
      this.#state = { kind: 'dead', reason: end.reason };
      return `${name} ended: ${end.reason}: not started again: ${decision.reason}: its log is ${this.node.logFile}`;
    }
    this.#state = { kind: 'waiting', untilMs: nowMs + decision.delayMs };
    return `${name} ended: ${end.reason}: started again in ${decision.delayMs / 1000} s`;
  }

  async #end(signal: (process: NodeProcess) => void): Promise<void> {
    const { process } = this;
    this.#state = { kind: 'killed' };
    this.#isPaused = false;
    if (process === undefined) return;
    this.#ending = process;
    signal(process);
    if (this.#killsWaiting > 0) process.kill();
    await process.ended;
    this.#ending = undefined;
  }

  #started(): State {
    const { node, start, nowMs } = this.#options;
    return { kind: 'running', process: start(node), startedMs: nowMs() };
  }
}
