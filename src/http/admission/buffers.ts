/**
 * Counts the bytes that the node holds for each connection of a stranger (a client that is not trusted). While the
 * bytes of all these connections together exceed the limit, the node closes one connection after another. Each time,
 * the node finds the stranger for whose connections it holds the most bytes in total. Among the connections of this
 * stranger, the node closes the connection for which it holds the most bytes.
 */

/** The part of a connection that this file uses. */
export interface Holder {
  readonly key: string;
  readonly isTrusted: boolean;
  /** Bytes that the node holds for the connection. Only this file changes the number. */
  bufferedBytes: number;
  cutForBuffers(): void;
}

/** The connections of one stranger (`clientKey`) for which the node holds bytes, and the sum of these bytes. */
interface Share {
  bytes: number;
  readonly holders: Set<Holder>;
}

export class Buffers {
  readonly #bytesMax: number;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Sets the number of bytes that the node holds for a connection. While the bytes of all strangers' connections exceed
   * the limit, the node closes connections of strangers. The connection `holder` itself can be one of these
   * connections.
   */
  hold(holder: Holder, bytes: number): void {
    if (holder.isTrusted || bytes === holder.bufferedBytes) return;
    const share = this.#shareOf(holder.key);
    this.#bytes += bytes - holder.bufferedBytes;
    share.bytes += bytes - holder.bufferedBytes;
    holder.bufferedBytes = bytes;
    if (bytes === 0) share.holders.delete(holder);
    else share.holders.add(holder);
    if (share.holders.size === 0) this.#shares.delete(holder.key);
    while (this.#bytes > this.#bytesMax) {
      const largest = this.#largest();
      if (largest === undefined) return;
      this.hold(largest, 0);
      largest.cutForBuffers();
    }
  }

  #shareOf(key: string): Share {
    let share = this.#shares.get(key);
    if (share === undefined) this.#shares.set(key, (share = { bytes: 0, holders: new Set() }));
    return share;
  }

  /**
   * Finds the stranger with the most held bytes. Returns this stranger's connection with the most held bytes.
   */
  #largest(): Holder | undefined {
    let most: Share | undefined;
    for (const share of this.#shares.values()) if (most === undefined || share.bytes > most.bytes) most = share;
    let largest: Holder | undefined;
    for (const holder of most?.holders ?? []) {
      if (largest === undefined || holder.bufferedBytes > largest.bufferedBytes) largest = holder;
    }
    return largest;
  }
}
