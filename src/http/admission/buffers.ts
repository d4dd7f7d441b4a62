/** Bytes that strangers make the node hold, each connection with its share. Beyond the bound those that hold most are cut. */

/** A connection as this file needs it. */
export interface Holder {
  readonly key: string;
  readonly isTrusted: boolean;
  /** What it holds now. Written here alone. */
  bufferedBytes: number;
  cutForBuffers(): void;
}

export class Buffers {
  readonly #bytesMax: number;
  readonly #holders = new Set<Holder>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A connection holds so many bytes now. It, or another one, may be cut for that; a trusted one never is. */
  hold(holder: Holder, bytes: number): void {
    if (holder.isTrusted || bytes === holder.bufferedBytes) return;
    this.#bytes += bytes - holder.bufferedBytes;
    holder.bufferedBytes = bytes;
    if (bytes === 0) this.#holders.delete(holder);
    else this.#holders.add(holder);
    while (this.#bytes > this.#bytesMax) {
      const largest = this.#largest();
      if (largest === undefined) return;
      this.hold(largest, 0);
      largest.cutForBuffers();
    }
  }

  /** The largest connection of the stranger who holds most in all. */
  #largest(): Holder | undefined {
    const sums = new Map<string, number>();
    for (const { key, bufferedBytes } of this.#holders) sums.set(key, (sums.get(key) ?? 0) + bufferedBytes);
    let most: string | undefined;
    for (const [key, sum] of sums) if (most === undefined || sum > (sums.get(most) ?? 0)) most = key;
    let largest: Holder | undefined;
    for (const holder of this.#holders) {
      if (holder.key !== most) continue;
      if (largest === undefined || holder.bufferedBytes > largest.bufferedBytes) largest = holder;
    }
    return largest;
  }
}
