/** `bloomery backup`: a copy of the chain that a node can be started on. */

import { resolve } from 'node:path';
import { backUp } from '../../node/backup.ts';
import { placeOfData } from '../chain-place.ts';
import type { BackupFlags } from '../flags.ts';

/** @throws ProtocolError as `placeOfData` and `backUp` */
export async function backup(folder: string, flags: BackupFlags): Promise<void> {
  const place = placeOfData(flags);
  const { height, blockId, digest } = await backUp(place, resolve(folder));
  process.stdout.write(
    flags.json === true
      ? `${JSON.stringify({ folder: resolve(folder), network: place.network.name, height, blockId, digest })}\n`
      : `${place.network.name}: backed up to ${folder}: height ${height}, block ${blockId}, digest ${digest}\n`,
  );
}
