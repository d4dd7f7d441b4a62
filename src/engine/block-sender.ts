/** Sends blocks to peers, and limits the rate of blocks to each peer. */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId, Transport } from '../ports/transport.ts';

/**
 * Maximum number of peers whose token bucket the node remembers. The number is larger than the number of connections
 * that the transport allows. The node therefore still remembers the bucket of a peer that reconnects soon, and sends
 * the peer no more blocks than the rate allows.
 */
const PEERS_MAX = 20_000;

export class BlockSender {
  readonly #clock: Clock;
  readonly #transport: Pick<Transport, 'send'>;
  readonly #rate: Sending;
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);

  constructor(clock: Clock, transport: Pick<Transport, 'send'>, rate: Sending) {
    this.#clock = clock;
    this.#transport = transport;
    this.#rate = rate;
  }

  /**
   * Sends the JSON of a block to each peer whose rate limit allows a further block. A peer usually reaches its limit
   * only if several rival blocks arrive within one slot, or if a devnet forges many blocks on request. While the limit
   * of a peer is reached, this node sends no block to the peer. The peer gets these blocks from other nodes.
   */
  send(block: unknown, peerIds: readonly PeerId[]): void {
    const nowMs = this.#clock.nowMs();
    for (const peerId of peerIds) {
      if (this.#bucket(peerId).take(nowMs)) this.#transport.send(peerId, { kind: 'block', block });
    }
  }

  #bucket(peerId: PeerId): TokenBucket {
    const bucket = this.#buckets.get(peerId) ?? new TokenBucket(this.#rate.burst, this.#rate.everyMs);
    this.#buckets.set(peerId, bucket);
    return bucket;
  }
}
