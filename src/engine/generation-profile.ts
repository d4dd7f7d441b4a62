/** How the nodes of a generation deal with one another, as data: what the rules of its chain do not say. */

export interface GenerationProfile {
  /** Announces a transaction by its id, so that peers ask for it, or sends all of it. */
  readonly transactionGossip: 'ids' | 'whole';
  /** Whether a peer can be asked for its tip. */
  readonly isTipAsked: boolean;
  /**
   * Whether a peer at our height may have the chain to be preferred. Where it may, peers that go by another broadhash are
   * looked at as well, or two parts of a network with chains of one length would never meet.
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
