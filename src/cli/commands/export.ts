/** `bloomery export`: writes the chain to a file. */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { STANDARD_STREAM } from '../../node/chain-file.ts';
import { exportChain } from '../../node/export-chain.ts';
import { chainDirectory, openSnapshot } from '../../node/chain-tool.ts';
import { locationOfData, type NetworkChainLocation } from '../chain-location.ts';
import type { ExportFlags } from '../flags.ts';
import { checkNotOverwritten, checkOutside } from '../overwrite-check.ts';
import { usageError } from '../error-lines.ts';
import { createProgress } from '../progress.ts';
import { printDocuments, printJson, printLine } from '../output.ts';
import { withDamageReport } from '../damage-report.ts';
import { removeTemporaryFilesAtStop } from '../stop-request.ts';

/**
 * @throws ProtocolError `USAGE` for a range of heights outside the chain, and for `--json` without a file; errors of
 *   `locationOfData`, `checkNotOverwritten`, `checkOutside`, `openSnapshot`, `withDamageReport` and `exportChain`
 */
export async function exportCommand(file: string, flags: ExportFlags): Promise<void> {
  const location = locationOfData(flags);
  if (file !== STANDARD_STREAM) {
    checkNotOverwritten(file, flags);
    checkOutside(file, location.dataDirectory);
  } else if (flags.json === true) throw usageError('--json needs a file: the standard output has the blocks');
  return withDamageReport(chainDirectory(location), () => exportFrom(location, file, flags));
}

async function exportFrom(location: NetworkChainLocation, file: string, flags: ExportFlags): Promise<void> {
  const isToFile = file !== STANDARD_STREAM;
  // If the output is a file, and not a device or a pipe, the command first writes to a temporary file. If a signal
  // stops the command, the command must remove the temporary file.
  if (isToFile && (statSync(file, { throwIfNoEntry: false })?.isFile() ?? true)) removeTemporaryFilesAtStop();
  const { store, rules } = await openSnapshot(location);
  const progress = createProgress({
    what: 'exporting',
    fromHeight: (flags.from ?? 1) - 1,
    isQuiet: flags.json === true,
  });
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
    if (flags.json === true)
      printJson({ file: resolve(file), network: location.network.name, fromHeight: from, toHeight: to });
    else if (isToFile) printLine(`${file}: blocks ${from} to ${to}`);
  } finally {
    progress.end();
    await store.close();
  }
}
