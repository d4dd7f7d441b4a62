/** Items to announce, in the order of their arrival. Each has a number that stays, so that a reader goes on where it was. */

/** An item to announce. */
export interface Announced<T> {
  readonly key: string;
  readonly item: T;
  /** Number of peers that it was announced to. */
  told: number;
  /** True if a later entry announces it. */
  isReplaced: boolean;
  /** When it is told once more, Unix time in milliseconds, and how long the wait is by now. */
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

  /** @returns the oldest entry where there was no room for both */
  add(entry: Announced<T>): Announced<T> | undefined {
    this.#entries.push(entry);
    return this.#entries.length <= this.#entriesMax ? undefined : this.#dropFirst();
  }

  /** Walks on from a number. @returns the number of the first entry that was not taken although it could have been */
  walk(from: number, take: (entry: Announced<T>) => 'taken' | 'passed' | 'stop'): number {
    let number = Math.max(from, this.#firstNumber);
    for (; number < this.#firstNumber + this.#entries.length; number += 1) {
      const entry = this.#entries[number - this.#firstNumber];
      if (entry !== undefined && take(entry) === 'stop') break;
    }
    return number;
  }

  /** Drops the oldest entries as long as they are of no use. */
  forget(isGone: (entry: Announced<T>) => boolean): void {
    while (this.#entries[0] !== undefined && isGone(this.#entries[0])) this.#dropFirst();
  }

  #dropFirst(): Announced<T> | undefined {
    this.#firstNumber += 1;
    return this.#entries.shift();
  }
}
