/**
 * What is told of the moment: gathered for a short while and written to each reader in one piece, as each write costs as much
 * as making an event. What comes faster than a reader of a usual line could take is left out.
 */

import { eventText, type NodeEvent } from './event.ts';

/** Between two writes, in milliseconds. */
const GATHER_MS = 25;
/** Characters that are gathered for one write: 10 MB in a second. */
const MOMENTS_CHARS_MAX = 256 * 1024;

export interface Moment {
  readonly event: NodeEvent;
  readonly text: string;
}

export class Moments {
  readonly #tell: (moments: readonly Moment[]) => void;
  #gathered: Moment[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param tell writes what was gathered */
  constructor(tell: (moments: readonly Moment[]) => void) {
    this.#tell = tell;
  }

  /** @returns false when it was left out */
  add(event: NodeEvent): boolean {
    if (this.#chars >= MOMENTS_CHARS_MAX) return false;
    const text = eventText(event, undefined);
    this.#gathered.push({ event, text });
    this.#chars += text.length;
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS).unref();
    return true;
  }

  /** Writes now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const gathered = this.#gathered;
    this.#gathered = [];
    this.#chars = 0;
    if (gathered.length > 0) this.#tell(gathered);
  }
}
