/**
 * Creates the signing journal of an engine. By default, a delegate must not contradict the headers in two records: the
 * journal in the data folder, and the watermarks outside the data folder. With `riskDoubleForging`, the journal in the
 * data folder counts, but the watermarks do not.
 */

import type { FolderJournal, SigningJournal, SigningWatermarks } from '../../ports/journal.ts';
import type { SignedHeader } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';
import { WatermarkedJournal, watermarkOf, type WatermarkedJournalDependencies } from './watermarked-journal.ts';

/** @param riskDoubleForging if true, the node does not compare the journal with the watermarks */
export function createSigningJournal(
  riskDoubleForging: boolean,
  dependencies: WatermarkedJournalDependencies,
): SigningJournal {
  const { journal, watermarks, firstBlockId } = dependencies;
  if (riskDoubleForging) {
    // `recordFileIdentity` stores the identity (inode and birth time) of the journal file, with which a later start
    // detects a copy of the file. If the file is already a copy, its identity is not stored here. The file then still
    // counts as a copy when the node later runs without `riskDoubleForging`.
    if (!journal.isCopied) journal.recordFileIdentity();
    return journalIgnoringWatermarks(journal, watermarks, firstBlockId);
  }
  return new WatermarkedJournal(dependencies);
}

/**
 * Returns a journal that lets a delegate contradict its watermark. The journal still updates existing watermarks,
 * because the node needs them if it later runs without `riskDoubleForging`.
 *
 * @param firstBlockId returns the id of block 2 of the chain; undefined if the chain has no block 2
 */
export function journalIgnoringWatermarks(
  journal: FolderJournal,
  watermarks: SigningWatermarks | undefined,
  firstBlockId: () => string | undefined,
): SigningJournal {
  return {
    last: (publicKey) => journal.own(publicKey).last,
    heldSinceS: (publicKey) => journal.heldSinceS(publicKey),
    isCopyFor: (publicKey) => journal.isCopyFor(publicKey),
    movedAtS: (publicKey) => journal.own(publicKey).movedAtS,
    outside: (publicKey) => journal.outside(publicKey),
    recalled: (publicKey) => journal.recalled(publicKey),
    adopt: (publicKey, header) => journal.adopt(publicKey, header),
    record: (publicKey: PublicKey, header: SignedHeader) => {
      journal.record(publicKey, header);
      if (watermarks?.read(publicKey) !== undefined) watermarks.write(publicKey, watermarkOf(header, firstBlockId()));
    },
    hold: (publicKey, sinceS, isCopy, foreignS) => journal.hold(publicKey, sinceS, isCopy, foreignS),
    foreignS: (publicKey) => journal.foreignS(publicKey),
    close: () => journal.close(),
  };
}
