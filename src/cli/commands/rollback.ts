/** `bloomery rollback`: reverts blocks from the tip of a stopped node. */

import { chainDirectory, openChain } from '../../node/chain-tool.ts';
import type { ChainReader } from '../../ports/store.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { locationOfData, type NetworkChainLocation } from '../chain-location.ts';
import type { RollbackFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { printStderr, printJson, printLine, report } from '../output.ts';
import { confirmed } from '../wallet/secrets.ts';
import { withDamageReport } from '../damage-report.ts';

/**
 * @throws ProtocolError `USAGE` for a height above the tip or below the finalized height; `CANCELLED`; errors of
 *   `locationOfData`, `withDamageReport`, `openChain` (for example for a store in use), `confirmed` and
 *   `Chain.rollback`
 */
export function rollback(flags: RollbackFlags): Promise<void> {
  const location = locationOfData(flags);
  return withDamageReport(chainDirectory(location), () => rollbackAt(location, flags));
}

async function rollbackAt(location: NetworkChainLocation, flags: RollbackFlags): Promise<void> {
  const { chain, store, close } = await openChain(location, false);
  try {
    const { height } = chain.tip.header;
    if (flags.to > height) throw usageError(`--to ${flags.to} is above the tip: the chain ends at height ${height}`);
    if (flags.to < chain.finalizedHeight) {
      throw usageError(
        `--to ${flags.to} is below the finalized height ${chain.finalizedHeight}: blocks up to it are final`,
      );
    }
    await askBefore(flags, `${location.network.name}: ${whatGoes(store, flags.to, height)}`);
    await chain.rollback(flags.to);
    const { header } = chain.tip;
    const network = location.network.name;
    const removed = height - header.height;
    report('the blocks were removed', () => {
      if (flags.json === true)
        printJson({ network, removedBlocks: removed, height: header.height, blockId: header.id });
      else printLine(`${network}: ${countText(removed, 'block')} removed; height ${header.height}, block ${header.id}`);
    });
  } finally {
    await close();
  }
}

/**
 * Shows the blocks that will be reverted, and asks for confirmation. With `--yes`, the function does nothing.
 *
 * @throws ProtocolError `CANCELLED` if the user does not confirm; errors of `confirmed`
 */
async function askBefore({ yes }: RollbackFlags, what: string): Promise<void> {
  if (yes === true) return;
  printStderr(what);
  if (!(await confirmed('Remove them?'))) throw new ProtocolError('CANCELLED', {}, 'nothing was removed');
}

/** Describes the blocks that will be reverted: the heights of the blocks, and the number of their transactions. */
function whatGoes(chain: ChainReader, to: number, tip: number): string {
  let transactions = 0;
  for (let height = to + 1; height <= tip; height += 1) transactions += chain.block(height)?.numberOfTransactions ?? 0;
  const heights = tip === to ? '' : `, heights ${to + 1} to ${tip}`;
  return `${countText(tip - to, 'block')}${heights}, with ${countText(transactions, 'transaction')}`;
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
