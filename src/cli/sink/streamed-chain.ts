/**
 * Tracks the chain that a node has sent in its event stream. After a lost connection, the new stream repeats some
 * blocks, but does not contain the reverts that happened while there was no connection. This class drops repeated
 * blocks, and adds the missing reverts.
 */

import type { Block } from '../../protocol/types.ts';
import type { ChainChange } from '../../sinks/source.ts';

export class StreamedChain {
  /**
   * Block ids by height: the id of the newest final block, and the ids of all blocks above this block. As long as no
   * block of the stream is final, the map contains the ids of all blocks that the stream has sent. The heights are
   * ascending and without a gap.
   */
  readonly #ids = new Map<number, string>();
  readonly #depth: number | undefined;
  #next: number;
  #finalHeight = 0;

  /**
   * @param depth a block counts as final if it is at least this number of blocks below the tip; undefined if events
   *   report finality
   */
  constructor(fromHeight: number, depth: number | undefined) {
    this.#next = fromHeight;
    this.#depth = depth;
  }

  /** Height of the newest block; `fromHeight - 1` before the first block. */
  height(): number {
    return this.#next - 1;
  }

  /** Lowest height of the blocks that the node must send again after a lost connection. */
  resumeHeight(): number {
    const [lowest = this.#next] = this.#ids.keys();
    return lowest;
  }

  *applied(block: Block): Iterable<ChainChange> {
    if (this.#ids.get(block.height) === block.id) return;
    yield* this.#revertTo(block.height - 1);
    // `block.height` differs from `#next` here only for a block below all blocks that the class tracks. The class has
    // no id for the height of this block, so the class drops the block.
    if (block.height !== this.#next) return;
    this.#ids.set(block.height, block.id);
    this.#next += 1;
    yield { kind: 'applied', block };
    if (this.#depth !== undefined) yield* this.finalized(block.height - this.#depth);
  }

  *reverted({ id, height }: { readonly id: string; readonly height: number }): Iterable<ChainChange> {
    if (this.#ids.get(height) === id) yield* this.#revertTo(height - 1);
  }

  *finalized(height: number): Iterable<ChainChange> {
    const finalHeight = Math.min(height, this.#next - 1);
    if (finalHeight <= this.#finalHeight) return;
    this.#finalHeight = finalHeight;
    yield { kind: 'final', height: finalHeight };
    for (const known of this.#ids.keys()) if (known < finalHeight) this.#ids.delete(known);
  }

  *#revertTo(height: number): Iterable<ChainChange> {
    for (let top = this.#next - 1; top > height && this.#ids.has(top); top -= 1) {
      const blockId = this.#ids.get(top) ?? '';
      this.#ids.delete(top);
      this.#next = top;
      yield { kind: 'reverted', height: top, blockId };
    }
  }
}
