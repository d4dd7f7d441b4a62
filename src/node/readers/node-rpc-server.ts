/**
 * The node's end of the channel to one reader (a process that answers HTTP for the node). The node answers the calls of
 * the reader, and sends the reader updates about the chain and the transaction pool.
 */

import { CONFIRMED_TIMES_MAX } from '../../engine/pool/pool.ts';
import type { LocalNodeApi, ReceivedTime } from '../../ports/node-api.ts';
import type { Transaction } from '../../protocol/types.ts';
import {
  busy,
  failedOutcome,
  UPDATES_WAITING_MAX,
  outcomeOf,
  READS,
  READS_AT_ONCE,
  WRITES,
  WRITES_AT_ONCE,
  type Call,
  type Outcome,
  type ToReader,
} from './messages.ts';

export class NodeRpcServer {
  readonly #api: LocalNodeApi;
  readonly #send: (message: ToReader) => void;
  #isReading = false;
  #writes = 0;
  /**
   * True before the reader is ready, and while the reader has not confirmed the last update. While this value is true,
   * the node keeps further changes for the next update.
   */
  #isUpdateUnconfirmed = true;
  #isChainChanged = false;
  /**
   * State of the first update after the latest call of `indexesCompleted`. The states are: not sent yet (`unsent`),
   * sent but not confirmed by the reader (`unconfirmed`), and confirmed (`confirmed`). Before the first call of
   * `indexesCompleted`, the value is `confirmed`.
   */
  #move: 'unsent' | 'unconfirmed' | 'confirmed' = 'confirmed';
  #times: ReceivedTime[] = [];
  #received: Transaction[] = [];

  constructor(api: LocalNodeApi, send: (message: ToReader) => void) {
    this.#api = api;
    this.#send = send;
  }

  /** @param times times at which the node received the transactions of the newly applied blocks */
  chainChanged(times: readonly ReceivedTime[]): void {
    this.#isChainChanged = true;
    this.#times.push(...times);
    // The limit is the same as in the transaction pool, which keeps the times of at most `CONFIRMED_TIMES_MAX`
    // confirmed transactions.
    if (this.#times.length > CONFIRMED_TIMES_MAX) this.#times.splice(0, this.#times.length - CONFIRMED_TIMES_MAX);
    this.#sendUpdate();
  }

  /**
   * Called after a backfill (the node has written all missing index entries). When the reader has confirmed the next
   * update, the reader shows the present chain.
   */
  indexesCompleted(): void {
    this.#move = 'unsent';
    this.chainChanged([]);
  }

  /**
   * For a ready reader, this value is true when the reader shows the chain as of the last backfill (when the node last
   * wrote all missing index entries) or a newer chain. The value is false when the reader still shows an older chain.
   * While this value is false, the node must not begin to defer indexing. A reader can show only a chain with complete
   * indexes, so it would show the older chain until the next backfill.
   */
  get hasMoved(): boolean {
    return this.#move === 'confirmed';
  }

  received(transaction: Transaction): void {
    this.#received.push(transaction);
    if (this.#received.length > UPDATES_WAITING_MAX) this.#received.shift();
    this.#sendUpdate();
  }

  /** Called once when the reader is ready, and then each time the reader has confirmed an update. */
  taken(): void {
    this.#isUpdateUnconfirmed = false;
    if (this.#move === 'unconfirmed') this.#move = 'confirmed';
    this.#sendUpdate();
  }

  async reads(calls: readonly Call<string>[]): Promise<void> {
    // A correct reader sends no further reads before it has the answers to its earlier reads. The node ignores a
    // message that breaks this rule or contains too many reads.
    if (this.#isReading || calls.length > READS_AT_ONCE) return;
    this.#isReading = true;
    const outcomes: Outcome[] = [];
    for (const call of calls) outcomes.push(await this.#call(READS, call));
    this.#isReading = false;
    try {
      this.#send({ kind: 'answers', outcomes });
    } catch (error) {
      // `#send` throws if an outcome contains a value that cannot be sent to another process, for example a function.
      this.#send({ kind: 'answers', outcomes: outcomes.map(() => failedOutcome(error)) });
    }
  }

  async write(id: number, call: Call<string>): Promise<void> {
    if (this.#writes >= WRITES_AT_ONCE) return void this.#send({ kind: 'done', id, outcome: failedOutcome(busy()) });
    this.#writes += 1;
    const outcome = await this.#call(WRITES, call);
    this.#writes -= 1;
    this.#send({ kind: 'done', id, outcome });
  }

  #call(known: readonly (keyof LocalNodeApi)[], { method, args }: Call<string>): Promise<Outcome> {
    return outcomeOf(() => {
      const name = known.find((each) => each === method);
      if (name === undefined) throw new Error(`a reader cannot ask for ${method}`);
      return (this.#api[name] as (...given: readonly unknown[]) => unknown)(...args);
    });
  }

  #sendUpdate(): void {
    if (this.#isUpdateUnconfirmed || (!this.#isChainChanged && this.#received.length === 0)) return;
    this.#isUpdateUnconfirmed = true;
    if (this.#move === 'unsent') this.#move = 'unconfirmed';
    this.#send({ kind: 'update', chain: this.#isChainChanged, times: this.#times, received: this.#received });
    this.#isChainChanged = false;
    this.#times = [];
    this.#received = [];
  }
}
