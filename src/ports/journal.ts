/**
 * Defines the signing journal. For each delegate, the journal has the newest signed header that this node knows. The
 * journal can also have a chain time for the delegate (`heldSinceS`). It is possible that, before this time, the
 * delegate signed headers that the node does not know. A header is on disk before the node sends the block of the
 * header. Chain time is in whole seconds since the epoch of the network.
 */

import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';

/**
 * The result of comparing the delegate's last header in the journal (`SigningJournal.last`) with the delegate's
 * `Watermark`, which is stored outside the data folder. The result is one of these values:
 * - `agrees`: `last` returns the header in the watermark, and the watermark is not marked as a possible copy
 *   (`Watermark.isCopied`).
 * - `later`: There is a watermark, but `last` returns an older header or no header. In this case, the journal is
 *   incomplete.
 * - `unknown`: There is no watermark, the journal does not read watermarks, or the watermark is older than the header
 *   that `last` returns. The result is also `unknown` if `last` returns the header in the watermark, but the watermark
 *   is marked as a possible copy.
 */
export type OutsideEvidence = 'unknown' | 'agrees' | 'later';

export interface RecalledHeader {
  readonly last: SignedHeader;
  /** Id of block 2 of the chain for which the header was signed; see `Watermark.firstBlockId`. */
  readonly firstBlockId?: string;
}

/**
 * A signing journal. A method that writes throws ProtocolError `JOURNAL_WRITE_FAILED` if the write fails,
 * `JOURNAL_TAKEN_OVER` if this process has lost the lock of the journal, or `JOURNAL_CLOSED` after `close`.
 */
export interface SigningJournal {
  /**
   * Returns the last header of the delegate in this journal; undefined if the journal has no header of the delegate,
   * even if there is a watermark (see `recalled`). When a journal that reads watermarks is opened, a newer header in
   * the watermark is copied to the journal on two conditions: the journal already has a header of the delegate, and the
   * journal does not say that the delegate was handed over.
   */
  last(publicKey: PublicKey): SignedHeader | undefined;
  /**
   * Returns a chain time in whole seconds. It is possible that, before this time, the delegate signed headers that are
   * not in this journal. The result is undefined if the journal has no such time. If the header from `last` has a
   * timestamp at or after this time, the journal is complete for this delegate: the node assumes that the journal has
   * the newest header that the delegate signed. This is always the case if the result is 0 and `last` returns a header.
   * In some cases, the journal stores 0 when a wait of the delegate ends. During a wait, this node does not sign for
   * the delegate (see `hold`).
   */
  heldSinceS(publicKey: PublicKey): number | undefined;
  /**
   * Returns true if this journal's entries about the delegate are incomplete because they come from a copy. They come
   * from a copy in two cases: the journal was copied or restored, or an operator imported a file with a signing record
   * (`bloomery forging import`) that was a copy or possibly a copy. If the journal has no header of the delegate, the
   * watermark counts, too. In this case, the result is true if the watermark is marked as a possible copy
   * (`Watermark.isCopied`), says that the delegate was handed over, or is older than a block that another node signed
   * for the delegate. The result is also true if, when the journal was opened, the watermark had a header that another
   * process signed while this node was waiting (`hold`) before it signed for the delegate, because the other process
   * possibly continues to sign. If the result is true, it is possible that another node has the original entries, and
   * signs the delegate's next header. The result is false if the entries are complete. The result is also false if the
   * entries are incomplete for another reason, such as the first start of a delegate.
   */
  isCopyFor(publicKey: PublicKey): boolean;
  /**
   * Returns the Unix time in whole seconds at which the delegate was handed over to another node. The result is
   * undefined if the delegate was not handed over, or has returned to this node.
   */
  movedAtS(publicKey: PublicKey): number | undefined;
  outside(publicKey: PublicKey): OutsideEvidence;
  /**
   * Returns the header in the delegate's watermark. Returns undefined if this journal has a header of the delegate, or
   * if there is no watermark with a header. Also returns undefined if the watermark says that the delegate was handed
   * over to another node, or if the watermark is marked as a possible copy (`Watermark.isCopied`).
   */
  recalled(publicKey: PublicKey): RecalledHeader | undefined;
  /**
   * Stores the header of a watermark as the delegate's last header, and ends the wait of the delegate (`hold`). From
   * now on, the node assumes that the journal has the newest header that the delegate signed. Both changes are on disk
   * when this method returns.
   */
  adopt(publicKey: PublicKey, header: SignedHeader): void;
  /**
   * Stores a signed header. The header is on disk (flushed) when this method returns. If the delegate is waiting (see
   * `hold`), the wait ends, even if the wait began after the start of the header's slot.
   *
   * @throws ProtocolError `SIGNED_ELSEWHERE` if the delegate's watermark shows that another process of this machine has
   *   signed for the delegate, or has handed the delegate over. The method ignores each change of the watermark that
   *   happened before this journal was opened. It also ignores each change before the last call of `adopt` or `record`
   *   for the delegate. If the journal has no header of the delegate, the method also ignores each change before the
   *   last call of `hold` for the delegate. ProtocolError `JOURNAL_WRITE_FAILED`, `JOURNAL_TAKEN_OVER` or
   *   `JOURNAL_CLOSED` as described for `SigningJournal`
   */
  record(publicKey: PublicKey, header: SignedHeader): void;
  /**
   * Stores the chain time `sinceS` (in whole seconds). It is possible that, before this time, the delegate signed
   * headers that are not in this journal. Such a time can begin a wait of the delegate before the delegate's next
   * signature (`engine/forge/waits.ts`). The entry is on disk when the method returns.
   *
   * @param isCopy the result of `isCopyFor` from now on; false by default
   * @param foreignS the result of `foreignS` from now on; unchanged by default
   */
  hold(publicKey: PublicKey, sinceS: number, isCopy?: boolean, foreignS?: number): void;
  /**
   * Returns the timestamp that `hold` has stored for the newest block of the delegate that another node signed. The
   * result is undefined if `hold` has stored no such timestamp. The result is also undefined if, after the call of
   * `hold`, this node signed a header of the delegate with the same or a later timestamp. After an import of such a
   * header, the journal removes the timestamp only in some cases.
   */
  foreignS(publicKey: PublicKey): number | undefined;
  close(): void;
}

/** A journal that uses only its file, and not the watermarks outside of the data folder. */
export interface FolderJournal extends SigningJournal {
  /** Returns all delegates that have an entry in this journal. */
  delegates(): readonly PublicKey[];
  /**
   * True if it is possible that the journal file is a copy of another journal file, or that somebody restored an
   * earlier state of this file. In both cases, the journal can lack headers that a delegate signed after the copy or
   * the earlier state was made.
   */
  readonly isCopied: boolean;
  /**
   * Copies two values from the delegate's watermark (a record outside of the data folder) to the journal: the header,
   * and the time of the hand-over (`movedAtS`). The caller calls this method only if the watermark is newer than the
   * last header of the delegate in the journal. After this call, the methods `last` and `movedAtS` return these values.
   * The call does not change `heldSinceS`. If the delegate is waiting (this node does not sign for the delegate, see
   * `hold`), the wait therefore ends only if the timestamp of the copied header is at or after `heldSinceS`. The
   * entries are on disk when this method returns.
   */
  copyFrom(publicKey: PublicKey, watermark: Pick<Watermark, 'last' | 'movedAtS'>): void;
  /**
   * Returns the last header of the delegate and the time of the delegate's hand-over. The result leaves out each value
   * that came from a watermark (`copyFrom`, `adopt`).
   */
  own(publicKey: PublicKey): Pick<Watermark, 'last' | 'movedAtS'>;
  /**
   * Stores the identity (inode and birth time) of the journal file. With this identity, the node can detect at a later
   * start that the file is a copy. The identity is on disk when this method returns.
   */
  recordFileIdentity(): void;
}

/**
 * A record about one delegate, stored outside of the data folder. The record contains the newest signed header of the
 * delegate. If the delegate was handed over, the record also contains the time of the hand-over.
 */
export interface Watermark {
  readonly last?: SignedHeader;
  /** Unix time in whole seconds at which the delegate was handed over to another node. */
  readonly movedAtS?: number;
  /**
   * Id of block 2 (the first block after the genesis block) of the chain for which the header was signed. If a network
   * is started again from its genesis block, the new chain has the same network name, but another block 2.
   */
  readonly firstBlockId?: string;
  /**
   * True if it is possible that the stored watermark is a copy of another watermark, or that somebody restored an
   * earlier state of this watermark. Also true if the watermark was written with this mark. In these cases, it is
   * possible that the delegate has signed later headers.
   */
  readonly isCopied?: true;
}

/**
 * The watermarks of the delegates of a network. The watermarks stay up to date when somebody restores an old data
 * folder, because the watermarks are stored outside of this folder. The node can work without watermarks, so the
 * functions of this interface do not throw. If a watermark cannot be read, `read` returns undefined.
 */
export interface SigningWatermarks {
  read(publicKey: PublicKey): Watermark | undefined;
  write(publicKey: PublicKey, watermark: Watermark): void;
}
