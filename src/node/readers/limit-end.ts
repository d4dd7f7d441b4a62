/**
 * The node's end of the limits that readers share. The node counts for each reader, and tells all readers which
 * addresses are shut out.
 */

import { LimitLedger } from '../../http/limit-ledger.ts';
import {
  LIMIT_ASKS_AT_ONCE,
  LIMIT_TOLD_MAX,
  type LimitAnswer,
  type LimitAsk,
  type LimitTelling,
  type ReaderSettings,
} from './messages.ts';

export class LimitEnd {
  readonly #ledger: LimitLedger;

  /**
   * @param shutOut tells all readers that an address is shut out
   */
  constructor(http: ReaderSettings['http'], shutOut: (key: string) => void) {
    this.#ledger = new LimitLedger({ http, shutOut });
  }

  /**
   * @param reader number of the reader that sent the message
   */
  heard(reader: number, { left, asks, refused, shutOut }: LimitTelling): readonly LimitAnswer[] {
    for (const [key, count] of left) for (let at = 0; at < count; at += 1) this.#ledger.left(reader, key);
    for (const [key, times] of refused.slice(0, LIMIT_TOLD_MAX)) this.#ledger.refused(key, times);
    for (const key of shutOut.slice(0, LIMIT_TOLD_MAX)) this.#ledger.shutOut(key);
    return asks.slice(0, LIMIT_ASKS_AT_ONCE).map((ask) => this.#answer(reader, ask));
  }

  /** Frees the connections of a reader that has ended. */
  forget(reader: number): void {
    this.#ledger.forget(reader);
  }

  #answer(reader: number, ask: LimitAsk): LimitAnswer {
    if ('client' in ask) return this.#ledger.take(ask.client, ask.cost);
    return this.#ledger.arrive(reader, ask.key) ?? null;
  }
}
