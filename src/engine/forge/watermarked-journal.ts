/**
 * Combines the signing journal with the watermarks, which are stored outside the journal's folder. If somebody restored
 * the folder to an earlier state, the journal lacks the newest lines. In this case, the watermark of a delegate still
 * contains the last header that this delegate signed. A new header of the delegate must not contradict this last
 * header. If the journal has an older header of the delegate, the constructor therefore copies the last header from the
 * watermark to the journal. If the journal file is a copy, it is possible that the newest lines of a delegate are
 * missing. If no watermark shows whether these lines are missing, the delegate waits before it signs, as if there were
 * no journal.
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
    // Suppose that a delegate of the journal has a watermark, and that this watermark is not older than the delegate's
    // header in the journal. The node then assumes that all delegates of the journal sign on this machine. For each
    // signature, the node also writes a watermark. A delegate of the journal that has neither a watermark nor a header
    // in the journal has therefore signed nothing yet. Two kinds of watermarks do not justify the assumption. The first
    // kind has the mark `isCopied`: such a watermark is perhaps an old copy, and lacks the last signature. The second
    // kind belongs to a delegate that was handed over to another node (`movedAtS`).
    const isOfThisMachine = journal.delegates().some((delegate) => {
      const { isCopied, movedAtS } = watermarks?.read(delegate) ?? {};
      const isPresent = journal.last(delegate) !== undefined && this.outside(delegate) !== 'unknown';
      return isPresent && isCopied !== true && movedAtS === undefined;
    });
    for (const delegate of journal.delegates()) {
      const watermark = this.#readWatermark(delegate);
      if (journal.movedAtS(delegate) !== undefined) continue;
      const last = journal.last(delegate);
      // If the journal has no header of the delegate (`last` is undefined), the constructor copies nothing from the
      // watermark. `DoubleForgingGuard` later gets the header of the watermark from the method `recalled`, and decides
      // whether to copy this header to the journal.
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
      // A watermark with the mark `isCopied` was perhaps restored from a backup. If the backup also restored the data
      // folder, the journal and the watermark come from the same earlier state. Their equal headers then do not show
      // that the journal is complete.
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
    // `record` refuses a signature if the delegate's watermark differs from its text in `#seen`, because another
    // process has then written the watermark. If the journal has a header of the delegate, this method therefore does
    // not update `#seen`. After an update, `record` would not notice what the other process wrote before this call.
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
   * cases: the watermark says that the delegate was handed over to another node, or the watermark has the mark
   * `isCopied` (it is perhaps an old copy). The result is false if the journal already says that its record of the
   * delegate comes from a copy (`isCopyFor`).
   */
  #isSignedElsewhere(delegate: PublicKey, watermark: Watermark | undefined): boolean {
    if (this.#journal.last(delegate) !== undefined || this.#journal.isCopyFor(delegate)) return false;
    return watermark?.movedAtS !== undefined || watermark?.isCopied === true;
  }

  /**
   * Writes the start of a wait of the delegate to the journal, and marks the journal's record of the delegate as a copy
   * that perhaps lacks headers. The start of the wait is after the header `last`. If the journal already has a later
   * start of a wait, this later start stays.
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
 * Returns the start of the wait (`SigningJournal.hold`) of a delegate that has perhaps signed headers after `last`. A
 * wait has ended if the journal has a header of the delegate that is not older than the start of the wait. The header
 * `last` must not end the wait, so the result is after this header, even if the clock is behind.
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
 * name the same block, the watermark counts as newer only if it records that the delegate was handed over to another
 * node (`movedAtS`). The reason is that the delegate was handed over after it had signed this block.
 */
export function isLater({ last: marked, movedAtS }: Watermark, last: SignedHeader | undefined): boolean {
  if (marked === undefined) return movedAtS !== undefined && last === undefined;
  if (last === undefined || marked.timestamp > last.timestamp) return true;
  return movedAtS !== undefined && marked.blockId === last.blockId;
}

/**
 * Returns whether the wait of the delegate must begin again because the delegate has perhaps signed headers after the
 * header in the watermark. The result is false if the watermark does not have the mark `isCopied` (only a watermark
 * that is perhaps an old copy can lack headers). For a watermark with this mark, the result is true in two cases: the
 * journal file is perhaps a copy too, or the journal has no wait that starts after the header in the watermark.
 */
function mayBeOutdated(watermark: Watermark, journal: FolderJournal, delegate: PublicKey): boolean {
  if (watermark.isCopied !== true) return false;
  return journal.isCopied || (journal.heldSinceS(delegate) ?? 0) <= (watermark.last?.timestamp ?? 0);
}

/**
 * Returns whether another process has signed the header of the watermark. This is the case if three conditions hold:
 * the journal has the start of a wait of the delegate, the header of the watermark is not older than this start, and
 * all headers of the delegate in the journal are older than this start. If this node had signed the header of the
 * watermark, the journal would have this header, because the node writes each header to the journal before it writes
 * the watermark. It is possible that the other process continues to sign, so the header of the watermark does not end
 * the wait.
 */
function isOfOtherSigner({ last: marked }: Watermark, journal: FolderJournal, delegate: PublicKey): boolean {
  const heldSinceS = journal.heldSinceS(delegate);
  if (heldSinceS === undefined || marked === undefined || marked.timestamp < heldSinceS) return false;
  return heldSinceS > (journal.last(delegate)?.timestamp ?? -1);
}

function textOf({ last, movedAtS }: Watermark): string {
  return `${last?.blockId ?? ''} ${movedAtS ?? ''}`;
}
