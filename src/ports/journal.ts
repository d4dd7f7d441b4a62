/** The signing journal: each header that a delegate signed here, on disk before it is sent, and facts of the time before. */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

/**
 * A delegate's last signature by a place outside of the data folder: none, the same as in this journal, or a later one, so that
 * this journal is not complete.
 */
export type OutsideEvidence = 'unknown' | 'agrees' | 'later';

export interface RecalledHeader {
  readonly last: SignedHeader;
  /** Id of block 2 of the chain that it was signed for, as `Watermark` has it. */
  readonly firstBlockId?: string;
}

export interface SigningJournal {
  /** The last header that the delegate signed on this node; undefined for none. */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /**
   * Chain time in whole seconds before which the delegate may have signed headers that this journal does not tell of;
   * undefined when it tells of all.
   */
  heldSinceS(publicKey: PublicKey): number | undefined;
  /** Unix time in whole seconds at which the record of the delegate was handed to another node; undefined if it was not. */
  movedAtS(publicKey: PublicKey): number | undefined;
  outside(publicKey: PublicKey): OutsideEvidence;
  /** What a place outside of the data folder tells of a delegate of which this journal holds no header; undefined for nothing. */
  recalled(publicKey: PublicKey): RecalledHeader | undefined;
  /** Takes a header from outside as the delegate's last one. On the disk when this returns. */
  adopt(publicKey: PublicKey, header: SignedHeader): void;
  /** Keeps a header. On the disk (flushed) when this returns. */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /** Notes that the signatures of the delegate before a moment are unknown. On the disk when this returns. */
  hold(publicKey: PublicKey, sinceS: number): void;
  close(): void;
}

/** A journal by its file alone, without the places outside of it. */
export interface FolderJournal extends SigningJournal {
  /** All delegates in the journal. */
  delegates(): readonly PublicKey[];
  /** Whether the file is a copy of the written one, and so may be out of date. */
  readonly isCopied: boolean;
  /** Makes the file count as the written one from now on. On the disk when this returns. */
  keepPlace(): void;
}

/** The last signature of a delegate, as a watermark keeps it. */
export interface Watermark {
  readonly last?: SignedHeader;
  /** Unix time in whole seconds at which the record was handed to another node. */
  readonly movedAtS?: number;
  /** Id of block 2 of the chain that it was signed for: a network that is begun anew has the same name and another one. */
  readonly firstBlockId?: string;
}

/**
 * The last signature of each delegate of a network, kept outside of the data folder, so that a restored folder does not restore
 * them. Watermarks add to the journal, so nothing here throws: a watermark that cannot be read counts as unknown.
 */
export interface SigningWatermarks {
  read(publicKey: PublicKey): Watermark | undefined;
  write(publicKey: PublicKey, watermark: Watermark): void;
}
