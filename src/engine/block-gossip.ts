/**
 * Exchanges new blocks with peers. Passes each well-formed block from a peer to the importer, unless the node remembers
 * that it has already forged, imported, ignored or refused the block. Sends each forged or imported block to a random
 * choice of peers, except during a sync.
 */

import { LruMap } from '../primitives/bounded.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { Clock } from '../ports/clock.ts';
import { rateOf } from '../ports/rates.ts';
import type { PeerId, Transport } from '../ports/transport.ts';
import type { Generation } from '../protocol/params.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Block, BlockId, JsonObject } from '../protocol/types.ts';
import { BlockRejected, type BlockRejectionCode, isByClock } from '../protocol/verdict.ts';
import type { BlockImporter } from './block-importer.ts';
import { BlockSender } from './block-sender.ts';
import type { Chain } from './chain.ts';
import type { BlockArrival } from './peers/clock-offset.ts';

/**
 * Maximum number of entries in each of `#seenBlocks`, `#refusedHeaders`, `#refusedBlocks` and `#headersOfRefused`.
 * Without these maps, the node would check a block again for each peer that sends it.
 */
const SEEN_BLOCKS_MAX = 1000;
/**
 * Codes of rejections that a wrong clock of this node can cause. For example, if the clock is behind, the time of a
 * valid block, or of one of its transactions, seems to be in the future. It is possible that the node accepts such a
 * block when a peer sends the block again later. The node therefore does not remember blocks that it refused with these
 * codes.
 */
const CLOCK_DEPENDENT_REJECTIONS: ReadonlySet<BlockRejectionCode> = new Set([
  'BLOCK_TIMESTAMP_INVALID',
  'BLOCK_TRANSACTION_INVALID',
]);
/**
 * Codes of rejections that depend only on the header of the block and on the chain below the block. Two blocks with the
 * same header therefore get the same rejection, even if the two blocks contain different transactions.
 */
const HEADER_REJECTIONS: ReadonlySet<BlockRejectionCode> = new Set([
  'BLOCK_VERSION_INVALID',
  'BLOCK_SIGNATURE_INVALID',
  'BLOCK_PREVIOUS_INVALID',
  'BLOCK_REWARD_INVALID',
  'BLOCK_FORGER_INVALID',
  'BLOCK_BFT_INVALID',
]);

export interface BlockGossipDependencies {
  readonly chain: Pick<Chain, 'listen'> & {
    readonly rules: { readonly codec: Pick<Codec, 'blockFromJson' | 'blockToJson' | 'headerToJson'> };
  };
  readonly importer: Pick<BlockImporter, 'import'>;
  readonly transport: Pick<Transport, 'send'>;
  readonly clock: Clock;
  readonly generation: Generation;
  /** Returns the peers to which the node sends a new block: a random choice of inbound and outbound peers. */
  readonly gossipTargets: () => readonly PeerId[];
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /**
   * Called in three cases:
   *
   * - `imported`: the node has imported a block from a peer.
   * - `known`: a peer has sent a block whose id is in `#seenBlocks`.
   * - `early`: the node has refused a block because the slot of the block has not begun. It is possible that the clock
   *   of this node or of the forger is wrong.
   */
  readonly noteBlockTime: (peerId: PeerId, block: Block, receivedMs: number, kind: BlockArrival['kind']) => void;
  readonly synchronizer: { readonly syncing: boolean; trigger(peerId?: PeerId, shown?: Block): void };
}

export class BlockGossip {
  readonly #dependencies: BlockGossipDependencies;
  readonly #sender: BlockSender;
  /** Ids of blocks that this node has forged, or has applied from gossip. Blocks of a sync are not in this map. */
  readonly #seenBlocks = new LruMap<BlockId, true>(SEEN_BLOCKS_MAX);
  /**
   * Digests of the headers of two kinds of blocks: blocks that the node ignored (fork choice reads only the header),
   * and blocks that the node refused with a code in `HEADER_REJECTIONS`. The node stores a digest instead of the id,
   * because the id and the signature of a block of version 0 or 1 do not cover the height. A copy with a wrong height
   * therefore has the same id as the block with the correct height.
   */
  readonly #refusedHeaders = new LruMap<string, true>(SEEN_BLOCKS_MAX);
  /**
   * Digests of blocks that the node refused with a code that is neither in `HEADER_REJECTIONS` nor in
   * `CLOCK_DEPENDENT_REJECTIONS`. Each digest covers the whole block with its transactions, because a header does not
   * cover the whole block. For example, a header does not cover the members' signatures in a multisignature
   * transaction. A damaged copy of a block can therefore have the same header as the undamaged block. After the refusal
   * of the damaged copy, the node must still accept the undamaged block.
   *
   * The digests in this map and in `#refusedHeaders` are computed from the JSON that the codec writes, not from the
   * JSON that the peer sent. The codec ignores unknown JSON members. A peer could therefore send one block in any
   * number of variants. With digests of the peer's JSON, the node would check each variant again.
   */
  readonly #refusedBlocks = new LruMap<string, true>(SEEN_BLOCKS_MAX);
  /** Digests of the headers of the blocks in `#refusedBlocks`. */
  readonly #headersOfRefused = new LruMap<string, true>(SEEN_BLOCKS_MAX);

  constructor(dependencies: BlockGossipDependencies) {
    this.#dependencies = dependencies;
    const { clock, transport, generation } = dependencies;
    this.#sender = new BlockSender(clock, transport, rateOf(generation, 'block').own);
  }

  start(): void {
    this.#dependencies.chain.listen({
      applied: (blocks, origin) => {
        const block = blocks.at(-1);
        if (origin !== 'synced' && block !== undefined) this.#send(block);
      },
    });
  }

  /** @param json the JSON of the block that the peer sent; not checked yet */
  async receive(peerId: PeerId, json: unknown): Promise<void> {
    const { chain, importer, clock, noteBlockTime, penalise, synchronizer } = this.#dependencies;
    const receivedMs = clock.nowMs();
    let block: Block;
    try {
      block = chain.rules.codec.blockFromJson(json);
    } catch (error) {
      if (!(error instanceof BlockRejected)) throw error;
      penalise(peerId, error.code, error.message);
      return;
    }
    if (this.#seenBlocks.has(block.id)) {
      noteBlockTime(peerId, block, receivedMs, 'known');
      return;
    }
    const { codec } = chain.rules;
    const headerDigest = digestOf(codec.headerToJson(block));
    if (this.#refusedHeaders.has(headerDigest)) return;
    // Encoding a large block takes time, so the node computes the digest of the whole block only if it needs the
    // digest.
    const blockDigest = (): string => digestOf(codec.blockToJson(block));
    if (this.#headersOfRefused.has(headerDigest) && this.#refusedBlocks.has(blockDigest())) return;
    const outcome = await importer.import(block);
    switch (outcome.kind) {
      case 'applied':
        this.#seenBlocks.set(block.id, true);
        noteBlockTime(peerId, block, receivedMs, 'imported');
        return;
      case 'ignored':
        this.#refusedHeaders.set(headerDigest, true);
        return;
      case 'refused':
        this.#rememberRefused(outcome.rejection.code, headerDigest, blockDigest);
        if (outcome.rejection.code === 'BLOCK_TIMESTAMP_INVALID' && isByClock(outcome.rejection))
          noteBlockTime(peerId, block, receivedMs, 'early');
        penalise(peerId, outcome.rejection.code, outcome.rejection.message);
        return;
      case 'betterChain':
        synchronizer.trigger(peerId, block);
    }
  }

  #rememberRefused(code: BlockRejectionCode, headerDigest: string, blockDigest: () => string): void {
    if (HEADER_REJECTIONS.has(code)) this.#refusedHeaders.set(headerDigest, true);
    else if (!CLOCK_DEPENDENT_REJECTIONS.has(code)) {
      this.#refusedBlocks.set(blockDigest(), true);
      this.#headersOfRefused.set(headerDigest, true);
    }
  }

  #send(block: Block): void {
    const { chain, gossipTargets, synchronizer } = this.#dependencies;
    this.#seenBlocks.set(block.id, true);
    if (synchronizer.syncing) return;
    this.#sender.send(chain.rules.codec.blockToJson(block), gossipTargets());
  }
}

function digestOf(json: JsonObject): string {
  return sha256Hex(utf8(JSON.stringify(json)));
}
