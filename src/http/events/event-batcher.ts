/**
 * Collects events that are not in the event log, such as changes of peers, and writes the events of 25 ms together to
 * each subscriber. A separate write for each event would double the time that the node spends on the event. When a
 * batch is full, the batcher drops further events until the next write. A usual connection could not carry more data
 * anyway.
 */

import { eventText, type NodeEvent } from './event.ts';

/** Time from the first event of a batch to the write of the batch, in milliseconds. */
const BATCH_MS = 25;
/**
 * Number of characters at which a batch is full. This number limits the events in batches to about 10 MB a second for
 * each subscriber.
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
