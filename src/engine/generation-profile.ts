/**
 * Behaviour towards other nodes that depends on the generation, as data. This behaviour is not part of the rules of the
 * chain.
 */

export interface GenerationProfile {
  /**
   * The form in which a transaction is announced. Either its id is announced and peers ask for the transaction, or the
   * whole transaction is sent.
   */
  readonly transactionGossip: 'ids' | 'whole';
  /** Whether a peer can be asked for its tip. */
  readonly isTipAsked: boolean;
  /**
   * Whether a peer at our height may have a better chain. If the value is true, peers with another broadhash are
   * candidates for a sync, too. If they were not candidates, two parts of a network whose chains have equal length
   * would never join.
   */
  readonly rivalsAtOurHeight: boolean;
  /** Maximum of blocks in one answer. */
  readonly blocksPerAnswerMax: number;
  /** Maximum of bytes of the blocks in one answer, in the JSON of the codec. */
  readonly blocksAnswerBytesMax: number;
  /** Maximum of transactions of the pool, or of transactions with pending signatures, in one answer. */
  readonly sharedPerAnswerMax: number;
  /** Percent of connected peers that must have our tip before this node forges; 0 requires none. */
  readonly forgingConsensusMin: number;
}

/** The profile of generation 3; `node/generations.ts` has the differences of generation 2. */
export const DEFAULT_PROFILE: GenerationProfile = {
  transactionGossip: 'ids',
  isTipAsked: true,
  rivalsAtOurHeight: false,
  blocksPerAnswerMax: 34,
  // Peers close a connection on a frame above 3,048,576 bytes. The difference leaves room for the rest of the message.
  blocksAnswerBytesMax: 3_000_000,
  sharedPerAnswerMax: 25,
  forgingConsensusMin: 0,
};
