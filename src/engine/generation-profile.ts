/**
 * Defines settings of a protocol generation that are not rules of the chain. The settings control how the node behaves
 * towards other nodes, and when the node forges.
 */

export interface GenerationProfile {
  /**
   * The form in which the node announces a transaction. With `ids`, the node sends the id, and peers ask for the
   * transaction. With `whole`, the node sends the whole transaction.
   */
  readonly transactionGossip: 'ids' | 'whole';
  /**
   * True if the protocol has a request with which the node can ask a peer for the peer's tip. If false, the node uses
   * the tip that the peer last announced.
   */
  readonly isTipAsked: boolean;
  /**
   * If true, the node also synchronises with peers that have our height but another broadhash (a hash of the ids of the
   * last five blocks), as long as no peer announces a better tip than ours. Without this setting, a network of
   * generation 2 could stay split into two parts with chains of equal length. In both parts, the consensus can be too
   * low for forging, so neither chain grows.
   */
  readonly rivalsAtOurHeight: boolean;
  /** Maximum number of blocks in one answer to a peer. */
  readonly blocksPerAnswerMax: number;
  /**
   * Maximum total size of the blocks in one answer to a peer, in bytes of JSON. If the first block alone is larger than
   * this maximum, the answer has only this block.
   */
  readonly blocksAnswerBytesMax: number;
  /**
   * Maximum number of transactions in one answer to a peer that asks for the transactions in the pool, or for the
   * members' signatures of pending transactions.
   */
  readonly sharedPerAnswerMax: number;
  /**
   * The node forges only if at least this percentage of peers have our tip; 0 for no minimum. The node computes two
   * percentages: one among all connected peers, and one among only the peers that this node dialled or that the
   * operator named. It is enough that one of the two percentages reaches the minimum.
   */
  readonly forgingConsensusMin: number;
}

/**
 * The profile of generation 3. `node/generations.ts` lists the settings in which generation 2 differs. In both
 * generations, the option `forging.consensusMin` overrides `forgingConsensusMin`.
 */
export const DEFAULT_PROFILE: GenerationProfile = {
  transactionGossip: 'ids',
  isTipAsked: true,
  rivalsAtOurHeight: false,
  blocksPerAnswerMax: 34,
  // A peer closes the connection if this node sends the peer a frame of more than 3,048,576 bytes. The maximum for the
  // blocks is smaller, because the frame also contains the other parts of the message.
  blocksAnswerBytesMax: 3_000_000,
  sharedPerAnswerMax: 25,
  forgingConsensusMin: 0,
};
