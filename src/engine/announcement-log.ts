/**
 * Stores the items that the node announces to its peers. Each entry has one item, and a number that never changes. The
 * numbers rise in the order in which the entries were added. A walk over the entries can therefore resume at the number
 * where the previous walk stopped.
 */

/** An entry of a log: an item to announce. */
export interface Announced<T> {
  readonly key: string;
  readonly item: T;
  /** Number of peers to which the node has announced the item because of this entry. */
  timesSent: number;
  /** True if a later entry, in any of the three logs of `Announcements`, has the same item. */
  isReplaced: boolean;
  /**
   * Earliest Unix time in milliseconds at which the node checks whether a connected peer is known to have the item. If
   * no connected peer is known to have the item, the node announces the item again. `waitMs` is the length in
   * milliseconds of the wait that ends at `againMs`. The wait began with the last check or, before the first check,
   * with the creation of the entry.
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
   * @returns the oldest entry if the log was full and therefore dropped this entry; otherwise undefined
   */
  add(entry: Announced<T>): Announced<T> | undefined {
    this.#entries.push(entry);
    return this.#entries.length <= this.#entriesMax ? undefined : this.#dropFirst();
  }

  /**
   * Calls `take` with each entry from the number `from` on, until `take` returns `stop`.
   *
   * @returns the number from which the next walk continues: the number of the entry for which `take` returned `stop`.
   *   If `take` did not return `stop`, the result is the number that the next new entry gets
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
