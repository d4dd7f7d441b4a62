/** `bloomery verify`: applies all blocks of a chain store to an empty chain, and compares the result with the store. */

import { chainDirectory, clockOfChain, openIndexedSnapshot, openScratchChain } from '../../node/chain-tool.ts';
import { verifyChain } from '../../node/verify-chain.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { locationOfData, type NetworkChainLocation } from '../chain-location.ts';
import type { VerifyFlags } from '../flags.ts';
import { createProgress } from '../progress.ts';
import { printJson, printLine } from '../output.ts';
import { removeTemporaryFilesAtStop } from '../stop-request.ts';
import { withDamageReport } from '../damage-report.ts';

/**
 * @throws ProtocolError `STORE_DEVIATES` with the first deviation; errors of `locationOfData`, `withDamageReport`,
 *   `openIndexedSnapshot` and `openScratchChain`
 */
export function verify(flags: VerifyFlags): Promise<void> {
  removeTemporaryFilesAtStop();
  const location = locationOfData(flags);
  return withDamageReport(chainDirectory(location), () => verifyAt(location, flags));
}

async function verifyAt(location: NetworkChainLocation, flags: VerifyFlags): Promise<void> {
  const { store } = await openIndexedSnapshot(location);
  const progress = createProgress({ what: 'verifying', fromHeight: 1, isQuiet: flags.json === true });
  try {
    const scratch = await openScratchChain(location, clockOfChain(store, location.network.params));
    try {
      const tipHeight = store.tip()?.height ?? 0;
      const onProgress = (height: number): void => progress.show(height, height / tipHeight);
      const result = await verifyChain({ examined: store, scratch, onProgress });
      progress.end();
      const { deviation, height, blockId, digest, keys } = result;
      if (deviation !== undefined) {
        const remedy = 'restore the folder from a backup, or remove it and let the node download the chain again';
        throw new ProtocolError('STORE_DEVIATES', { height }, `${location.dataDirectory}: ${deviation}; ${remedy}`);
      }
      const network = location.network.name;
      if (flags.json === true) printJson({ network, keys, height, blockId, digest });
      else
        printLine(
          `${network}: ${height} blocks and ${keys} keys agree with the rules; ` +
            `height ${height}, block ${blockId}, digest ${digest}`,
        );
    } finally {
      await scratch.close();
    }
  } finally {
    progress.end();
    await store.close();
  }
}
