/**
 * Schedules the work for strangers fairly: all of it together gets a stated share of the time of the main thread, and while more is
 * asked for than that, each address waits behind its own requests only. While there is time, work is done at once.
 */

import type { WorkShare } from '../../primitives/work-share.ts';
import type { MonotonicClock } from '../monotonic-clock.ts';
import { AcceptPriority } from './accept-priority.ts';

type Work = () => void;

interface Task {
  readonly work: Work;
  /** Begins to read what the work needs. */
  readonly read: Work | undefined;
}

export interface FairSchedulerOptions {
  readonly clock: MonotonicClock;
  readonly share: WorkShare;
}

/** Tasks that wait from which on there is no time for courtesies. */
const PRESSED_FROM = 16;

export class FairScheduler {
  readonly #share: WorkShare;
  readonly #accepting: AcceptPriority;
  /** Work that waits, by address; the next address is the first one. */
  readonly #waiting = new Map<string, Task[]>();
  #waitingCount = 0;
  #isServing = false;

  constructor(options: FairSchedulerOptions) {
    this.#share = options.share;
    this.#accepting = new AcceptPriority(options.clock);
  }

  /** Whether more is asked for than there is time. */
  get isPressed(): boolean {
    return this.#waitingCount >= PRESSED_FROM;
  }

  /** A connection was accepted. Others that wait behind it come before all work. */
  accepted(): void {
    this.#accepting.accepted();
  }

  /** Charges what was done for a stranger outside of the scheduler. */
  spend(costMs: number): void {
    this.#share.spend(costMs);
  }

  /**
   * Does the work now, or when the scheduler comes to its address. How much waits is bounded by the connections that bring it.
   *
   * @param read begins to read what the work needs; the work follows after the event loop has looked once for what is there
   */
  take(address: string, work: Work, read?: Work): void {
    const task = { work, read };
    const isFree = this.#waiting.size === 0 && !this.#isServing && this.#share.isFree;
    if (isFree && !this.#accepting.isBusy) return void this.#do(task);
    const queue = this.#waiting.get(address);
    if (queue === undefined) this.#waiting.set(address, [task]);
    else queue.push(task);
    this.#waitingCount += 1;
    if (this.#isServing) return;
    this.#isServing = true;
    if (isFree) void this.#serve();
    else this.#serveLater();
  }

  #serveLater(): void {
    this.#share.whenFree(() => void this.#serve());
  }

  async #serve(): Promise<void> {
    for (;;) {
      await this.#accepting.over();
      const task = this.#next();
      if (task === undefined) break;
      await this.#do(task);
      if (this.#waiting.size > 0 && !this.#share.isFree) return this.#serveLater();
    }
    this.#isServing = false;
  }

  async #do({ work, read }: Task): Promise<void> {
    if (read !== undefined) {
      read();
      await polled();
    }
    const charge = this.#share.begin();
    work();
    // Work that is put off until the end of this turn of the event loop is charged, too.
    await settled();
    charge();
  }

  #next(): Task | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [address, queue] = first;
    const task = queue.shift();
    this.#waitingCount -= 1;
    this.#waiting.delete(address);
    if (queue.length > 0) this.#waiting.set(address, queue);
    return task;
  }
}

/** Resolves when the event loop has looked for what there is to read. */
function polled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after what follows at once from work that was just done, a few promises deep, so that it is charged, too. */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 4;
