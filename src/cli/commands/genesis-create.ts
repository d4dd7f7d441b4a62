/** `bloomery genesis create`: creates the folder of a new network. */

import { resolve } from 'node:path';
import { systemRandom } from '../../node/system.ts';
import { hexOf } from '../../primitives/bytes.ts';
import type { GenesisFlags } from '../flags.ts';
import { makeNetwork } from '../genesis/make-network.ts';
import { checkEmpty, checkNetworkName, writeNetworkFolder } from '../network-folder.ts';
import { printJson, printLine } from '../output.ts';

/** @throws ProtocolError in the same cases as `checkNetworkName`, `checkEmpty` and `writeNetworkFolder` */
export async function genesisCreate(flags: GenesisFlags): Promise<void> {
  const { generation, name, blockTime: blockTimeS, delegates } = flags;
  checkNetworkName(name);
  const out = resolve(flags.out);
  checkEmpty(out, 'choose another folder with --out');
  const seed = flags.seed ?? hexOf(systemRandom.bytes(32));
  const files = await makeNetwork({ generation, name, blockTimeS, delegates, seed });
  const { params } = writeNetworkFolder(out, files);
  if (flags.json === true) {
    const { genesisBlockId, nethash, networkIdentifier } = params;
    printJson({ folder: out, network: name, generation, genesisBlockId, nethash, networkIdentifier });
    return;
  }
  printLine(`${out}: network ${name}, genesis block ${params.genesisBlockId}, nethash ${params.nethash}`);
  printLine(`to run it, forging: bloomery devnet --network ${out}`);
}
