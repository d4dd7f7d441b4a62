/** `bloomery backup`: copies the chain into a folder from which a node can be started. */

import { resolve } from 'node:path';
import { backUp } from '../../node/backup.ts';
import { locationOfData } from '../chain-location.ts';
import type { BackupFlags } from '../flags.ts';
import { printJson, printLine, report } from '../output.ts';
import { createStepProgress } from '../progress.ts';
import { removeTemporaryFilesAtStop } from '../stop-request.ts';

/**
 * @throws ProtocolError in the same cases as `locationOfData` and `backUp`
 */
export async function backup(folder: string, flags: BackupFlags): Promise<void> {
  removeTemporaryFilesAtStop();
  const location = locationOfData(flags);
  const progress = createStepProgress({ isQuiet: flags.json === true });
  const copied = backUp(location, resolve(folder), ({ step, fraction }) => progress.show(step, fraction));
  const { height, blockId, digest } = await copied.finally(() => progress.end());
  const { name } = location.network;
  report('the backup was made', () => {
    if (flags.json === true) printJson({ folder: resolve(folder), network: name, height, blockId, digest });
    else printLine(`${name}: backed up to ${folder}: height ${height}, block ${blockId}, digest ${digest}`);
  });
}
