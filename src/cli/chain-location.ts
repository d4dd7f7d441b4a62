/** Finds the network folder and the data folder of a chain from the flags of a command. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { bloomeryHome, findNetworkDirectory, loadNetwork, type Network } from '../config/network.ts';
import { chainDirectory, type ChainLocation } from '../node/chain-tool.ts';
import { journalFileOf } from '../node/journal-file.ts';
import { usageError } from './error-lines.ts';
import { printStderr } from './output.ts';

export interface LocationFlags {
  readonly network?: string;
  readonly dataDir?: string;
}

/** Location of a chain, with the content of its network folder. */
export interface NetworkChainLocation extends ChainLocation {
  readonly network: Network;
}

/**
 * Returns the folder that the option `--data-dir` names. Without this option, returns `home`. The returned folder
 * contains the data folders of chains, or is itself the data folder of one chain.
 *
 * @throws ProtocolError `USAGE` when `--data-dir` names a file, or a path below a file
 */
export function dataFolderOf(dataDir: string | undefined, home: string): string {
  if (dataDir === undefined) return home;
  const folder = resolve(dataDir);
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  if (statSync(existing).isDirectory()) return folder;
  throw usageError(`--data-dir ${dataDir}: ${existing} is a file, not a folder: choose another folder`);
}

/**
 * Returns the location of the chain for the network `flags.network`. The data folder of the chain is in the folder that
 * `--data-dir` names. Without this option, the data folder is in the folder that `bloomeryHome` returns. The chain need
 * not exist.
 *
 * @throws ProtocolError `USAGE` if the folder of `--data-dir` is itself the data folder of a chain; errors of
 *   `findNetworkDirectory`, `loadNetwork` and `dataFolderOf`
 */
export function locationOfNetwork(flags: LocationFlags & { readonly network: string }): NetworkChainLocation {
  const home = bloomeryHome(process.env);
  const network = loadNetwork(findNetworkDirectory(flags.network, home));
  const folder = dataFolderOf(flags.dataDir, home);
  const dataDirectory = join(folder, network.name);
  // Without this check, a command would begin a second chain or a second signing record inside the data folder of the
  // first chain.
  if (!existsSync(dataDirectory) && (holdsChain(folder) || existsSync(journalFileOf(folder))))
    throw usageError(`--data-dir ${folder} is itself the data folder of a chain: name its parent folder`);
  return { network, dataDirectory, onBackfill };
}

/**
 * Returns the location of an existing chain. The function searches in the folder that `--data-dir` names. Without this
 * option, the function searches in the folder that `bloomeryHome` returns. If `flags.network` is not set, the searched
 * folder must contain exactly one chain, or must itself be the data folder of a chain.
 *
 * @throws ProtocolError `USAGE` if the chain does not exist, or if the folder has several chains and `flags.network` is
 *   not set; otherwise the same errors as `locationOfNetwork`
 */
export function locationOfData(flags: LocationFlags): NetworkChainLocation {
  if (flags.network !== undefined) {
    const location = locationOfNetwork({ ...flags, network: flags.network });
    if (existsSync(chainDirectory(location))) return location;
    throw usageError(`there is no chain of ${location.network.name} in ${location.dataDirectory}: correct --data-dir`);
  }
  const home = bloomeryHome(process.env);
  const folder = dataFolderOf(flags.dataDir, home);
  const locations = holdsChain(folder) ? [folder] : foldersIn(folder).filter(holdsChain);
  const [dataDirectory, other] = locations;
  if (dataDirectory === undefined) throw usageError(`there is no chain in ${folder}: correct --data-dir`);
  if (other !== undefined) {
    const names = locations.map((location) => basename(location)).join(', ');
    throw usageError(`there are several chains in ${folder} (${names}): choose one with --network`);
  }
  return { network: networkNear(dataDirectory, home), dataDirectory, onBackfill };
}

/**
 * Tells the user why the command takes longer: the command first writes the index entries that an interrupted import or
 * sync did not write. The message goes to the standard error output, even if the user gives `--json`.
 */
function onBackfill(entries: number): void {
  printStderr(
    `The last process ended before all index entries were written: the entries of ${entries} blocks and transactions are written now.`,
  );
}

/**
 * Finds the network of a chain. The data folder of the chain has the name of the network. Some chains belong to a
 * devnet that is a fork, or that has its own block time or number of delegates. The network folder of such a devnet is
 * beside the folders of its nodes. For any other chain, `findNetworkDirectory` searches for a network folder with the
 * name of the data folder.
 */
function networkNear(dataDirectory: string, home: string): Network {
  const name = basename(dataDirectory);
  const nodeFolder = dirname(dataDirectory);
  const beside = [join(nodeFolder, 'network'), join(dirname(nodeFolder), 'network')];
  for (const directory of beside) {
    if (!existsSync(join(directory, 'network.json'))) continue;
    const network = loadNetwork(directory);
    if (network.name === name) return network;
  }
  return loadNetwork(findNetworkDirectory(name, home));
}

function holdsChain(dataDirectory: string): boolean {
  return existsSync(chainDirectory({ dataDirectory }));
}

function foldersIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
}
