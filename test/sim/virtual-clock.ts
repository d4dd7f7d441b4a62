/**
 * Virtual time. Events run in the order of their due times. Events with the same due time run in the order of their
 * creation. Nothing happens between two events.
 */

import type { Clock, Timer } from '../../src/ports/clock.ts';

interface Event {
  readonly dueMs: number;
  readonly order: number;
  readonly work: () => void | Promise<void>;
  cancelled: boolean;
}

export class VirtualTime {
  #nowMs: number;
  #order = 0;
  /** A binary heap. The first entry is the event that runs next. */
  readonly #heap: Event[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /**
   * Number of events scheduled since the start. Two simulations with the same seed schedule the same number of events.
   */
  get eventCount(): number {
    return this.#order;
  }

  /** @param work the work of the event; if it returns a promise, virtual time stops until this promise has resolved */
  schedule(delayMs: number, work: () => void | Promise<void>): Timer {
    const event: Event = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, work, cancelled: false };
    this.#order += 1;
    this.#push(event);
    return {
      cancel: () => {
        event.cancelled = true;
      },
    };
  }

  /**
   * Runs all events up to the time `endMs`. An event may resolve promises. After each event, the function therefore
   * waits until all code that these promises trigger has run.
   */
  async runUntil(endMs: number, afterEvent?: () => void): Promise<void> {
    for (;;) {
      const event = this.#heap[0];
      if (event === undefined || event.dueMs > endMs) break;
      this.#pop();
      if (event.cancelled) continue;
      this.#nowMs = Math.max(this.#nowMs, event.dueMs);
      const end = event.work();
      if (end !== undefined) await end;
      await settled();
      afterEvent?.();
    }
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /**
   * Returns a clock that differs from virtual time by an offset. The function `skewMs` returns the current offset in
   * milliseconds.
   */
  clock(skewMs: () => number = () => 0): Clock {
    return {
      nowMs: () => Math.floor(this.#nowMs + skewMs()),
      after: (delayMs, work) => this.schedule(delayMs, work),
    };
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** Some promises may already be resolved. The function resolves when all reactions of these promises have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
