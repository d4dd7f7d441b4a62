/**
 * Defines the signing journal. For each delegate, the journal has the newest header that the delegate signed on this
 * node, and facts about signatures that the journal may lack. A header is on disk before the node sends it.
 */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

/**
 * Evidence from outside the data folder about the last signature of a delegate. `agrees`: the last signature is in this
 * journal. `later`: the delegate has signed after the last header of this journal, so the journal is incomplete.
 * `unknown`: there is no evidence, or the evidence is older than the last header of this journal.
 */
export type OutsideEvidence = 'unknown' | 'agrees' | 'later';

export interface RecalledHeader {
  readonly last: SignedHeader;
  /** Id of block 2 of the chain for which the header was signed; see `Watermark.firstBlockId`. */
  readonly firstBlockId?: string;
}

export interface SigningJournal {
  /**
   * The last header of the delegate in this journal. If the watermark of the delegate is newer, the header in the
   * watermark. Undefined if there is no such header, or if this journal has no entry of the delegate.
   */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /**
   * Chain time in whole seconds before which the delegate may have signed headers that are not in this journal.
   * Undefined or 0 if this journal lacks no header.
   */
  heldSinceS(publicKey: PublicKey): number | undefined;
  /**
   * Unix time in whole seconds at which the delegate was handed over to another node; undefined if the delegate was not
   * handed over.
   */
  movedAtS(publicKey: PublicKey): number | undefined;
  outside(publicKey: PublicKey): OutsideEvidence;
  /**
   * The delegate's last header from outside the data folder. Undefined if this journal has a header of the delegate, if
   * no header from outside is known, or if the delegate was handed over to another node.
   */
  recalled(publicKey: PublicKey): RecalledHeader | undefined;
  /**
   * Stores a header from outside the data folder as the delegate's last one, and marks the journal as complete for this
   * delegate. Both are on disk when this method returns.
   */
  adopt(publicKey: PublicKey, header: SignedHeader): void;
  /**
   * Stores a signed header. The header is on disk (flushed) when this method returns.
   *
   * @throws ProtocolError `SIGNED_ELSEWHERE` if another process of this machine has signed for the delegate
   */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /**
   * Stores that the delegate may have signed unknown headers before the chain time `sinceS`, in whole seconds. This
   * fact is on disk when the method returns.
   */
  hold(publicKey: PublicKey, sinceS: number): void;
  close(): void;
}

/** A journal that uses only its file, and not the watermarks outside of the data folder. */
export interface FolderJournal extends SigningJournal {
  /** All delegates in the journal. */
  delegates(): readonly PublicKey[];
  /** Whether the journal is a copy of the original file, and so may be out of date. */
  readonly isCopied: boolean;
  /** Marks this file as the original file. The mark is on disk when this method returns. */
  recordFileIdentity(): void;
}

/** The last signature of a delegate, as it is stored outside of the data folder. */
export interface Watermark {
  readonly last?: SignedHeader;
  /** Unix time in whole seconds at which the delegate was handed over to another node. */
  readonly movedAtS?: number;
  /**
   * Id of block 2, the first block after genesis, of the chain for which the header was signed. A network that is
   * started again from its genesis block has the same name but another block 2.
   */
  readonly firstBlockId?: string;
}

/**
 * The last signature of each delegate of a network, stored outside of the data folder. The watermarks therefore stay up
 * to date when somebody restores an old data folder. The node can work without watermarks, so these functions do not
 * throw. A watermark that cannot be read counts as unknown.
 */
export interface SigningWatermarks {
  read(publicKey: PublicKey): Watermark | undefined;
  write(publicKey: PublicKey, watermark: Watermark): void;
}
