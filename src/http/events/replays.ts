/**
 * Limits how many replays run at the same time: for each address, and for all addresses together. A replay is an event
 * stream that still sends old events (see `RECORDS_CACHED_MAX`) to a stranger (a client that is not trusted).
 */

import type { Live } from '../../ports/node-api.ts';
import type { SharedLimits } from '../admission/shared-limits.ts';

/**
 * Maximum number of replays of one address at the same time. A client that reconnects needs only one replay.
 */
export const REPLAYS_PER_ADDRESS_MAX = 4;
/** Maximum number of replays of all addresses together at the same time. */
export const REPLAYS_MAX = 32;

export class Replays {
  readonly #byKey = new Map<string, number>();
  #count = 0;

  /** @returns false when the address has reached its limit, or when all addresses together have reached their limit */
  begin(key: string): boolean {
    const own = this.#byKey.get(key) ?? 0;
    if (own >= REPLAYS_PER_ADDRESS_MAX || this.#count >= REPLAYS_MAX) return false;
    this.#byKey.set(key, own + 1);
    this.#count += 1;
    return true;
  }

  end(key: string): void {
    const own = this.#byKey.get(key) ?? 0;
    if (own > 1) this.#byKey.set(key, own - 1);
    else this.#byKey.delete(key);
    this.#count -= 1;
  }
}

/** A limit on replays. `begin` returns a promise if another process decides whether the replay is allowed to begin. */
export interface LiveReplays {
  begin(key: string): Live<boolean>;
  end(key: string): void;
}

/**
 * Limits replays for all processes together. One process counts the replays of all processes. Before `begin` asks that
 * process, it checks the replays of this process against the same limits. A flood of requests therefore does not become
 * a flood of messages between the processes.
 */
export function createSharedReplays(shared: SharedLimits): LiveReplays {
  const own = new Replays();
  return {
    async begin(key) {
      if (!own.begin(key)) return false;
      const isCounted = await shared.replay(key).catch((error: unknown) => {
        own.end(key);
        throw error;
      });
      if (!isCounted) own.end(key);
      return isCounted;
    },
    end(key) {
      own.end(key);
      shared.replayEnded(key);
    },
  };
}
