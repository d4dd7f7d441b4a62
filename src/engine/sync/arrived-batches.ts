/**
 * Holds the downloaded batches of blocks that the consumer (`sync-from-peer.ts`) has not taken yet. If too many batches
 * are in memory, the download pauses, so that a slow consumer or large blocks do not fill the memory.
 */

import type { Block } from '../../protocol/types.ts';
import type { PeerId } from '../../ports/transport.ts';

/**
 * Number of batches in memory at which the download pauses. The number includes the batches that the consumer works on.
 * The verifier threads check the signatures of waiting batches, so several batches keep all these threads busy.
 */
const BATCHES_MAX = 12;
/**
 * Total size of all batches in memory, in bytes of JSON, at which the download pauses. A batch of 34 blocks with 25
 * transfers each takes about 400,000 bytes. `BATCHES_MAX` such batches stay below `PAUSE_BYTES`, so only larger batches
 * reach this size.
 */
const PAUSE_BYTES = 9_000_000;
/** Maximum number of batches that `take` joins into one batch. */
const JOINED_MAX = 4;

/**
 * Returns the maximum total size of all batches in memory, in bytes of JSON. The result is approximate, because decoded
 * blocks can be larger than the answer of the peer (see `approximateJsonBytes`).
 *
 * @param answerBytesMax maximum size of one answer in bytes
 */
export function batchBytesMax(answerBytesMax: number): number {
  return PAUSE_BYTES + answerBytesMax;
}

export interface Batch {
  readonly blocks: readonly Block[];
  /** The peer that sent the blocks. */
  readonly peerId: PeerId;
  /** Resolves when the blocks are prepared (`DownloadSource.prepare`); rejects if the preparation fails. */
  readonly prepared: Promise<void>;
}

/** A batch and its approximate size in bytes of JSON. */
export interface SizedBatch extends Batch {
  readonly bytes: number;
}

export class ArrivedBatches {
  readonly #waiting: SizedBatch[] = [];
  /** The batches that the consumer works on. */
  #taken: readonly SizedBatch[] = [];
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void)[] = [];

  /** Resolves when the download can request a further batch, or when the download has ended. */
  space(): Promise<void> {
    return this.#until(() => this.#hasSpace() || this.#end !== undefined);
  }

  add(batch: SizedBatch): void {
    // If the consumer has stopped, no other code handles a rejection of this promise.
    batch.prepared.catch(() => undefined);
    this.#waiting.push(batch);
    this.#changed();
  }

  /** Ends the download. The consumer first gets the batches that wait, and then the error, if there is one. */
  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end;
    this.#changed();
  }

  /**
   * Ends the download and removes all blocks from this object. Call this method when the consumer takes no more
   * batches. Without the removal, the blocks could stay in memory for a long time: it is possible that the download
   * still waits for an answer of a peer, and the download refers to this object until the answer has come.
   */
  close(): void {
    this.#waiting.length = 0;
    this.#taken = [];
    this.end();
  }

  /**
   * Waits for the next blocks. Call this method only when the consumer no longer needs the blocks of the previous call,
   * because the method releases those blocks.
   *
   * @param joins if true, the method joins up to `JOINED_MAX` waiting batches, all from the same peer, into one batch;
   *   if false, the method returns only the first waiting batch
   * @returns undefined after the last batch
   * @throws the error that ended the download
   */
  async take(joins: boolean): Promise<Batch | undefined> {
    this.#taken = [];
    this.#changed();
    await this.#until(() => this.#waiting.length > 0 || this.#end !== undefined);
    const first = this.#waiting[0];
    if (first === undefined) {
      if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
      return undefined;
    }
    const other = this.#waiting.findIndex(({ peerId }) => peerId !== first.peerId);
    this.#taken = this.#waiting.splice(0, Math.min(joins ? JOINED_MAX : 1, other < 0 ? Infinity : other));
    return joined(first.peerId, this.#taken);
  }

  #hasSpace(): boolean {
    const held = [...this.#waiting, ...this.#taken];
    return held.length < BATCHES_MAX && held.reduce((sum, { bytes }) => sum + bytes, 0) < PAUSE_BYTES;
  }

  async #until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
      });
    }
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }
}

function joined(peerId: PeerId, batches: readonly Batch[]): Batch {
  const prepared = Promise.all(batches.map((batch) => batch.prepared)).then(() => undefined);
  // If the consumer has stopped, no other code handles a rejection of this promise.
  prepared.catch(() => undefined);
  return { peerId, blocks: batches.flatMap(({ blocks }) => blocks), prepared };
}

/**
 * Number of characters that JSON adds to a text (two quotes, a comma), to the name of an object's member (two quotes, a
 * colon), and to a list or object (two brackets, a comma).
 */
const QUOTED = 3;
/** Number of characters that the estimate assumes for each number, boolean or null, including the comma after it. */
const SIMPLE = 8;

/**
 * Estimates how many bytes a value has when it is written as JSON. The estimate is much faster than writing the JSON.
 * Pass the decoded blocks, which stay in memory, and not the answer of the peer. Decoded blocks can be much larger than
 * the answer, because the decoded blocks store unusual assets as text (in this text, `1e20` becomes 21 digits). The
 * function is not recursive, because recursion into a value with thousands of nested levels could overflow the stack.
 */
export function approximateJsonBytes(value: unknown): number {
  let sum = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const item = open.pop();
    if (typeof item === 'string') sum += item.length + QUOTED;
    else if (typeof item !== 'object' || item === null) sum += SIMPLE;
    else if (Array.isArray(item)) {
      sum += QUOTED;
      for (const each of item as readonly unknown[]) open.push(each);
    } else {
      sum += QUOTED;
      for (const [name, member] of Object.entries(item)) {
        sum += name.length + QUOTED;
        open.push(member);
      }
    }
  }
  return sum;
}
