/** `bloomery import`: imports the blocks of a file. */

import { bloomeryHome, networkOfNethash } from '../../config/network.ts';
import { openChainFile } from '../../node/chain-file.ts';
import { openChain } from '../../node/chain-tool.ts';
import { importChain } from '../../node/import-chain.ts';
import { locationOfNetwork } from '../chain-location.ts';
import type { ImportFlags } from '../flags.ts';
import { EXIT } from '../error-lines.ts';
import { STOP_SIGNALS } from '../stop-request.ts';
import { createProgress } from '../progress.ts';
import { printStderr, printJson, printLine, report } from '../output.ts';

/**
 * @throws ProtocolError in the same cases as `locationOfNetwork`, `openChainFile`, `openChain` and `importChain`
 *   (`IMPORT_REFUSED` for the first refused block; the blocks before this block stay in the chain)
 */
export async function importCommand(name: string, flags: ImportFlags): Promise<void> {
  const location = locationOfNetwork(flags);
  const home = bloomeryHome(process.env);
  const file = openChainFile(name);
  const stop = new AbortController();
  const { chain, store, genesis, close } = await openChain(location, true);
  const onSignal = (): void => stop.abort();
  for (const signal of STOP_SIGNALS) process.once(signal, onSignal);
  const progress = createProgress({
    what: 'importing',
    fromHeight: chain.tip.header.height,
    isQuiet: flags.json === true,
  });
  try {
    const done = await importChain({
      chain,
      indexes: store,
      genesis,
      file,
      networks: { own: location.network.name, nameOf: ({ payloadHash }) => networkOfNethash(payloadHash, home) },
      signal: stop.signal,
      onProgress: ({ height }) => {
        progress.show(height, file.bytes === undefined ? undefined : file.bytesRead() / file.bytes);
      },
    });
    progress.end();
    const { header } = chain.tip;
    const took = `${done.blocks} blocks and ${done.transactions} transactions imported`;
    const { name: networkName } = location.network;
    const { height, id: blockId } = header;
    report('the imported blocks are kept', () => {
      const { blocks, transactions, wasStopped } = done;
      if (flags.json !== true) printLine(`${networkName}: ${took}; height ${height}, block ${blockId}`);
      else printJson({ network: networkName, blocks, transactions, height, blockId, isComplete: !wasStopped });
    });
    if (done.wasStopped) {
      printStderr('bloomery: the import was stopped; the same command continues it');
      process.exitCode = EXIT.failed;
    }
  } finally {
    progress.end();
    await close();
  }
}
