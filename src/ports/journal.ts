/** The signing journal: what each delegate signed here, on disk before it is sent, and what is known of the time before. */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

/**
 * What a place outside of the data folder tells of a delegate's last signature: nothing, the same as this journal, or that
 * something was signed later, so that this journal is not whole.
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
  /** Takes a header from outside for all that the delegate signed before. Durable when this returns. */
  adopt(publicKey: PublicKey, header: SignedHeader): void;
  /** Keeps a header. Durable (flushed to the disk) when this returns. */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /** Keeps that nothing certain is known of what the delegate signed before a moment. Durable when this returns. */
  hold(publicKey: PublicKey, sinceS: number): void;
  close(): void;
}

/** A journal as its file has it, before anything outside is asked. */
export interface FolderJournal extends SigningJournal {
  /** Every delegate that the journal tells something of. */
  delegates(): readonly PublicKey[];
  /** Whether the file is a copy of the one that was written: what it tells may be out of date. */
  readonly isCopied: boolean;
  /** From now on the file counts as the one that is written. Durable when this returns. */
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
 * The last signature of each delegate of a network, kept outside of the data folder: who puts a folder back to an earlier
 * state does not put them back. They add to what the journal knows, so nothing here throws: what cannot be read is unknown.
 */
export interface SigningWatermarks {
  read(publicKey: PublicKey): Watermark | undefined;
  write(publicKey: PublicKey, watermark: Watermark): void;
}
