/**
 * Stores items to announce, in the order of their arrival. The items are numbered, and the number of an item never
 * changes. A walk over the items can therefore resume at the number where the previous walk stopped.
 */

/** An item to announce. */
export interface Announced<T> {
  readonly key: string;
  readonly item: T;
  /** Number of peers to which the node announced the item. */
  timesSent: number;
  /** True if a later entry of a log announces the same item. */
  isReplaced: boolean;
  /**
   * Unix time in milliseconds at which the node announces the item again. `waitMs` is the current time between two
   * announcements of the item.
   */
  againMs: number;
  waitMs: number;
}

export class AnnouncementLog<T> {
  readonly #entriesMax: number;
  #firstNumber = 0;
  #entries: Announced<T>[] = [];

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /**
   * Adds an entry.
   *
   * @returns the oldest entry if the log was full and dropped it; otherwise undefined
   */
  add(entry: Announced<T>): Announced<T> | undefined {
    this.#entries.push(entry);
    return this.#entries.length <= this.#entriesMax ? undefined : this.#dropFirst();
  }

  /**
   * Calls `take` with each entry from the number `from` on, until `take` returns `stop`.
   *
   * @returns the number of the entry at which the walk stopped; the next walk starts there
   */
  walk(from: number, take: (entry: Announced<T>) => 'taken' | 'passed' | 'stop'): number {
    let number = Math.max(from, this.#firstNumber);
    for (; number < this.#firstNumber + this.#entries.length; number += 1) {
      const entry = this.#entries[number - this.#firstNumber];
      if (entry !== undefined && take(entry) === 'stop') break;
    }
    return number;
  }

  /** Drops entries, oldest first, and stops at the first entry for which `isGone` returns false. */
  forget(isGone: (entry: Announced<T>) => boolean): void {
    while (this.#entries[0] !== undefined && isGone(this.#entries[0])) this.#dropFirst();
  }

  #dropFirst(): Announced<T> | undefined {
    this.#firstNumber += 1;
    return this.#entries.shift();
  }
}
