/** A sink in memory, which tests use instead of a database or folder. */

import type { Clock } from '../ports/clock.ts';
import type { BlockId } from '../protocol/types.ts';
import { identityFault } from './identity.ts';
import { LEASE_S, leaseLost, sinkInUse, type LeaseHolder } from './lease.ts';
import type { HeightSpan, RangeDraft, Sink, SinkBlock, SinkIdentity, SinkPlace } from './sink.ts';
import { rowsDraft } from './rows-draft.ts';
import { joinedRows, type Rows } from './tables.ts';

/**
 * Content of a memory sink. A test can pass the content of one `MemorySink` to a new `MemorySink`, as if a process had
 * opened the same sink again.
 */
export interface MemorySinkContent {
  identity: SinkIdentity | undefined;
  readonly ranges: { readonly span: HeightSpan; readonly lastBlockId: BlockId; readonly rows: Rows }[];
  tail: readonly SinkBlock[];
  lease: { readonly owner: string; readonly token: string; readonly expiresMs: number } | undefined;
}

export interface MemorySinkOptions extends LeaseHolder {
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Runs at the start of each call that writes or removes blocks (`putTail`, `revertTail` and `RangeDraft.put`). With
   * this function, a test can let another process take over the sink, or can simulate a crash before the change.
   */
  readonly beforeWrite?: () => Promise<void>;
}

const NAME = 'the sink in memory';

export function emptyMemorySink(): MemorySinkContent {
  return { identity: undefined, ranges: [], tail: [], lease: undefined };
}

export class MemorySink implements Sink {
  readonly #content: MemorySinkContent;
  readonly #options: MemorySinkOptions | undefined;

  /** @param options undefined to use the sink without a lease */
  constructor(content: MemorySinkContent = emptyMemorySink(), options?: MemorySinkOptions) {
    this.#content = content;
    this.#options = options;
  }

  async begin(identity: SinkIdentity): Promise<SinkPlace> {
    const fault = identityFault('the sink', this.#content.identity ?? identity, identity);
    if (fault !== undefined) throw fault;
    this.#take();
    this.#content.identity ??= identity;
    const last = this.#content.ranges.at(-1);
    const final = last && { height: last.span.toHeight, blockId: last.lastBlockId };
    this.#dropTailTo(final?.height ?? 0);
    return Promise.resolve({ final, tail: this.#content.tail.map(({ height, blockId }) => ({ height, blockId })) });
  }

  draftRange(): RangeDraft {
    return rowsDraft((span, lastBlockId, rows) => this.#putRange(span, lastBlockId, rows));
  }

  #putRange(span: HeightSpan, lastBlockId: BlockId, rows: Rows): Promise<void> {
    return this.#write(() => {
      const last = this.#content.ranges.at(-1)?.span.toHeight ?? 0;
      if (span.fromHeight > last) this.#content.ranges.push({ span, lastBlockId, rows });
      this.#dropTailTo(span.toHeight);
    });
  }

  putTail(blocks: readonly SinkBlock[]): Promise<void> {
    return this.#write(() => {
      const top = this.#content.tail.at(-1)?.height ?? 0;
      this.#content.tail = [...this.#content.tail, ...blocks.filter(({ height }) => height > top)];
    });
  }

  revertTail(toHeight: number): Promise<void> {
    return this.#write(() => {
      this.#content.tail = this.#content.tail.filter(({ height }) => height <= toHeight);
    });
  }

  end(): Promise<void> {
    if (this.#content.lease?.token === this.#options?.token) this.#content.lease = undefined;
    return Promise.resolve();
  }

  /** All rows that the sink holds. */
  rows(): Rows {
    return joinedRows([...this.#content.ranges, ...this.#content.tail].map(({ rows }) => rows));
  }

  #take(): void {
    const { lease } = this.#content;
    if (this.#options === undefined) return;
    const { owner, token, clock, leaseS = LEASE_S } = this.#options;
    if (lease !== undefined && lease.token !== token && lease.expiresMs > clock.nowMs())
      throw sinkInUse(NAME, lease.owner, lease.expiresMs);
    this.#content.lease = { owner, token, expiresMs: clock.nowMs() + leaseS * 1000 };
  }

  /**
   * Checks the lease, renews it and makes the change, without an `await` between these steps. Therefore a sink that
   * lost the lease during `beforeWrite` changes nothing.
   */
  async #write(change: () => void): Promise<void> {
    await this.#options?.beforeWrite?.();
    if (this.#options !== undefined) {
      const { lease } = this.#content;
      const { token, clock } = this.#options;
      if (lease?.token !== token || lease.expiresMs <= clock.nowMs()) throw leaseLost(NAME);
      this.#take();
    }
    change();
  }

  #dropTailTo(finalHeight: number): void {
    this.#content.tail = this.#content.tail.filter(({ height }) => height > finalHeight);
  }
}
