/**
 * Logs warnings about blocks of peers: refused blocks and double forging. Peers can cause these warnings at will, for
 * example with blocks that the peers sign with new keys. In each minute, the node therefore logs only a few warnings
 * with the same code. The next warning states the number of blocks for which the node logged no warning. The node
 * counts blocks of registered delegates and blocks of other keys separately, so that a flood of blocks with new keys
 * does not hide the block of a delegate.
 */

import { LruMap } from '../primitives/bounded.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogFields, Observer } from '../ports/observer.ts';

/**
 * Length in milliseconds of a period. In each period, the node logs at most `LINES_MAX` warnings of the same kind (the
 * same code, and the same value of `isOfDelegate`).
 */
const PERIOD_MS = 60_000;
const LINES_MAX = 3;
/**
 * If the slot of a refused block is at most this number of slots away from the current slot, the slot history records
 * the refusal. The slot history does so even if the node logs no warning about the block because it has already logged
 * `LINES_MAX` warnings of the same kind in the present minute. Nearly all blocks of honest peers arrive within this
 * number of slots. The limit `NEAR_SLOTS` prevents peers from filling the slot history with slots that they choose.
 */
const NEAR_SLOTS = 5;
/** Maximum number of entries in `BlockWarnings.#logged`. */
const LOGGED_MAX = 2000;

interface Period {
  readonly sinceMs: number;
  /** Number of warnings that the node has logged in this period. */
  lines: number;
  /**
   * Number of blocks whose warnings the node has suppressed since it last logged a warning of the same kind. A new
   * period (one minute, `PERIOD_MS`) starts with the number of the previous period.
   */
  notLogged: number;
}

/** The content of a warning. The slot history records each log line whose `fields` contain `slot`. */
export interface BlockWarning {
  readonly code: string;
  readonly message: string;
  /**
   * Slot of the block. The node logs at most one line for each combination of a code, a slot and a value of
   * `isOfDelegate`.
   */
  readonly slot: number;
  readonly currentSlot: number;
  /** True if a registered delegate has signed the block. */
  readonly isOfDelegate: boolean;
  readonly fields: LogFields;
}

export class BlockWarnings {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #observer: Pick<Observer, 'log'>;
  /**
   * The latest period (a minute in which the node counts warnings) for each combination of a code and a value of
   * `isOfDelegate`. The number of codes is fixed: the codes of `BlockRejectionCode`, and `BLOCK_DOUBLE_FORGING`.
   */
  readonly #periods = new Map<string, Period>();
  /** Combinations of a code, a value of `isOfDelegate` and a slot for which the node has already logged a line. */
  readonly #logged = new LruMap<string, true>(LOGGED_MAX);

  constructor(clock: Pick<Clock, 'nowMs'>, observer: Pick<Observer, 'log'>) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /**
   * Logs a warning, or only counts the block. The next warning of the same kind states this count. If the limit of
   * warnings is reached, but the block is near the current slot, the method logs the line at the level `debug`. If the
   * fields of such a line contain `slot`, the slot history records the line. The diagnostics never contain such a line.
   */
  warn({ code, message, slot, currentSlot, isOfDelegate, fields }: BlockWarning): void {
    const kind = `${code} ${isOfDelegate}`;
    const period = this.#period(kind);
    const key = `${kind} ${slot}`;
    const isNew = this.#logged.get(key) === undefined;
    if (isNew && period.lines < LINES_MAX) {
      const { notLogged } = period;
      period.lines += 1;
      period.notLogged = 0;
      this.#logged.set(key, true);
      // Without the field `slot`, the slot history ignores the line.
      const { slot: _, ...others } = fields;
      const shown = Math.abs(slot - currentSlot) > NEAR_SLOTS ? { ...others, blockSlot: slot } : fields;
      this.#observer.log('warn', code, message, { ...shown, ...(notLogged === 0 ? {} : { notLogged }) });
      return;
    }
    period.notLogged += 1;
    if (!isNew || Math.abs(slot - currentSlot) > NEAR_SLOTS) return;
    this.#logged.set(key, true);
    this.#observer.log('debug', code, message, fields);
  }

  #period(kind: string): Period {
    const nowMs = this.#clock.nowMs();
    const period = this.#periods.get(kind);
    // If the clock was set back, the start of the period can be in the future. In this case, a new period begins
    // immediately.
    if (period !== undefined && nowMs >= period.sinceMs && nowMs < period.sinceMs + PERIOD_MS) return period;
    const next = { sinceMs: nowMs, lines: 0, notLogged: period?.notLogged ?? 0 };
    this.#periods.set(kind, next);
    return next;
  }
}
