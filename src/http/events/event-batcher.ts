/**
 * Collects events that are not in the chain's log, such as changes of peers. The events of a short time are written to
 * each subscriber together, because a write costs as much as making an event. When more events arrive than a usual
 * connection can carry, further events are dropped.
 */

import { eventText, type NodeEvent } from './event.ts';

/** Time between two writes, in milliseconds. */
const BATCH_MS = 25;
/**
 * Number of characters at which a batch is full. With this number, a subscriber gets about 10 MB in a second at most.
 */
const BATCH_CHARS_MAX = 256 * 1024;

export interface BatchedEvent {
  readonly event: NodeEvent;
  readonly text: string;
}

export class EventBatcher {
  readonly #write: (events: readonly BatchedEvent[]) => void;
  #batch: BatchedEvent[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param write writes the collected events */
  constructor(write: (events: readonly BatchedEvent[]) => void) {
    this.#write = write;
  }

  /** @returns false when the event was dropped */
  add(event: NodeEvent): boolean {
    if (this.#chars >= BATCH_CHARS_MAX) return false;
    const text = eventText(event, undefined);
    this.#batch.push({ event, text });
    this.#chars += text.length;
    this.#timer ??= setTimeout(() => this.flush(), BATCH_MS).unref();
    return true;
  }

  /** Writes the collected events now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#batch;
    this.#batch = [];
    this.#chars = 0;
    if (batch.length > 0) this.#write(batch);
  }
}
