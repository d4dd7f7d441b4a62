/** The behaviour between nodes of a generation that is no rule of its chain, as data. */

export interface GenerationProfile {
  /** The form in which a transaction is announced: its id, so that peers ask for it, or the whole transaction. */
  readonly transactionGossip: 'ids' | 'whole';
  /** Whether a peer can be asked for its tip. */
  readonly isTipAsked: boolean;
  /**
   * Whether a peer at our height may have a better chain. If so, peers with another broadhash are candidates for a sync, too.
   * Otherwise two parts of a network whose chains have equal length would never meet.
   */
  readonly rivalsAtOurHeight: boolean;
  /** Blocks of one answer. */
  readonly blocksPerAnswerMax: number;
  /** Bytes of the blocks of one answer, as the codec's JSON. */
  readonly blocksAnswerBytesMax: number;
  /** Pool transactions, and pending transactions' signatures, of one answer. */
  readonly sharedPerAnswerMax: number;
  /** Percent of connected peers that must be at our tip before anything is forged; 0 asks for none. */
  readonly forgingConsensusMin: number;
}

/** The profile of generation 3; `node/generations.ts` says what differs in generation 2. */
export const DEFAULT_PROFILE: GenerationProfile = {
  transactionGossip: 'ids',
  isTipAsked: true,
  rivalsAtOurHeight: false,
  blocksPerAnswerMax: 34,
  // Peers close a connection on a frame above 3,048,576 bytes; the rest is room for the envelope.
  blocksAnswerBytesMax: 3_000_000,
  sharedPerAnswerMax: 25,
  forgingConsensusMin: 0,
};
