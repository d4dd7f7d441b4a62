/**
 * Messages that have begun and not come to their end. They lie in memory and nobody has seen them: they count in no rate, and
 * the heartbeat gives whoever says nothing else twenty seconds.
 */

/** Of all connections together; where there are more, the oldest of the large ones are given up. */
export const BYTES_MAX = 24_000_000;
/** Of one connection, and nobody's business: more than blocks and transactions have that come unasked. */
const BYTES_FREE = 256_000;
/** What memory a piece takes that brings a single byte. */
const PIECE_BYTES_MIN = 512;

interface Begun {
  bytes: number;
  readonly giveUp: () => void;
}

/** @typeParam L what stands for a connection */
export class UnfinishedMessages<L> {
  /** In the order in which they began. */
  readonly #begun = new Map<L, Begun>();
  #bytes = 0;

  /** Bytes came in. @param giveUp ends the connection */
  arrived(line: L, bytes: number, giveUp: () => void): void {
    let begun = this.#begun.get(line);
    if (begun === undefined) this.#begun.set(line, (begun = { bytes: 0, giveUp }));
    const takenBytes = Math.max(bytes, PIECE_BYTES_MIN);
    begun.bytes += takenBytes;
    this.#bytes += takenBytes;
    if (this.#bytes > BYTES_MAX) this.#makeRoom();
  }

  /** The message is whole, or its connection closed. */
  ended(line: L): void {
    this.#bytes -= this.#begun.get(line)?.bytes ?? 0;
    this.#begun.delete(line);
  }

  #makeRoom(): void {
    for (const [line, { bytes, giveUp }] of this.#begun) {
      if (bytes <= BYTES_FREE) continue;
      this.ended(line);
      giveUp();
      if (this.#bytes <= BYTES_MAX) return;
    }
  }
}
