/**
 * The blocks of one peer's chain, batch after batch, fetched ahead of whoever takes them. Blocks are asked for by the id of
 * the one before them, so batches come one after the other; but each may come from any peer that is at the same tip, and it
 * comes from the one that has answered soonest so far. Who does not answer within moments is overtaken by another.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';

/** More blocks in one answer than any node of the family sends. */
const BLOCKS_PER_ANSWER_MAX = 100;
/** Batches that may wait: enough to keep the verifying threads busy, and some megabytes at most. */
export const BATCHES_AHEAD_MAX = 6;
/** Time without an answer after which another peer is asked, too: several times that of an answer on a good line. */
const PATIENCE_MS = 1500;
/** Weight of the newest answer in the time that is expected of a peer. */
const NEWEST_WEIGHT = 0.3;

export interface DownloadSource {
  /** The peer whose chain is downloaded. The download ends where its chain ends. */
  readonly leader: PeerId;
  /** Peers that say to be at the same tip, asked for again before each batch. */
  readonly helpers: () => readonly PeerId[];
  readonly transport: Pick<Transport, 'request'>;
  readonly clock: Clock;
  readonly codec: Codec;
  /** Told of a peer that failed while others serve; it is not asked again. */
  readonly peerFailed: (peerId: PeerId, error: unknown) => void;
  /** Begins work on blocks as soon as they are here. */
  readonly prepare: (blocks: readonly Block[]) => Promise<void>;
}

export interface Batch {
  readonly blocks: readonly Block[];
  /** The peer that sent the blocks. */
  readonly peerId: PeerId;
  /** Resolves when the blocks are prepared. */
  readonly prepared: Promise<void>;
}

/** The block before a batch: the question names its id, and its height is checked. */
type Parent = Pick<BlockHeader, 'id' | 'height'>;

/**
 * Batches of blocks that follow `from`, each linked to the one before it, until the leader has no more.
 *
 * @throws ProtocolError `REQUEST_FAILED` from the transport, `SYNC_BLOCKS_UNLINKED` when an answer is no continuation
 * @throws BlockRejected when an answer holds something that is no block
 */
export async function* downloadAfter(from: Parent, source: DownloadSource): AsyncGenerator<Batch, void> {
  const download = new Download(source);
  // A batch is asked for when the one before it is here, even if that one still waits.
  const ahead: Promise<Batch | undefined>[] = [];
  let newest: Promise<Batch | undefined> = download.fetch(from, undefined);
  const push = (fetched: Promise<Batch | undefined>): void => {
    // A failure must not be unhandled: the caller may have stopped early.
    fetched.catch(() => undefined);
    ahead.push(fetched);
    newest = fetched;
  };
  push(newest);
  try {
    for (;;) {
      while (ahead.length < BATCHES_AHEAD_MAX) push(newest.then((batch) => download.fetchAfter(batch)));
      const batch = await ahead.shift();
      if (batch === undefined) return;
      yield batch;
    }
  } finally {
    download.stop();
  }
}

type Answer =
  { readonly peerId: PeerId; readonly blocks: readonly Block[] } | { readonly peerId: PeerId; readonly error: unknown };

class Download {
  readonly #source: DownloadSource;
  /** Milliseconds that an answer is expected to take, by what was seen. */
  readonly #expectedMs = new Map<PeerId, number>();
  readonly #excluded = new Set<PeerId>();
  #isStopped = false;

  constructor(source: DownloadSource) {
    this.#source = source;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async fetchAfter(batch: Batch | undefined): Promise<Batch | undefined> {
    const parent = batch?.blocks.at(-1);
    return parent === undefined ? undefined : this.fetch(parent, batch?.peerId);
  }

  /**
   * The batch after a block, from the first peer that has one; undefined when there is none.
   *
   * @param parentFrom who sent the block itself, undefined when it is ours
   */
  async fetch(parent: Parent, parentFrom: PeerId | undefined): Promise<Batch | undefined> {
    const { leader } = this.#source;
    const asked = new Set<PeerId>();
    const open = new Map<PeerId, Promise<Answer>>();
    let leaderError: unknown;
    while (!this.#isStopped) {
      const next = this.#choose(asked);
      if (next !== undefined) {
        asked.add(next);
        open.set(next, this.#ask(next, parent));
      } else if (open.size === 0) {
        break;
      }
      const answer = await this.#first([...open.values()], this.#choose(asked) !== undefined);
      if (this.#isStopped) break;
      if (answer === undefined) {
        for (const peerId of open.keys()) this.#expectedMs.set(peerId, Math.max(this.#expected(peerId), PATIENCE_MS));
        continue;
      }
      open.delete(answer.peerId);
      if ('error' in answer) {
        this.#excluded.add(answer.peerId);
        if (answer.peerId === leader) leaderError = answer.error;
        else this.#source.peerFailed(answer.peerId, answer.error);
      } else if (answer.blocks.length > 0) {
        const { blocks, peerId } = answer;
        if (leaderError !== undefined) this.#source.peerFailed(leader, leaderError);
        const prepared = this.#source.prepare(blocks);
        // Who takes the batch hears of it; who has lost interest need not.
        prepared.catch(() => undefined);
        return { blocks, peerId, prepared };
      } else if (answer.peerId === leader) {
        return undefined;
      } else {
        this.#excluded.add(answer.peerId);
      }
    }
    if (leaderError === undefined) return undefined;
    // Perhaps the leader does not know a block because the helper that sent it is on another branch.
    if (parentFrom !== undefined && parentFrom !== leader) {
      this.#source.peerFailed(parentFrom, new ProtocolError('SYNC_HELPER_PARTED', { height: parent.height }));
    }
    throw leaderError instanceof Error ? leaderError : new Error(messageOf(leaderError));
  }

  /** The peer of which an answer is expected soonest; one that was never asked is given a chance. */
  #choose(asked: ReadonlySet<PeerId>): PeerId | undefined {
    const { leader, helpers } = this.#source;
    let best: PeerId | undefined;
    for (const peerId of [leader, ...helpers()]) {
      if (asked.has(peerId) || this.#excluded.has(peerId)) continue;
      if (best === undefined || this.#expected(peerId) < this.#expected(best)) best = peerId;
    }
    return best;
  }

  #expected(peerId: PeerId): number {
    return this.#expectedMs.get(peerId) ?? 0;
  }

  async #ask(peerId: PeerId, parent: Parent): Promise<Answer> {
    const { transport, clock, codec } = this.#source;
    const askedMs = clock.nowMs();
    try {
      const answer = await transport.request(peerId, { kind: 'blocksAfter', blockId: parent.id });
      this.#learn(peerId, clock.nowMs() - askedMs);
      return { peerId, blocks: decodeBatch(answer, parent, peerId, codec) };
    } catch (error) {
      // Also what is a defect of ours is told of the peer whose answer shows it, not of the one that is followed.
      return { peerId, error };
    }
  }

  #learn(peerId: PeerId, tookMs: number): void {
    const before = this.#expectedMs.get(peerId);
    this.#expectedMs.set(peerId, before === undefined ? tookMs : before + NEWEST_WEIGHT * (tookMs - before));
  }

  /** The first answer; undefined when there is another to be asked and none came for a while. */
  async #first(open: readonly Promise<Answer>[], isOtherLeft: boolean): Promise<Answer | undefined> {
    if (!isOtherLeft) return Promise.race(open);
    let overtake: () => void = () => undefined;
    const late = new Promise<undefined>((resolve) => {
      overtake = () => resolve(undefined);
    });
    const timer = this.#source.clock.after(PATIENCE_MS, overtake);
    try {
      return await Promise.race([...open, late]);
    } finally {
      timer.cancel();
    }
  }
}

function decodeBatch(answer: readonly unknown[], after: Parent, peerId: PeerId, codec: Codec): readonly Block[] {
  if (answer.length > BLOCKS_PER_ANSWER_MAX) {
    throw new ProtocolError('SYNC_BLOCKS_UNLINKED', { peer: peerId, blocks: answer.length });
  }
  let previous = after;
  return answer.map((json) => {
    const block = codec.blockFromJson(json);
    if (block.previousBlockId !== previous.id || block.height !== previous.height + 1) {
      throw new ProtocolError('SYNC_BLOCKS_UNLINKED', {
        peer: peerId,
        height: block.height,
        afterHeight: previous.height,
      });
    }
    previous = block;
    return block;
  });
}
