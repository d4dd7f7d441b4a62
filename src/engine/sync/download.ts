/**
 * Downloads the blocks of the sync peer's chain in batches, before the caller needs them. A request names the id of the
 * block before the batch, so the node can ask for a batch only after the previous batch has arrived. The node asks the
 * sync peer or a same-tip peer (a peer that announces the same tip as the sync peer). The node first asks the peers
 * that it has not yet asked in this download. After that, the node asks the peer that has sent blocks fastest so far.
 * If the asked peer does not answer within `SECOND_REQUEST_MS`, the node also asks another peer.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';
import { approximateJsonBytes, ArrivedBatches, type Batch, type SizedBatch } from './arrived-batches.ts';

/**
 * Maximum number of blocks in one answer; the node refuses a larger answer. Nodes of lisk-sdk send at most 34 blocks.
 */
const BLOCKS_PER_ANSWER_MAX = 100;
/**
 * Time in milliseconds without an answer after which the node also asks another peer. An answer usually takes a
 * fraction of this time.
 */
const SECOND_REQUEST_MS = 1500;
/**
 * Usual number of blocks in an answer of a lisk-sdk node. The last answer and answers with large blocks contain fewer
 * blocks.
 */
const USUAL_BLOCKS = 34;
/** Weight of the newest answer in the moving average of a peer's time per block (`#msPerBlock`). */
const NEWEST_WEIGHT = 0.3;

export interface DownloadSource {
  /** The peer whose chain is downloaded. The download ends where the chain of the sync peer ends. */
  readonly syncPeer: PeerId;
  /**
   * Returns peers that announce the same tip as the sync peer. The download calls this function again each time it
   * chooses a peer.
   */
  readonly sameTipPeers: () => readonly PeerId[];
  /**
   * Returns false if the sync peer has disconnected. If a connected sync peer fails to send a batch, it is possible
   * that the sync peer does not know the previous batch. In this case, the same-tip peer that sent the previous batch
   * is on another branch. If the sync peer has disconnected, its failure says nothing about the previous batch.
   */
  readonly isSyncPeerConnected: () => boolean;
  /**
   * Returns whether the download is allowed to join several answers of a peer into one batch. The download calls this
   * function for each batch.
   */
  readonly joinsAnswers: () => boolean;
  readonly transport: Pick<Transport, 'request'>;
  readonly clock: Clock;
  readonly codec: Codec;
  /**
   * Called for each same-tip peer whose request for a batch fails before another peer has sent the batch. A request
   * fails if the peer does not answer, or if the answer is invalid. Also called for the sync peer if its request fails
   * and another peer then sends the batch. This download does not ask the failed peer again. If the request to the sync
   * peer fails but the sync peer stays connected, and no other peer sends the batch, it is possible that the previous
   * batch belongs to another branch (see `isSyncPeerConnected`). In this case, the download also calls this function
   * for the same-tip peer that sent the previous batch, with the error `SYNC_HELPER_DIVERGED`.
   */
  readonly peerFailed: (peerId: PeerId, error: unknown) => void;
  /** Called with the blocks of a batch when the blocks arrive, for example to verify their signatures early. */
  readonly prepare: (blocks: readonly Block[]) => Promise<void>;
}

/**
 * The block before a batch. The request for the batch contains the id of this block, and the first block of the answer
 * must be a child of this block.
 */
type Parent = Pick<BlockHeader, 'id' | 'height'>;

/**
 * Downloads batches of blocks after the block `from` until the sync peer has no more blocks, or until no peer is left
 * to ask. Each batch continues the batch before it. If the sync peer fails and no other peer sends the batch, the
 * download ends with the error of the sync peer.
 *
 * @throws ProtocolError from `source.transport` if the sync peer does not answer; `SYNC_BLOCKS_UNLINKED` if the blocks
 *   in the sync peer's answer do not continue the chain, or if the answer has more than `BLOCKS_PER_ANSWER_MAX` blocks
 * @throws BlockRejected if the answer of the sync peer contains a malformed block
 */
export async function* downloadAfter(from: Parent, source: DownloadSource): AsyncGenerator<Batch, void> {
  const download = new Download(source);
  const arrived = new ArrivedBatches();
  void fetchAll(from, download, arrived);
  try {
    for (;;) {
      const batch = await arrived.take(source.joinsAnswers());
      if (batch === undefined) return;
      yield batch;
    }
  } finally {
    download.stop();
    arrived.close();
  }
}

/**
 * Requests one batch after another, even if the caller has not taken the arrived batches yet. Pauses while too many
 * batches are in memory (`ArrivedBatches.space`). Never rejects: `arrived` passes an error on to the caller after the
 * batches that arrived before the error.
 */
async function fetchAll(from: Parent, download: Download, arrived: ArrivedBatches): Promise<void> {
  try {
    let end: End | undefined = { parent: from, parentFrom: undefined };
    while (end !== undefined) {
      end = await fetchOne(end, download, arrived);
      await arrived.space();
    }
    arrived.end();
  } catch (error) {
    arrived.end({ error });
  }
}

/** The end of the downloaded blocks: the last block, and the peer that sent this block. */
interface End {
  readonly parent: Parent;
  /** The peer that sent the last block; undefined if the last block is a block of our own chain. */
  readonly parentFrom: PeerId | undefined;
}

/**
 * Requests one batch, and adds the batch to `arrived`. The caller `fetchAll` gets only the new end, and holds no
 * reference to the batch. If the download stops while the next request is open, the open request therefore keeps no
 * blocks in memory.
 *
 * @returns the end of the downloaded blocks after this batch; undefined if there is no further batch
 * @throws the error of `Download.fetch`
 */
async function fetchOne(
  { parent, parentFrom }: End,
  download: Download,
  arrived: ArrivedBatches,
): Promise<End | undefined> {
  const batch = await download.fetch(parent, parentFrom);
  const last = batch?.blocks.at(-1);
  if (batch === undefined || last === undefined) return undefined;
  arrived.add(batch);
  return { parent: { id: last.id, height: last.height }, parentFrom: batch.peerId };
}

type Answer = Omit<SizedBatch, 'prepared'> | { readonly peerId: PeerId; readonly error: unknown };

class Download {
  readonly #source: DownloadSource;
  /**
   * Estimated time in milliseconds that each peer needs to send one block. If the node compared only the times of whole
   * answers, the node would prefer a peer that sends short answers with single blocks.
   */
  readonly #msPerBlock = new Map<PeerId, number>();
  readonly #excluded = new Set<PeerId>();
  #isStopped = false;

  constructor(source: DownloadSource) {
    this.#source = source;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Downloads the batch after a block, from the first peer that answers with blocks. The result is undefined if the
   * sync peer has no more blocks, or if the download has stopped. If the sync peer has failed in an earlier call, and
   * no same-tip peer sends the batch, the result is also undefined.
   *
   * @param parentFrom peer that sent the parent block; undefined if the parent block is a block of our own chain
   * @throws the error of the sync peer if the sync peer failed and no other peer sent the batch
   */
  async fetch(parent: Parent, parentFrom: PeerId | undefined): Promise<SizedBatch | undefined> {
    const { syncPeer } = this.#source;
    const asked = new Set<PeerId>();
    const open = new Map<PeerId, Promise<Answer>>();
    let syncPeerError: unknown;
    let hasSyncPeerLeft = false;
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
        for (const peerId of open.keys())
          this.#msPerBlock.set(peerId, Math.max(this.#expected(peerId), SECOND_REQUEST_MS / USUAL_BLOCKS));
        continue;
      }
      open.delete(answer.peerId);
      if ('error' in answer) {
        this.#excluded.add(answer.peerId);
        if (answer.peerId === syncPeer) {
          syncPeerError = answer.error;
          hasSyncPeerLeft = !this.#source.isSyncPeerConnected();
        } else this.#source.peerFailed(answer.peerId, answer.error);
      } else if (answer.blocks.length > 0) {
        const { blocks, peerId, bytes } = answer;
        if (syncPeerError !== undefined) this.#source.peerFailed(syncPeer, syncPeerError);
        return { blocks, peerId, bytes, prepared: this.#source.prepare(blocks) };
      } else if (answer.peerId === syncPeer) {
        return undefined;
      } else {
        this.#excluded.add(answer.peerId);
      }
    }
    if (syncPeerError === undefined || this.#isStopped) return undefined;
    // It is possible that the sync peer failed because the sync peer does not have the parent (the block before the
    // batch). If a same-tip peer sent the parent, the parent perhaps belongs to another branch, so the same-tip peer is
    // perhaps at fault.
    if (parentFrom !== undefined && parentFrom !== syncPeer && !hasSyncPeerLeft) {
      this.#source.peerFailed(parentFrom, new ProtocolError('SYNC_HELPER_DIVERGED', { height: parent.height }));
    }
    throw syncPeerError instanceof Error ? syncPeerError : new Error(messageOf(syncPeerError));
  }

  /**
   * Chooses the peer with the shortest expected time per block. A peer that this download has never asked comes first.
   */
  #choose(asked: ReadonlySet<PeerId>): PeerId | undefined {
    const { syncPeer, sameTipPeers } = this.#source;
    let best: PeerId | undefined;
    for (const peerId of [syncPeer, ...sameTipPeers()]) {
      if (asked.has(peerId) || this.#excluded.has(peerId)) continue;
      if (best === undefined || this.#expected(peerId) < this.#expected(best)) best = peerId;
    }
    return best;
  }

  #expected(peerId: PeerId): number {
    return this.#msPerBlock.get(peerId) ?? 0;
  }

  async #ask(peerId: PeerId, parent: Parent): Promise<Answer> {
    const { transport, clock, codec } = this.#source;
    const askedMs = clock.nowMs();
    try {
      const answer = await transport.request(peerId, { kind: 'blocksAfter', blockId: parent.id });
      const tookMs = clock.nowMs() - askedMs;
      const blocks = decodeBatch(answer, parent, peerId, codec);
      this.#learn(peerId, tookMs / Math.max(1, blocks.length));
      return { peerId, blocks, bytes: approximateJsonBytes(blocks) };
    } catch (error) {
      // The caller `fetch` must report an error of `transport.request` or `decodeBatch` for the peer that caused the
      // error. This method therefore returns the error together with the peer.
      return { peerId, error };
    }
  }

  #learn(peerId: PeerId, msPerBlock: number): void {
    const before = this.#msPerBlock.get(peerId);
    this.#msPerBlock.set(peerId, before === undefined ? msPerBlock : before + NEWEST_WEIGHT * (msPerBlock - before));
  }

  /**
   * Returns the first `Answer` (blocks or an error). The result is undefined if no `Answer` comes within
   * `SECOND_REQUEST_MS` and the node can still ask another peer.
   */
  async #first(open: readonly Promise<Answer>[], isOtherLeft: boolean): Promise<Answer | undefined> {
    if (!isOtherLeft) return Promise.race(open);
    let overtake: () => void = () => undefined;
    const late = new Promise<undefined>((resolve) => {
      overtake = () => resolve(undefined);
    });
    const timer = this.#source.clock.after(SECOND_REQUEST_MS, overtake);
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
