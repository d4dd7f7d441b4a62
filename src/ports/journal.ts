/**
 * The signing journal: each header that a delegate signed here, written to disk before it is sent, and what is known of earlier
 * signatures.
 */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

/**
 * Evidence from outside the data folder about a delegate's last signature. `unknown`: there is none. `agrees`: the last
 * signature is in this journal. `later`: there is a later signature, so this journal is incomplete.
 */
export type OutsideEvidence = 'unknown' | 'agrees' | 'later';

export interface RecalledHeader {
  readonly last: SignedHeader;
  /** Id of block 2 of the chain for which the header was signed, as in `Watermark`. */
  readonly firstBlockId?: string;
}

export interface SigningJournal {
  /** The last header that the delegate signed on this node; undefined if there is none. */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /**
   * Chain time in whole seconds before which the delegate may have signed headers that are not in this journal; undefined if
   * the journal is complete.
   */
  heldSinceS(publicKey: PublicKey): number | undefined;
  /** Unix time in whole seconds at which the record of the delegate was handed to another node; undefined if it was not. */
  movedAtS(publicKey: PublicKey): number | undefined;
  outside(publicKey: PublicKey): OutsideEvidence;
  /**
   * The last header of a delegate from outside the data folder, if this journal has no header of the delegate; undefined if
   * there is none.
   */
  recalled(publicKey: PublicKey): RecalledHeader | undefined;
  /** Stores a header from outside as the delegate's last one. The header is on disk when this returns. */
  adopt(publicKey: PublicKey, header: SignedHeader): void;
  /** Stores a signed header. The header is on disk (flushed) when this returns. */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /** Stores that the delegate's signatures before a moment are unknown. The fact is on disk when this returns. */
  hold(publicKey: PublicKey, sinceS: number): void;
  close(): void;
}

/** A journal that consists of its file only, without watermarks outside of the data folder. */
export interface FolderJournal extends SigningJournal {
  /** All delegates in the journal. */
  delegates(): readonly PublicKey[];
  /** Whether the file is a copy of the file that was written, and so may be out of date. */
  readonly isCopied: boolean;
  /** Marks the file as the original from now on. The mark is on disk when this returns. */
  keepPlace(): void;
}

/** The last signature of a delegate, as it is kept outside of the data folder. */
export interface Watermark {
  readonly last?: SignedHeader;
  /** Unix time in whole seconds at which the record was handed to another node. */
  readonly movedAtS?: number;
  /**
   * Id of block 2 of the chain for which the header was signed. A network that was started again has the same name, but another
   * block 2.
   */
  readonly firstBlockId?: string;
}

/**
 * The last signature of each delegate of a network, kept outside of the data folder. So restoring an old folder does not
 * restore old watermarks. Watermarks are an addition to the journal, so these functions do not throw: an unreadable watermark
 * counts as unknown.
 */
export interface SigningWatermarks {
  read(publicKey: PublicKey): Watermark | undefined;
  write(publicKey: PublicKey, watermark: Watermark): void;
}
