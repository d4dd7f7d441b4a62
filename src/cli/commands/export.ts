/** `bloomery export`: writes the chain to a file. */

import { STANDARD_STREAM } from '../../node/chain-file.ts';
import { exportChain } from '../../node/export-chain.ts';
import { chainDirectory, openSnapshot, type ChainPlace } from '../../node/chain-tool.ts';
import { placeOfData } from '../chain-place.ts';
import type { ExportFlags } from '../flags.ts';
import { checkNotReplaced } from '../given-file.ts';
import { usageError } from '../problems.ts';
import { createProgress } from '../progress.ts';
import { printDocuments, printLine } from '../output.ts';
import { overStore } from '../over-store.ts';

/**
 * @throws ProtocolError for a range outside the chain, an unreadable store or an unwritable file
 */
export async function exportCommand(file: string, flags: ExportFlags): Promise<void> {
  const place = placeOfData(flags);
  if (file !== STANDARD_STREAM) checkNotReplaced(file, flags);
  return overStore(chainDirectory(place), () => exportFrom(place, file, flags));
}

async function exportFrom(place: ChainPlace, file: string, flags: ExportFlags): Promise<void> {
  const isToFile = file !== STANDARD_STREAM;
  const { store, rules } = await openSnapshot(place);
  const progress = createProgress({ what: 'exporting', fromHeight: (flags.from ?? 1) - 1 });
  try {
    const tipHeight = store.tip()?.height ?? 0;
    const { from = 1, to = tipHeight } = flags;
    if (to > tipHeight) throw usageError(`--to ${to} is above the tip: the chain ends at height ${tipHeight}`);
    if (from > to) throw usageError(`--from ${from} is above the last height of ${to}`);
    const onProgress = (height: number): void => progress.show(height, (height - from + 1) / (to - from + 1));
    await exportChain({
      chain: store,
      codec: rules.codec,
      from,
      to,
      file: isToFile ? file : printDocuments,
      onProgress,
    });
    progress.end();
    if (isToFile) printLine(`${file}: blocks ${from} to ${to}`);
  } finally {
    progress.end();
    await store.close();
  }
}
