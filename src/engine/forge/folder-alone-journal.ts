/**
 * Creates the signing journal of a node with `riskDoubleForging`. Only the journal in the data folder limits the
 * signatures of this node. The watermarks of earlier runs do not limit the signatures. The node still updates the
 * watermarks, because a later run may need them.
 */

import type { FolderJournal, SigningJournal, SigningWatermarks } from '../../ports/journal.ts';
import type { SignedHeader } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';
import { watermarkOf } from './watermarked-journal.ts';

/** @param firstBlockId returns the id of block 2 of the chain; undefined if the chain has no block 2 */
export function journalOfFolderAlone(
  journal: FolderJournal,
  watermarks: SigningWatermarks | undefined,
  firstBlockId: () => string | undefined,
): SigningJournal {
  if (watermarks === undefined) return journal;
  return {
    last: (publicKey) => journal.last(publicKey),
    heldSinceS: (publicKey) => journal.heldSinceS(publicKey),
    movedAtS: (publicKey) => journal.movedAtS(publicKey),
    outside: (publicKey) => journal.outside(publicKey),
    recalled: (publicKey) => journal.recalled(publicKey),
    adopt: (publicKey, header) => journal.adopt(publicKey, header),
    record: (publicKey: PublicKey, header: SignedHeader) => {
      journal.record(publicKey, header);
      if (watermarks.read(publicKey) !== undefined) watermarks.write(publicKey, watermarkOf(header, firstBlockId()));
    },
    hold: (publicKey, sinceS) => journal.hold(publicKey, sinceS),
    close: () => journal.close(),
  };
}
