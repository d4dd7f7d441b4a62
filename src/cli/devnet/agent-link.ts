/**
 * Sends requests of the supervisor (the process of `bloomery devnet`) to the agent of a node in a child process, and
 * receives the answers. The agent is the part of a devnet node that executes these requests (`node-agent.ts`).
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type {
  AgentEvent,
  AgentLink,
  AgentRequest,
  AgentStart,
  AgentState,
  NumberedAnswer,
  NumberedRequest,
} from './messages.ts';

export interface LinkOptions {
  /** First message to the node: the clock setting, the faults and the other settings with which the node starts. */
  readonly first: AgentStart;
  readonly onEvent: (event: AgentEvent) => void;
  /**
   * If the node leaves a request unanswered for `ANSWER_MS_MAX`, the link calls this function when the node sends its
   * next message.
   */
  readonly onReturn: () => void;
}

/** The members of a child process that the link uses. */
export interface LinkedProcess {
  readonly connected: boolean;
  send(message: NumberedRequest | AgentStart, sent: () => void): unknown;
  on(event: 'message', listener: (message: NumberedAnswer | AgentEvent) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
}

interface Waiting {
  readonly resolve: (state: AgentState) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Time limit of an answer, in milliseconds. A node that applies a full block cannot answer for up to a tenth of a
 * second. On an overloaded machine, this delay can be much longer.
 */
const ANSWER_MS_MAX = 15_000;

export class ProcessLink implements AgentLink {
  readonly #child: LinkedProcess;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;
  #isReady = false;
  #isSilent = false;

  constructor(child: LinkedProcess, { first, onEvent, onReturn }: LinkOptions) {
    this.#child = child;
    child.on('message', (message: NumberedAnswer | AgentEvent) => {
      if (this.#isSilent) {
        this.#isSilent = false;
        onReturn();
      }
      if (!('event' in message)) {
        this.#answered(message);
        return;
      }
      if (message.event === 'ready') this.#isReady = true;
      onEvent(message);
    });
    child.once('exit', () => this.#gone());
    this.#send(first);
  }

  /** True when the node has sent the event `ready` at least once. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /**
   * True when the node has been ready, its process is connected, and no request has timed out since the last message of
   * the node.
   */
  get isUsable(): boolean {
    return this.#isReady && !this.#isSilent && this.#child.connected;
  }

  /**
   * @throws ProtocolError `DEVNET_NODE_SILENT` if the process ends before it answers, or does not answer within
   *   `ANSWER_MS_MAX`; the error that the node's answer contains, if the node could not execute the request
   */
  ask(request: AgentRequest): Promise<AgentState> {
    if (!this.#child.connected) return Promise.reject(silent('has ended'));
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(number);
        this.#isSilent = true;
        reject(silent('does not answer'));
      }, ANSWER_MS_MAX);
      this.#waiting.set(number, { resolve, reject, timer });
      this.#send({ number, request });
    });
  }

  #send(message: NumberedRequest | AgentStart): void {
    // The link ignores a failure to send. When the process ends, its event `exit` calls `#gone`, which rejects all
    // unanswered requests.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #answered(answer: NumberedAnswer): void {
    const waiting = this.#waiting.get(answer.number);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.number);
    clearTimeout(waiting.timer);
    if ('state' in answer) waiting.resolve(answer.state);
    else waiting.reject(new ProtocolError(answer.error.code, {}, answer.error.message));
  }

  #gone(): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(silent('has ended'));
    }
    this.#waiting.clear();
  }
}

function silent(how: string): ProtocolError {
  return new ProtocolError('DEVNET_NODE_SILENT', {}, `the node ${how}`);
}
