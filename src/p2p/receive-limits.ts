/**
 * Limits the messages and calls of one peer. There is one limit for each name of an event or procedure. The limit is
 * the number of messages or calls with this name that the node accepts in a window of time (`RATE_WINDOW_MS`). The
 * limits are computed from the table `RATES`.
 */

import { limitsOf, RATE_WINDOW_MS, RATES } from '../ports/rates.ts';
import type { Generation } from '../protocol/params.ts';
import { RateWindow } from './rate-window.ts';

interface Limits {
  readonly takenMax: number;
  readonly penalisedAbove: number;
}

/**
 * The verdict on one message or call of a peer: accepted (`taken`), dropped without a penalty, or dropped with a
 * penalty. In one window, the peer gets at most one penalty for all messages or calls with the same name.
 */
export type UseVerdict = 'taken' | 'dropped' | 'penalised';

const LIMITS: Readonly<Record<Generation, ReadonlyMap<string, Limits>>> = { 2: limitsFor(2), 3: limitsFor(3) };

export class ReceiveLimits {
  readonly #limits: ReadonlyMap<string, Limits>;
  readonly #windows = new Map<string, RateWindow>();

  constructor(generation: Generation) {
    this.#limits = LIMITS[generation];
  }

  /**
   * Counts one message or call with the name `name`, and returns the verdict on this message or call. If `name` is not
   * in the table `RATES`, the verdict is always `taken`. Independently of this class, the frame filter limits the total
   * number of frames.
   */
  use(name: string, nowMs: number): UseVerdict {
    const limits = this.#limits.get(name);
    if (limits === undefined) return 'taken';
    let window = this.#windows.get(name);
    if (window === undefined) this.#windows.set(name, (window = new RateWindow(RATE_WINDOW_MS)));
    const uses = window.use(nowMs);
    if (uses <= limits.takenMax) return 'taken';
    return uses === limits.penalisedAbove + 1 ? 'penalised' : 'dropped';
  }
}

function limitsFor(generation: Generation): ReadonlyMap<string, Limits> {
  const rows = RATES.filter((row) => row.generation === generation);
  return new Map(rows.map((row) => [row.name, limitsOf(row)]));
}
