/** Limits how many readers receive old events at the same time: readers of one address, and all strangers together. */

/**
 * Maximum number of readers of one address that receive old events at the same time. A client that was disconnected
 * needs only one such reader.
 */
export const REPLAYS_PER_ADDRESS_MAX = 4;
export const REPLAYS_MAX = 32;

export class Replays {
  readonly #byKey = new Map<string, number>();
  #count = 0;

  /**
   * @returns false when the limit is reached
   */
  begin(key: string): boolean {
    const own = this.#byKey.get(key) ?? 0;
    if (own >= REPLAYS_PER_ADDRESS_MAX || this.#count >= REPLAYS_MAX) return false;
    this.#byKey.set(key, own + 1);
    this.#count += 1;
    return true;
  }

  end(key: string): void {
    const own = this.#byKey.get(key) ?? 0;
    if (own > 1) this.#byKey.set(key, own - 1);
    else this.#byKey.delete(key);
    this.#count -= 1;
  }
}
