/** A sink in memory: the model that the others are held to. */

import type { BlockId } from '../protocol/types.ts';
import { identityFault } from './identity.ts';
import type { HeightSpan, Sink, SinkBlock, SinkIdentity, SinkPlace } from './sink.ts';
import { joinedRows, type Rows } from './tables.ts';

/** What a memory sink holds; survives the sink, as a disk would. */
export interface MemorySinkContent {
  identity: SinkIdentity | undefined;
  readonly ranges: { readonly span: HeightSpan; readonly lastBlockId: BlockId; readonly rows: Rows }[];
  tail: readonly SinkBlock[];
}

export function emptyMemorySink(): MemorySinkContent {
  return { identity: undefined, ranges: [], tail: [] };
}

export class MemorySink implements Sink {
  readonly #content: MemorySinkContent;

  constructor(content: MemorySinkContent = emptyMemorySink()) {
    this.#content = content;
  }

  async begin(identity: SinkIdentity): Promise<SinkPlace> {
    this.#content.identity ??= identity;
    const fault = identityFault(this.#content.identity, identity);
    if (fault !== undefined) throw fault;
    const last = this.#content.ranges.at(-1);
    const final = last && { height: last.span.toHeight, blockId: last.lastBlockId };
    this.#dropTailTo(final?.height ?? 0);
    return Promise.resolve({ final, tail: this.#content.tail.map(({ height, blockId }) => ({ height, blockId })) });
  }

  putRange(span: HeightSpan, lastBlockId: BlockId, rows: Rows): Promise<void> {
    const last = this.#content.ranges.at(-1)?.span.toHeight ?? 0;
    if (span.fromHeight > last) this.#content.ranges.push({ span, lastBlockId, rows });
    this.#dropTailTo(span.toHeight);
    return Promise.resolve();
  }

  putTail(blocks: readonly SinkBlock[]): Promise<void> {
    const top = this.#content.tail.at(-1)?.height ?? 0;
    this.#content.tail = [...this.#content.tail, ...blocks.filter(({ height }) => height > top)];
    return Promise.resolve();
  }

  revertTail(toHeight: number): Promise<void> {
    this.#content.tail = this.#content.tail.filter(({ height }) => height <= toHeight);
    return Promise.resolve();
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  /** All that it holds. */
  rows(): Rows {
    return joinedRows([...this.#content.ranges, ...this.#content.tail].map(({ rows }) => rows));
  }

  #dropTailTo(finalHeight: number): void {
    this.#content.tail = this.#content.tail.filter(({ height }) => height > finalHeight);
  }
}
