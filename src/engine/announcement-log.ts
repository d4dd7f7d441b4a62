/**
 * Items to announce, in the order of their arrival. Each item has a permanent number, so that a walk can resume where
 * the previous walk stopped.
 */

/** An item to announce. */
export interface Announced<T> {
  readonly key: string;
  readonly item: T;
  /** Number of peers to which the item was announced. */
  told: number;
  /** True if a later entry announces the same item. */
  isReplaced: boolean;
  /** Unix time in milliseconds at which the item is announced again; `waitMs` is the current wait between two announcements. */
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
   * @returns the oldest entry, which was dropped because the log was full; undefined if no entry was dropped
   */
  add(entry: Announced<T>): Announced<T> | undefined {
    this.#entries.push(entry);
    return this.#entries.length <= this.#entriesMax ? undefined : this.#dropFirst();
  }

  /**
   * Walks over the entries from a number on, until `take` returns `stop`.
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

  /** Drops the oldest entries for which `isGone` is true, up to the first for which it is false. */
  forget(isGone: (entry: Announced<T>) => boolean): void {
    while (this.#entries[0] !== undefined && isGone(this.#entries[0])) this.#dropFirst();
  }

  #dropFirst(): Announced<T> | undefined {
    this.#firstNumber += 1;
    return this.#entries.shift();
  }
}
