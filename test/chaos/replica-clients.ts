/**
 * Clients of several nodes behind one address. Each client reads heights and a balance. Most requests contain the
 * highest height that the client has seen (`minHeight`). The client records each answer with a height or a balance
 * below that of an earlier answer. As a control, the client also sends requests without `minHeight`. In the answers to
 * these requests, a height or a balance below an earlier value is no failure.
 */

import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/primitives/errors.ts';

export interface ReplicaClientsReport {
  readonly answered: number;
  /** Answers with a status other than 200, and requests without an answer. */
  readonly failed: readonly string[];
  /** Heights and balances lower than in an earlier answer to the same client. Control requests do not count. */
  readonly back: readonly string[];
  /** Number of heights and balances in answers to control requests that were lower than in an earlier such answer. */
  readonly controlBack: number;
  /** Longest time from a request to its answer, in milliseconds. */
  readonly slowestMs: number;
  readonly slow: number;
}

/** Sends a request to one of the nodes. Never throws. */
export type Ask = (path: string) => Promise<ReplicaAnswer>;

export interface ReplicaAnswer {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly height: number;
  readonly body: string;
}

/** Pause between two requests of a client, so that the machine can do other work. */
const REST_MS = 150;
/**
 * A client requests a list of paths (`targets`) again and again. In one of `CONTROL_EVERY` repetitions of the list, the
 * requests of the client are control requests: they do not contain `minHeight`.
 */
const CONTROL_EVERY = 3;
/**
 * Time limit for an answer. The balancer waits for at most three nodes, one after the other: for the first node and for
 * two retries. The limit is longer than these three waits together.
 */
const ANSWER_MS_MAX = 60_000;
const SLOW_MS = 5_000;
/** Each list of the report contains the text of at most this number of failures. Further failures are empty strings. */
const NAMED_MAX = 20;

export class ReplicaClients {
  readonly #clients: readonly Promise<void>[];
  readonly #failed: string[] = [];
  readonly #back: string[] = [];
  #isOver = false;
  #answered = 0;
  #controlBack = 0;
  #slowestMs = 0;
  #slow = 0;

  /** @param address address of an account that receives transfers and sends none */
  constructor(count: number, address: string, askOf: (client: number) => Ask) {
    this.#clients = Array.from({ length: count }, (_, index) => this.#run(index, address, askOf(index)));
  }

  async end(): Promise<ReplicaClientsReport> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return {
      answered: this.#answered,
      failed: this.#failed,
      back: this.#back,
      controlBack: this.#controlBack,
      slowestMs: this.#slowestMs,
      slow: this.#slow,
    };
  }

  async #run(index: number, address: string, ask: Ask): Promise<void> {
    const targets = [`/api/accounts?address=${address}`, '/api/blocks?limit=1', '/api/node/status?'];
    const [seen, control] = [new Seen(), new Seen()];
    for (let turn = index; !this.#isOver; turn += 1) {
      const target = targets[turn % targets.length] ?? '';
      const isControl = Math.floor(turn / targets.length) % CONTROL_EVERY === 0;
      const wanted = seen.height;
      const path = isControl || wanted === 0 ? target : `${target}&minHeight=${wanted}`;
      const startedMs = performance.now();
      const answer = await ask(path);
      const tookMs = performance.now() - startedMs;
      this.#slowestMs = Math.max(this.#slowestMs, tookMs);
      if (tookMs > SLOW_MS) this.#slow += 1;
      if (answer.status !== 200) {
        this.#record(this.#failed, `${path}: ${answer.status} ${answer.body} after ${Math.round(tookMs)} ms`);
      } else {
        this.#answered += 1;
        const wrong = (isControl ? control : seen).take(answer);
        if (isControl) this.#controlBack += wrong.length;
        else for (const each of wrong) this.#record(this.#back, `client ${index}, ${path}: ${each}`);
      }
      await sleep(REST_MS);
    }
  }

  #record(list: string[], line: string): void {
    list.push(list.length < NAMED_MAX ? line : '');
  }
}

/** The highest values that a client has seen. */
class Seen {
  height = 0;
  /**
   * Highest member `height` in the JSON of an answer. (`height` above is the highest value of the HTTP header
   * `X-Height`.)
   */
  #bodyHeight = 0;
  #balance = 0n;

  /** @returns a text for each value that is lower than in an earlier answer */
  take({ height, body }: ReplicaAnswer): readonly string[] {
    const { data } = JSON.parse(body) as { readonly data: unknown };
    const item = (Array.isArray(data) ? data[0] : data) as { readonly height?: number; readonly balance?: string };
    const bodyHeight = item.height ?? this.#bodyHeight;
    const balance = BigInt(item.balance ?? this.#balance);
    const wrong = [
      ...(height < this.height ? [`X-Height ${height} after ${this.height}`] : []),
      ...(bodyHeight < this.#bodyHeight ? [`height ${bodyHeight} after ${this.#bodyHeight}`] : []),
      ...(balance < this.#balance ? [`balance ${balance} after ${this.#balance}`] : []),
    ];
    this.height = Math.max(height, this.height);
    this.#bodyHeight = Math.max(bodyHeight, this.#bodyHeight);
    this.#balance = balance > this.#balance ? balance : this.#balance;
    return wrong;
  }
}

/** Returns a function that sends all its requests on one kept-alive connection, as a browser does. */
export function asking(port: number): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path) => answerOf(agent, port, path);
}

/**
 * Replaces the balancer if HAProxy is not installed: sends each request to the next node in turn, and to one more node
 * if the first answer has a status other than 200.
 */
export function askingInTurn(ports: readonly number[]): Ask {
  const asks = ports.map((port) => asking(port));
  let turn = 0;
  const next = (path: string): Promise<ReplicaAnswer> => {
    turn += 1;
    return (asks[turn % asks.length] ?? asking(0))(path);
  };
  return async (path) => {
    const first = await next(path);
    return first.status === 200 ? first : next(path);
  };
}

function answerOf(agent: Agent, port: number, path: string): Promise<ReplicaAnswer> {
  return new Promise((resolve) => {
    const fail = (error: unknown): void => resolve({ status: 0, height: 0, body: messageOf(error) });
    const request = get({ agent, port, path, host: '127.0.0.1' }, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const height = Number(response.headers['x-height'] ?? 0);
        resolve({ status: response.statusCode ?? 0, height, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.setTimeout(ANSWER_MS_MAX, () => request.destroy(new Error(`no answer within ${ANSWER_MS_MAX} ms`)));
    request.on('error', fail);
  });
}
