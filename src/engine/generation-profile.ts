/**
 * Describes, as data, the behaviour towards other nodes that depends on the generation. This behaviour is not part of
 * the rules of the chain.
 */

export interface GenerationProfile {
  /**
   * The form in which the node announces a transaction. With `ids`, it sends the id, and peers ask for the transaction.
   * With `whole`, it sends the whole transaction.
   */
  readonly transactionGossip: 'ids' | 'whole';
  /** Whether the protocol has a request for the tip of a peer. */
  readonly isTipAsked: boolean;
  /**
   * Whether a peer at our height may have a better chain. If the value is true, peers with another broadhash are
   * candidates for a sync, too. If they were not candidates, two parts of a network whose chains have equal length
   * would never join.
   */
  readonly rivalsAtOurHeight: boolean;
  /** Maximum of blocks in one answer to a peer. */
  readonly blocksPerAnswerMax: number;
  /** Maximum of bytes of the blocks in one answer to a peer, measured as JSON. */
  readonly blocksAnswerBytesMax: number;
  /** Maximum of transactions in one answer to a peer that asks for the pool or for pending signatures. */
  readonly sharedPerAnswerMax: number;
  /** Percent of connected peers that must have our tip before this node forges; 0 requires none. */
  readonly forgingConsensusMin: number;
}

/** The profile of generation 3. `node/generations.ts` lists the settings that generation 2 changes. */
export const DEFAULT_PROFILE: GenerationProfile = {
  transactionGossip: 'ids',
  isTipAsked: true,
  rivalsAtOurHeight: false,
  blocksPerAnswerMax: 34,
  // Peers close a connection that sends a frame of more than 3,048,576 bytes. The difference leaves room for the rest
  // of the message.
  blocksAnswerBytesMax: 3_000_000,
  sharedPerAnswerMax: 25,
  forgingConsensusMin: 0,
};
