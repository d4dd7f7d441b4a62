/**
 * Collects events that are not in the chain's log, such as changes of peers. The events of a short time are written to
 * each subscriber together, because a write costs as much as making an event. Events beyond the capacity of a usual
 * connection are dropped.
 */

import { eventText, type NodeEvent } from './event.ts';

/** Time between two writes, in milliseconds. */
const GATHER_MS = 25;
/**
 * Maximum number of characters that are collected for one write. With this maximum, the writes to a subscriber are at
 * most 10 MB in a second.
 */
const MOMENTS_CHARS_MAX = 256 * 1024;

export interface Moment {
  readonly event: NodeEvent;
  readonly text: string;
}

export class Moments {
  readonly #write: (moments: readonly Moment[]) => void;
  #gathered: Moment[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param write writes the collected events */
  constructor(write: (moments: readonly Moment[]) => void) {
    this.#write = write;
  }

  /** @returns false when the event was dropped */
  add(event: NodeEvent): boolean {
    if (this.#chars >= MOMENTS_CHARS_MAX) return false;
    const text = eventText(event, undefined);
    this.#gathered.push({ event, text });
    this.#chars += text.length;
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS).unref();
    return true;
  }

  /** Writes the collected events now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const gathered = this.#gathered;
    this.#gathered = [];
    this.#chars = 0;
    if (gathered.length > 0) this.#write(gathered);
  }
}
