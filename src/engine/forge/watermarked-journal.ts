/**
 * Combines the signing journal with the watermarks, which are stored outside the journal's folder. If somebody restored
 * the folder to an earlier state, the journal lacks the newest lines. In this case, the watermark of a delegate still
 * contains the last header that this delegate signed. A new header of the delegate must not contradict this last
 * header, so the constructor copies it to the journal. If the journal file is a copy, it is possible that the newest
 * lines of a delegate are missing. If no watermark shows whether these lines are missing, the delegate waits before it
 * signs, as if there were no journal.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type {
  FolderJournal,
  OutsideEvidence,
  RecalledHeader,
  SigningJournal,
  SigningWatermarks,
  Watermark,
} from '../../ports/journal.ts';
import type { Observer } from '../../ports/observer.ts';
import type { SignedHeader } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';

export interface WatermarkedJournalDependencies {
  readonly journal: FolderJournal;
  /** The watermarks; undefined if the node has no folder for watermarks. */
  readonly watermarks: SigningWatermarks | undefined;
  readonly observer: Observer;
  /** Chain time, in whole seconds, at which the object is created. */
  readonly nowS: number;
  /** Returns the id of block 2 of the chain; undefined if the chain has no block 2. */
  readonly firstBlockId: () => string | undefined;
}

const FIRST_FORGED_HEIGHT = 2;

export class WatermarkedJournal implements SigningJournal {
  readonly #journal: FolderJournal;
  readonly #watermarks: SigningWatermarks | undefined;
  readonly #firstBlockId: () => string | undefined;
  /**
   * For each delegate, the text (`textOf`) of its watermark when this object last stored the text. The constructor,
   * `adopt` and `record` store the text. `hold` stores the text only if the journal has no header of the delegate. The
   * text is empty if there was no watermark. If the watermark now has another text, another process has written it.
   */
  readonly #seen = new Map<PublicKey, string>();

  constructor({ journal, watermarks, observer, nowS, firstBlockId }: WatermarkedJournalDependencies) {
    this.#journal = journal;
    this.#firstBlockId = firstBlockId;
    this.#watermarks = watermarks;
    // If the watermark of a delegate of the journal is up to date, the delegates of the journal sign on this machine. A
    // delegate without a watermark and without a header in the journal has then signed nothing. Two kinds of watermarks
    // do not prove this: a copied watermark, because the copied folder is perhaps older than the last signature, and
    // the watermark of a delegate that has left this machine.
    const isOfThisMachine = journal.delegates().some((delegate) => {
      const { isCopied, movedAtS } = watermarks?.read(delegate) ?? {};
      const isPresent = journal.last(delegate) !== undefined && this.outside(delegate) !== 'unknown';
      return isPresent && isCopied !== true && movedAtS === undefined;
    });
    for (const delegate of journal.delegates()) {
      const watermark = this.#readWatermark(delegate);
      if (journal.movedAtS(delegate) !== undefined) continue;
      const last = journal.last(delegate);
      // If the journal has no header of the delegate, `recalled` returns the header of the watermark.
      if (watermark !== undefined && last !== undefined && isLater(watermark, last))
        this.#restore(delegate, watermark, observer, nowS);
      else if (
        this.#isSignedElsewhere(delegate, watermark) ||
        (journal.isCopied && this.outside(delegate) === 'unknown' && !(isOfThisMachine && last === undefined))
      ) {
        this.#holdAnew(delegate, nowS, last ?? watermark?.last);
        const message = 'the signing journal is a copy or may lack signatures: the node waits as if it had no journal';
        observer.log('warn', 'FORGING_FOLDER_COPIED', message, { delegate });
      }
    }
    journal.recordFileIdentity();
  }

  last(publicKey: PublicKey): SignedHeader | undefined {
    return this.#journal.last(publicKey);
  }

  heldSinceS(publicKey: PublicKey): number | undefined {
    return this.#journal.heldSinceS(publicKey);
  }

  movedAtS(publicKey: PublicKey): number | undefined {
    return this.#journal.movedAtS(publicKey);
  }

  isCopyFor(publicKey: PublicKey): boolean {
    return this.#journal.isCopyFor(publicKey);
  }

  outside(publicKey: PublicKey): OutsideEvidence {
    const watermark = this.#watermarks?.read(publicKey);
    if (watermark === undefined) return 'unknown';
    const last = this.last(publicKey);
    if (last !== undefined && watermark.last?.blockId === last.blockId) {
      // A backup that contains both the data folder and the watermarks restores both to the same earlier state, so a
      // copied watermark proves nothing here.
      return watermark.isCopied === true ? 'unknown' : 'agrees';
    }
    return isLater(watermark, last) ? 'later' : 'unknown';
  }

  recalled(publicKey: PublicKey): RecalledHeader | undefined {
    if (this.#journal.last(publicKey) !== undefined) return undefined;
    const { last, movedAtS, firstBlockId, isCopied } = this.#watermarks?.read(publicKey) ?? {};
    if (last === undefined || movedAtS !== undefined || isCopied === true) return undefined;
    return { last, ...(firstBlockId === undefined ? {} : { firstBlockId }) };
  }

  adopt(publicKey: PublicKey, header: SignedHeader): void {
    this.#journal.adopt(publicKey, header);
    this.#readWatermark(publicKey);
  }

  /** @throws ProtocolError as in `SigningJournal.record` */
  record(publicKey: PublicKey, header: SignedHeader): void {
    this.#refuseOtherSigner(publicKey);
    this.#journal.record(publicKey, header);
    this.#watermarks?.write(publicKey, watermarkOf(header, this.#firstBlockId()));
    this.#readWatermark(publicKey);
  }

  foreignS(publicKey: PublicKey): number | undefined {
    return this.#journal.foreignS(publicKey);
  }

  hold(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS?: number): void {
    // If the journal has a header, this method does not change `#seen`: if another process has signed since the last
    // read, `record` must still refuse the next signature.
    const isFirst = this.#journal.last(publicKey) === undefined;
    const watermark = isFirst ? this.#readWatermark(publicKey) : this.#watermarks?.read(publicKey);
    const isElsewhere = this.#isSignedElsewhere(publicKey, watermark);
    const beginS = isElsewhere ? holdAfter(watermark?.last, sinceS) : sinceS;
    this.#journal.hold(publicKey, beginS, isCopy || isElsewhere, foreignS);
  }

  close(): void {
    this.#journal.close();
  }

  /** Copies a watermark that is newer than the last header of the delegate to the journal. */
  #restore(delegate: PublicKey, watermark: Watermark, observer: Observer, nowS: number): void {
    const fields = {
      delegate,
      journalHeight: this.#journal.last(delegate)?.height,
      signedHeight: watermark.last?.height,
    };
    const isDoubtful =
      mayBeOutdated(watermark, this.#journal, delegate) || isOfOtherSigner(watermark, this.#journal, delegate);
    // The wait must be on the disk before the header. Without the wait, the header would count as the last header of
    // the delegate.
    if (isDoubtful) this.#holdAnew(delegate, nowS, watermark.last);
    this.#journal.copyFrom(delegate, watermark);
    const message = 'the data folder is older than the last signature: the node uses the watermark';
    observer.log('warn', 'FORGING_FOLDER_RESTORED', message, fields);
  }

  /**
   * Whether a delegate without a header in the journal has perhaps signed on another machine. This is possible in two
   * cases: the watermark says that the delegate was handed over, or the watermark is a copy. The result is false if the
   * journal already counts as a copy for the delegate (`isCopyFor`).
   */
  #isSignedElsewhere(delegate: PublicKey, watermark: Watermark | undefined): boolean {
    if (this.#journal.last(delegate) !== undefined || this.#journal.isCopyFor(delegate)) return false;
    return watermark?.movedAtS !== undefined || watermark?.isCopied === true;
  }

  /**
   * Begins a wait of the delegate, as for a copied record. The start of the wait is after the header `last`. If the
   * journal already has a later begin, this later begin stays.
   */
  #holdAnew(delegate: PublicKey, nowS: number, last = this.last(delegate)): void {
    const heldSinceS = this.#journal.heldSinceS(delegate) ?? 0;
    this.#journal.hold(delegate, Math.max(holdAfter(last, nowS), heldSinceS), true);
  }

  #refuseOtherSigner(publicKey: PublicKey): void {
    const seen = this.#seen.get(publicKey);
    const watermark = this.#watermarks?.read(publicKey);
    if (seen === undefined || watermark === undefined || textOf(watermark) === seen) return;
    if (!isLater(watermark, this.last(publicKey))) return;
    const height = watermark.last?.height;
    const what =
      watermark.movedAtS === undefined
        ? `another process of this machine signed block ${height ?? '?'} for the delegate`
        : `the signing record of the delegate was exported at ${new Date(watermark.movedAtS * 1000).toISOString()}`;
    const message = `${what}: switch the delegate on in one place only, then start this node again`;
    throw new ProtocolError('SIGNED_ELSEWHERE', { delegate: publicKey, height }, message);
  }

  #readWatermark(publicKey: PublicKey): Watermark | undefined {
    const watermark = this.#watermarks?.read(publicKey);
    this.#seen.set(publicKey, watermark === undefined ? '' : textOf(watermark));
    return watermark;
  }
}

/**
 * Returns the start of the wait (`SigningJournal.hold`) of a delegate that has perhaps signed headers after `last`. If
 * the start were not later than the header `last`, the wait would end immediately. The result is therefore after this
 * header, even if the clock is behind.
 *
 * @param nowS present chain time in whole seconds
 */
export function holdAfter(last: SignedHeader | undefined, nowS: number): number {
  return last === undefined ? nowS : Math.max(nowS, last.timestamp + 1);
}

/** Returns the watermark to write after a delegate has signed a header. */
export function watermarkOf(header: SignedHeader, firstBlockId: string | undefined): Watermark {
  const first = header.height === FIRST_FORGED_HEIGHT ? header.blockId : firstBlockId;
  return { last: header, ...(first === undefined ? {} : { firstBlockId: first }) };
}

/**
 * Returns whether a watermark is newer than the delegate's last header in the journal. If the watermark and the journal
 * name the same block, the watermark counts as newer only if it records a hand-over of the delegate (`movedAtS`),
 * because the hand-over came after the signature.
 */
export function isLater({ last: marked, movedAtS }: Watermark, last: SignedHeader | undefined): boolean {
  if (marked === undefined) return movedAtS !== undefined && last === undefined;
  if (last === undefined || marked.timestamp > last.timestamp) return true;
  return movedAtS !== undefined && marked.blockId === last.blockId;
}

/**
 * Returns whether the delegate has perhaps signed a header later than the watermark, and its wait must begin again.
 * This is possible only if the watermark is a copy. If the journal has a wait that has begun after the header of the
 * watermark, this wait need not begin again. There is one exception: if the journal itself is a copy, the wait must
 * begin again.
 */
function mayBeOutdated(watermark: Watermark, journal: FolderJournal, delegate: PublicKey): boolean {
  if (watermark.isCopied !== true) return false;
  return journal.isCopied || (journal.heldSinceS(delegate) ?? 0) <= (watermark.last?.timestamp ?? 0);
}

/**
 * Returns whether another process has signed the header of the watermark. This is the case if three conditions hold:
 * the journal says that the delegate waits, the header of the watermark is not older than the start of the wait, and
 * the journal has no such header. If this node had signed the header, the journal would have it, because the node
 * writes each header to the journal before it writes the watermark. It is possible that the other process continues to
 * sign, so the header of the watermark does not end the wait.
 */
function isOfOtherSigner({ last: marked }: Watermark, journal: FolderJournal, delegate: PublicKey): boolean {
  const heldSinceS = journal.heldSinceS(delegate);
  if (heldSinceS === undefined || marked === undefined || marked.timestamp < heldSinceS) return false;
  return heldSinceS > (journal.last(delegate)?.timestamp ?? -1);
}

function textOf({ last, movedAtS }: Watermark): string {
  return `${last?.blockId ?? ''} ${movedAtS ?? ''}`;
}
