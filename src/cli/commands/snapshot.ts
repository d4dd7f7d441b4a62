/**
 * `bloomery snapshot create` writes a chain with its state to one file. `bloomery snapshot restore` creates a chain
 * from such a file.
 */

import { resolve } from 'node:path';
import { createSnapshot, restoreSnapshot } from '../../node/backup.ts';
import { locationOfData, locationOfNetwork } from '../chain-location.ts';
import type { SnapshotCreateFlags, SnapshotRestoreFlags } from '../flags.ts';
import { checkNotOverwritten, checkOutside } from '../overwrite-check.ts';
import { createProgress, createStepProgress } from '../progress.ts';
import { printJson, printLine, report } from '../output.ts';
import { removeTemporaryFilesAtStop } from '../stop-request.ts';

/** @throws ProtocolError like `locationOfData`, `checkNotOverwritten`, `checkOutside` and `createSnapshot` */
export async function snapshotCreate(file: string, flags: SnapshotCreateFlags): Promise<void> {
  removeTemporaryFilesAtStop();
  const location = locationOfData(flags);
  checkNotOverwritten(file, flags);
  checkOutside(file, location.dataDirectory);
  const progress = createStepProgress({ isQuiet: flags.json === true });
  const copied = createSnapshot(location, resolve(file), ({ step, fraction }) => progress.show(step, fraction));
  const { height, blockId, digest } = await copied.finally(() => progress.end());
  const network = location.network.name;
  report('the snapshot was written', () => {
    if (flags.json === true) printJson({ file: resolve(file), network, height, blockId, digest });
    else printLine(`${file}: ${network}, height ${height}, block ${blockId}, digest ${digest}`);
  });
}

/**
 * @throws ProtocolError in the same cases as `locationOfNetwork` and `restoreSnapshot`
 */
export async function snapshotRestore(file: string, flags: SnapshotRestoreFlags): Promise<void> {
  removeTemporaryFilesAtStop();
  const location = locationOfNetwork(flags);
  const progress = createProgress({ what: 'verifying', fromHeight: 1, isQuiet: flags.json === true });
  try {
    const { height, blockId, digest } = await restoreSnapshot(resolve(file), location, {
      ...(flags.trustDigest === undefined ? {} : { trustedDigest: flags.trustDigest.toLowerCase() }),
      onProgress: (at, tipHeight) => progress.show(at, at / tipHeight),
    });
    progress.end();
    const isVerified = flags.trustDigest === undefined;
    const how = isVerified ? 'every block verified' : 'its state has the trusted digest';
    const network = location.network.name;
    report('the chain was restored', () => {
      if (flags.json === true) printJson({ network, isVerified, height, blockId, digest });
      else printLine(`${network}: restored, ${how}; height ${height}, block ${blockId}, digest ${digest}`);
    });
  } finally {
    progress.end();
  }
}
