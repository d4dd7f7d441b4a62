/** Changes the watermarks (`watermark-files.ts`) of the delegates whose signing record is exported or imported. */

import type { JournalFile } from './journal-file.ts';
import type { SigningRecord } from './signing-record.ts';
import type { WatermarkFiles } from './watermark-files.ts';

/**
 * Updates the existing watermarks of the record's delegates. The function makes no watermark for a delegate that has no
 * watermark on this machine. A watermark also states whether the record of the delegate has left this machine.
 * Therefore an export or an import changes the watermark. The function does not change a watermark whose header is
 * newer than the delegate's last header in the journal.
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
 * Changes the existing watermarks of the delegates of an imported copy. Each watermark gets the newest header that the
 * journal or the watermark has. The watermark then no longer says that the delegate has left this machine, and counts
 * as a copy (`Watermark.isCopied`). If the watermark counted as an original, the nodes of this machine would conclude
 * that nobody has signed a later header. But the import of a copy shows that another node has possibly signed a later
 * header. The function does not remove the watermark, because these nodes would then not learn of the header in the
 * watermark. The next signature of the delegate makes the watermark an original again.
 */
export function distrustAll(
  journal: JournalFile,
  { delegates }: SigningRecord,
  watermarks: WatermarkFiles | undefined,
): void {
  for (const { publicKey } of delegates) {
    const existing = watermarks?.read(publicKey);
    if (existing === undefined) continue;
    const { movedAtS: _, ...before } = existing;
    const last = journal.last(publicKey);
    const isOlder = last !== undefined && (existing.last?.timestamp ?? -1) < last.timestamp;
    watermarks?.write(publicKey, { ...before, ...(isOlder ? { last } : {}), isCopied: true });
  }
}
