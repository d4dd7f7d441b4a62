/**
 * Schedules the HTTP work for strangers (clients that are not trusted). The work for all strangers gets a limited share
 * of the main thread's time. In a process that also serves peers, the requests of peers use the same share
 * (`work-share.ts`). When the share is used up, the addresses take turns, with one task for each turn. If the addresses
 * A and B both wait, the scheduler therefore runs at most one task of A between two turns of B. The scheduler runs a
 * new task immediately if the share is not used up, no other task waits, and no connections wait to be accepted.
 */

import type { WorkShare } from '../../primitives/work-share.ts';
import type { MonotonicClock } from '../monotonic-clock.ts';
import { AcceptPriority } from './accept-priority.ts';

type Work = () => void;

interface Task {
  readonly work: Work;
  /** Starts reading the bytes that `work` handles; undefined if the node has already read these bytes. */
  readonly read: Work | undefined;
}

export interface FairSchedulerOptions {
  readonly clock: MonotonicClock;
  readonly share: WorkShare;
}

/**
 * If at least this number of tasks wait, the node skips optional work. Two kinds of work are optional: sending answers
 * to refused connections, and reading the input that arrives after the last answer of a connection.
 */
const PRESSED_FROM = 16;

export class FairScheduler {
  readonly #share: WorkShare;
  readonly #accepting: AcceptPriority;
  /** Waiting tasks by address; the first address is served next. */
  readonly #waiting = new Map<string, Task[]>();
  #waitingCount = 0;
  #isServing = false;

  constructor(options: FairSchedulerOptions) {
    this.#share = options.share;
    this.#accepting = new AcceptPriority(options.clock);
  }

  /** True if so many tasks wait that the node skips optional work. */
  get isPressed(): boolean {
    return this.#waitingCount >= PRESSED_FROM;
  }

  /**
   * Records that a connection was accepted. While further connections wait to be accepted, the node accepts these
   * connections first, for about 50 ms at most (`AcceptPriority`). Only then does the node run the tasks of strangers
   * (untrusted clients).
   */
  accepted(): void {
    this.#accepting.accepted();
  }

  /**
   * Counts work that was done outside the scheduler, such as accepting a connection, towards the share of the main
   * thread's time that work for strangers (untrusted clients) is allowed to take. The work took `costMs` milliseconds.
   */
  spend(costMs: number): void {
    this.#share.spend(costMs);
  }

  /**
   * Runs `work` now, or in a later turn of `address`. At any time, at most one task of each connection waits.
   *
   * @param read starts reading the bytes that `work` handles. After the call of `read`, the event loop polls for input
   *   once, and `work` runs after the poll
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
    // Promise callbacks that the work has started run after `work` returns. `charge` counts their time too.
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

/** Resolves after the event loop has read available input. */
function polled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Waits until the promise callbacks that a task has started have run. In a chain of callbacks, waits for at most
 * `SETTLING_DEPTH` of them.
 */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 4;
