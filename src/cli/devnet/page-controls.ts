/**
 * The controls that the nodes of a devnet offer to the dashboard. The controls are those operations of the control port
 * (`control-server.ts`) that `OFFERED` lists. Their names, parameters and results are the same as on the control port.
 * A node passes each request of the dashboard to the supervisor over the IPC channel of the node's process.
 */

import type { DevnetControls } from '../../ports/devnet-controls.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { ControlOperation, ControlParameters } from './control-server.ts';
import type { AgentEvent, OperationOutcome } from './messages.ts';

/**
 * Operations that the dashboard offers. The dashboard cannot end the devnet, create or restore snapshots, or
 * impersonate accounts.
 */
const OFFERED: ReadonlySet<string> = new Set([
  ...['list', 'accounts', 'fund', 'send', 'mine', 'mode', 'warp', 'freeze', 'resume'],
  ...['kill', 'restart', 'pause', 'add', 'partition', 'delay', 'loss', 'skew', 'heal'],
]);
/**
 * Operations that end or suspend the process of a node. A dashboard cannot request these operations for the node that
 * serves the dashboard, because this node could not answer the dashboard afterwards.
 */
const ON_PROCESSES: ReadonlySet<string> = new Set(['kill', 'restart', 'pause']);

/**
 * Performs an operation that the dashboard of a node requested. The outcome contains the result or the error; the
 * function does not throw.
 *
 * @param page the node that serves the dashboard, given by its number
 */
export async function performForPage(
  operations: ReadonlyMap<string, ControlOperation>,
  { operation: name, parameters }: { readonly operation: string; readonly parameters: ControlParameters },
  page: number,
): Promise<OperationOutcome> {
  try {
    const operation = OFFERED.has(name) ? operations.get(name) : undefined;
    if (operation === undefined) {
      throw new ProtocolError('CONTROL_UNKNOWN', {}, `the dashboard has no operation ${name} of the devnet`);
    }
    if (ON_PROCESSES.has(name) && parameters['node'] === page) {
      const reason = `node ${page} serves this page: use the dashboard of another node, or bloomery devnet ${name} ${page}`;
      throw new ProtocolError('CONTROL_OWN_NODE', {}, reason);
    }
    return { result: await operation(parameters) };
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : 'DEVNET_FAILED';
    return { error: { code, message: messageOf(error) } };
  }
}

/**
 * Maximum number of operations that wait for their outcome. Each part of the dashboard requests one operation at a
 * time, so more than `WAITING_MAX` waiting operations are a sign of a fault.
 */
const WAITING_MAX = 16;
/**
 * Time limit for the outcome of an operation, in milliseconds. The limit is shorter than the 20 s after which the HTTP
 * interface closes a connection without traffic.
 */
const ANSWER_MS_MAX = 15_000;

interface Waiting {
  readonly resolve: (result: object) => void;
  readonly reject: (error: ProtocolError) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Runs in the node. Passes operations from the dashboard to the supervisor, and waits for the outcomes of the
 * operations.
 */
export class PageControls implements DevnetControls {
  readonly #emit: (event: AgentEvent) => void;
  readonly #answerMsMax: number;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;

  constructor(emit: (event: AgentEvent) => void, answerMsMax = ANSWER_MS_MAX) {
    this.#emit = emit;
    this.#answerMsMax = answerMsMax;
  }

  /**
   * @throws ProtocolError in the same cases as `DevnetControls.ask`; `DEVNET_BUSY` while `WAITING_MAX` operations wait;
   *   `DEVNET_STILL_WORKING` after the time limit
   */
  ask(operation: string, parameters: ControlParameters): Promise<object> {
    if (this.#waiting.size >= WAITING_MAX) {
      const message = 'the devnet still works on earlier operations: wait for them';
      return Promise.reject(new ProtocolError('DEVNET_BUSY', {}, message));
    }
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(number);
        const message = `the devnet still works on ${operation}: this page shows the result when it is available`;
        reject(new ProtocolError('DEVNET_STILL_WORKING', {}, message));
      }, this.#answerMsMax);
      this.#waiting.set(number, { resolve, reject, timer });
      this.#emit({ event: 'operation', number, operation, parameters });
    });
  }

  /** Receives the outcome of an operation. An outcome that arrives after the time limit is dropped. */
  ended(number: number, outcome: OperationOutcome): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    clearTimeout(waiting.timer);
    if ('result' in outcome) waiting.resolve(outcome.result);
    else waiting.reject(new ProtocolError(outcome.error.code, {}, outcome.error.message));
  }
}
