/**
 * Runs in the node, and applies the limits that all readers (processes that answer HTTP for the node) share. For all
 * readers together, the node counts HTTP requests, connections and replays (event streams that still send old events to
 * a stranger). A stranger is a client that is not trusted. If a client gets too many refusals, the node shuts the
 * client out: from then on, each reader refuses all connections of this client for some time. The node tells all
 * readers which clients are shut out. The node also tells all readers when the number of all their connections together
 * reaches the maximum, and when the number is below the maximum again.
 */

import { SharedCounters } from '../../http/shared-counters.ts';
import type { LimitAnswer, LimitAsk, LimitReport, ReaderSettings, ToReader } from './messages.ts';

export class LimitServer {
  readonly #counters: SharedCounters;
  #isFull = false;

  /**
   * @param send sends a message to the reader with the given id
   * @param sendAll sends a message to all readers
   */
  constructor(
    http: ReaderSettings['http'],
    send: (reader: number, message: ToReader) => void,
    sendAll: (message: ToReader) => void,
  ) {
    this.#counters = new SharedCounters({
      http,
      shutOut: (key) => sendAll({ kind: 'shutOut', key }),
      full: (isFull) => {
        this.#isFull = isFull;
        sendAll({ kind: 'full', isFull });
      },
      makeRoom: (reader, key) => send(reader, { kind: 'makeRoom', key }),
    });
  }

  /** True when the connections of all readers together reach the maximum. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /**
   * Updates the counters with the changes in a report: connections of trusted clients, closed connections, ended
   * replays, refusals and shut-out clients. Then the method answers the limit checks of the report in their order.
   *
   * @param reader id of the reader that sent the report
   * @param report a report that `readMessage` has checked
   */
  take(reader: number, report: LimitReport): readonly LimitAnswer[] {
    const { trusted, left, replaysEnded, asks, refused, shutOut } = report;
    if (trusted !== 0) this.#counters.trusted(reader, trusted);
    for (const [key, count] of replaysEnded) this.#counters.replayEnded(reader, key, count);
    for (const [key, count] of left) this.#counters.left(reader, key, count);
    for (const [key, times] of refused) this.#counters.refused(key, times);
    for (const key of shutOut) this.#counters.shutOut(key);
    return asks.map((ask) => this.#answer(reader, ask));
  }

  /** Stops counting the connections and replays of a reader that has ended. */
  forget(reader: number): void {
    this.#counters.forget(reader);
  }

  #answer(reader: number, ask: LimitAsk): LimitAnswer {
    if ('replay' in ask) return this.#counters.replay(reader, ask.replay) ? null : 'replays';
    if ('client' in ask) return this.#counters.take(ask.client, ask.cost);
    return this.#counters.arrive(reader, ask.key) ?? null;
  }
}
