/** Looks up the IPv4 addresses of those seed peers that the configuration names by a host name. */

import { lookup } from 'node:dns/promises';
import { messageOf } from '../primitives/errors.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { PeerAddress } from '../ports/transport.ts';

/**
 * Maximum number of parallel lookups. A lookup occupies one of the few threads of the runtime's thread pool. If the
 * name server does not answer, the lookup occupies its thread for a long time.
 */
const LOOKUPS_MAX = 2;
/**
 * The first pause and the longest pause, in milliseconds, before a failed lookup is repeated. Each pause is twice as
 * long as the pause before it, up to the longest pause. The first pause is short, because a lookup often fails only for
 * a short time: until the network of the machine has started.
 */
const WAIT = { firstMs: 5_000, mostMs: 600_000 };

export interface SeedHost {
  readonly host: string;
  readonly wsPort: number;
}

export interface SeedSearchOptions {
  readonly clock: Clock;
  readonly observer: Observer;
  /** Called once for each seed, when its address is known. */
  readonly found: (seed: PeerAddress) => void;
  /** Finds the IPv4 address of a host; default: the system's lookup. */
  readonly lookUp?: (host: string) => Promise<string>;
}

/**
 * Looks up the seed hosts, and repeats each failed lookup until it succeeds. Meanwhile, the node uses the seeds whose
 * addresses are known.
 */
export class SeedSearch {
  readonly #options: SeedSearchOptions;
  readonly #waiting: { readonly seed: SeedHost; readonly failures: number }[];
  readonly #timers = new Set<Timer>();
  #running = 0;
  #stopped = false;

  /** Starts the search. */
  constructor(seeds: readonly SeedHost[], options: SeedSearchOptions) {
    this.#options = options;
    this.#waiting = seeds.map((seed) => ({ seed, failures: 0 }));
    this.#next();
  }

  /** Ends the search immediately, and ignores the results of lookups that are still running. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
  }

  #next(): void {
    while (!this.#stopped && this.#running < LOOKUPS_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#running += 1;
      void this.#resolve(next.seed, next.failures);
    }
  }

  async #resolve(seed: SeedHost, failures: number): Promise<void> {
    const { lookUp = systemLookUp, found } = this.#options;
    let ip: string | undefined;
    try {
      ip = await lookUp(seed.host);
    } catch (error) {
      if (!this.#stopped) this.#again(seed, failures, error);
    }
    this.#running -= 1;
    if (ip !== undefined && !this.#stopped) found({ ip, wsPort: seed.wsPort });
    this.#next();
  }

  #again(seed: SeedHost, failures: number, error: unknown): void {
    const { clock, observer } = this.#options;
    const waitMs = Math.min(WAIT.mostMs, WAIT.firstMs * 2 ** Math.min(failures, 20));
    const fields = { host: seed.host, reason: messageOf(error), againMs: waitMs };
    observer.log(
      failures === 0 ? 'warn' : 'debug',
      'SEED_UNRESOLVED',
      'the address of a seed peer could not be looked up',
      fields,
    );
    const timer = clock.after(waitMs, () => {
      this.#timers.delete(timer);
      this.#waiting.push({ seed, failures: failures + 1 });
      this.#next();
    });
    this.#timers.add(timer);
  }
}

async function systemLookUp(host: string): Promise<string> {
  const { address } = await lookup(host, { family: 4 });
  return address;
}
