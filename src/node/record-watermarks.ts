/** Changes the watermarks (`watermark-files.ts`) of the delegates whose signing record is exported or imported. */

import type { JournalFile } from './journal-file.ts';
import type { SigningRecord } from './signing-record.ts';
import type { WatermarkFiles } from './watermark-files.ts';

/**
 * Updates the existing watermarks of the record's delegates. The function makes no watermark for a delegate that has
 * none on this machine. A watermark also says whether the record of the delegate has left this machine, so an export or
 * an import changes the watermark. The function does not change a watermark whose header is newer than the delegate's
 * last header in the journal.
 *
 * @param movedAtS Unix time in whole seconds when the record left this machine; absent for an import
 */
export function markAll(
  journal: JournalFile,
  { delegates }: SigningRecord,
  watermarks: WatermarkFiles | undefined,
  movedAtS?: number,
): void {
  for (const { publicKey } of delegates) {
    const existing = watermarks?.read(publicKey);
    const last = journal.last(publicKey);
    if (existing === undefined || (existing.last?.timestamp ?? 0) > (last?.timestamp ?? 0)) continue;
    const { movedAtS: _, ...before } = existing;
    watermarks?.write(publicKey, {
      ...before,
      ...(last === undefined ? {} : { last }),
      ...(movedAtS === undefined ? {} : { movedAtS }),
    });
  }
}

/**
 * Forgets that the delegates of an imported copy have left this machine. The function removes a watermark with this mark:
 * without the mark, the watermark would prove that the journal is complete, and a copy proves the opposite. If the
 * watermark has a newer header than the journal, only the mark is removed, because the delegate must not contradict this
 * header.
 */
export function forgetMoves(
  journal: JournalFile,
  { delegates }: SigningRecord,
  watermarks: WatermarkFiles | undefined,
): void {
  for (const { publicKey } of delegates) {
    const existing = watermarks?.read(publicKey);
    const isNewer = (existing?.last?.timestamp ?? 0) > (journal.last(publicKey)?.timestamp ?? 0);
    if (existing?.movedAtS === undefined) continue;
    if (!isNewer) watermarks?.forget(publicKey);
    else {
      const { movedAtS: _, ...header } = existing;
      watermarks?.write(publicKey, header);
    }
  }
}
