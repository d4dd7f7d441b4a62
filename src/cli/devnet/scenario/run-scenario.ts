/** Runs the steps of a scenario on a devnet, one after the other, until a step fails. */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, ProtocolError } from '../../../primitives/errors.ts';
import type { KnownAccount } from '../../genesis/accounts-file.ts';
import type { RunningSession } from '../session.ts';
import { Expectations } from './expectations.ts';
import type { Expected, Scenario, Step } from './scenario.ts';

export interface StepResult {
  readonly step: Step;
  readonly tookMs: number;
  /** Reason of the failure, in one line; undefined if the step did not fail. */
  readonly failure?: string;
}

export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly session: RunningSession;
  readonly stop: AbortSignal;
  /** Called after each finished step, with the number of the step, counted from 1. */
  readonly onResult: (result: StepResult, number: number) => void;
}

const POLL_MS = 200;

/**
 * Runs the steps until a step fails or the user stops the run.
 *
 * @returns the results of the finished steps. Only the last of these steps can have failed. A step during which the
 *   user stopped the run has no result
 * @throws any error of a step that is not a ProtocolError: a system error, or a defect of the program. If a step throws
 *   a ProtocolError, the step counts as failed
 */
export async function runScenario(run: ScenarioRun): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  const player = new Player(run);
  for (const [index, step] of run.scenario.steps.entries()) {
    if (run.stop.aborted) break;
    const startMs = performance.now();
    const failure = await player.play(step);
    if (run.stop.aborted) break;
    const tookMs = Math.round(performance.now() - startMs);
    const result = { step, tookMs, ...(failure === undefined ? {} : { failure }) };
    results.push(result);
    run.onResult(result, index + 1);
    if (failure !== undefined) break;
  }
  return results;
}

class Player {
  readonly #run: ScenarioRun;
  readonly #expectations: Expectations;

  constructor(run: ScenarioRun) {
    this.#run = run;
    const { nodes } = run.session;
    this.#expectations = new Expectations({ nodes, addressOf: (account) => this.#addressOf(account) });
  }

  /** @returns the reason if the step failed; otherwise undefined */
  async play(step: Step): Promise<string | undefined> {
    try {
      const failure = await this.#work(step);
      return failure ?? (await this.#death());
    } catch (error) {
      // A ProtocolError means that the operation was refused or failed, so the step fails. Any other error is a system
      // error or a defect of the program, and ends the whole run.
      if (error instanceof ProtocolError) return messageOf(error);
      throw error;
    }
  }

  async #work({ work }: Step): Promise<string | undefined> {
    switch (work.kind) {
      case 'operation':
        await this.#operation(work.operation, work.parameters);
        return undefined;
      case 'fund':
        await this.#operation('fund', { address: this.#addressOf(work.to), amount: work.amount.toString() });
        return undefined;
      case 'transfer': {
        const { accounts, nodes, timekeeper } = this.#run.session;
        const { json } = accounts.transfer(this.#accountOf(work.from), this.#addressOf(work.to), work.amount);
        const link = nodes()[work.node]?.process?.link;
        if (link === undefined) return `node ${work.node} does not run`;
        await timekeeper.exclusively(() => link.ask({ op: 'transaction', transaction: json }));
        return undefined;
      }
      case 'wait':
        await this.#sleep(work.ms);
        return undefined;
      case 'expect':
        return this.#await(work.expected);
    }
  }

  async #operation(name: string, parameters: object): Promise<void> {
    await this.#run.session.operations.get(name)?.({ ...parameters });
  }

  async #await(expected: Expected): Promise<string | undefined> {
    const endMs = performance.now() + expected.withinMs;
    for (;;) {
      const difference = await this.#expectations.difference(expected);
      if (difference === undefined || this.#run.stop.aborted) return undefined;
      const death = await this.#death();
      if (death !== undefined) return death;
      if (performance.now() >= endMs) {
        return `expected ${difference.expected} within ${expected.withinMs / 1000} s; found ${difference.found}`;
      }
      await this.#sleep(POLL_MS);
    }
  }

  /**
   * Returns why the process of a node ended, if no step of the scenario (`kill` or `restart`) ended this process. If
   * there is such a reason, the running step fails. Returns undefined if each process still runs or was ended by a
   * step, or if the user stopped the run.
   */
  async #death(): Promise<string | undefined> {
    if (this.#run.stop.aborted) return undefined;
    for (const node of this.#run.session.nodes()) {
      const { index, logFile } = node.node;
      const reason = node.deathReason ?? (await node.end())?.reason;
      if (reason !== undefined) return `node ${index} ended: ${reason}: its log is ${logFile}`;
    }
    return undefined;
  }

  #accountOf(name: string): KnownAccount {
    const accounts = this.#run.session.accounts.known();
    const found = accounts.find((each) => each.name === name);
    if (found !== undefined) return found;
    const known = accounts.slice(0, 3).map((each) => each.name);
    throw new ProtocolError('USAGE', { name }, `there is no account ${name}: there are ${known.join(', ')} and so on`);
  }

  #addressOf(account: string): string {
    return /^[0-9]/.test(account) ? account : this.#accountOf(account).address;
  }

  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#run.stop }).catch(() => undefined);
  }
}
