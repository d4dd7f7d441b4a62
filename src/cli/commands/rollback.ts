/** `bloomery rollback`: takes blocks back from the tip of a node that does not run. */

import { chainDirectory, openChain, type ChainPlace } from '../../node/chain-tool.ts';
import { placeOfData } from '../chain-place.ts';
import type { RollbackFlags } from '../flags.ts';
import { usageError } from '../problems.ts';
import { printLine, report } from '../output.ts';
import { overStore } from '../over-store.ts';

/** @throws ProtocolError for a height above the tip or below the finalized one, and for a store in use */
export function rollback(flags: RollbackFlags): Promise<void> {
  const place = placeOfData(flags);
  return overStore(chainDirectory(place), () => rollbackAt(place, flags));
}

async function rollbackAt(place: ChainPlace, flags: RollbackFlags): Promise<void> {
  const { chain, close } = await openChain(place, false);
  try {
    const { height } = chain.tip.header;
    if (flags.to > height) throw usageError(`--to ${flags.to} is above the tip: the chain ends at height ${height}`);
    if (flags.to < chain.finalizedHeight) {
      throw usageError(
        `--to ${flags.to} is below the finalized height ${chain.finalizedHeight}: blocks up to it are final`,
      );
    }
    await chain.rollback(flags.to);
    const { header } = chain.tip;
    const took = `${height - header.height} blocks taken back`;
    report('the blocks were taken back', () =>
      printLine(`${place.network.name}: ${took}; height ${header.height}, block ${header.id}`),
    );
  } finally {
    await close();
  }
}
