/** Which chain a command means: the network's folder and the data that a node of it keeps. */

import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { bloomeryHome, findNetworkDirectory, loadNetwork, type Network } from '../config/network.ts';
import { chainDirectory, type ChainPlace } from '../node/chain-tool.ts';
import { usageError } from './problems.ts';

export interface PlaceFlags {
  readonly network?: string;
  readonly dataDir?: string;
}

/** With all that the folder of the network says. */
export interface NetworkPlace extends ChainPlace {
  readonly network: Network;
}

/**
 * The chain of a network under a data folder, whether it is there already or not.
 *
 * @throws ProtocolError as `loadNetwork`
 */
export function placeOfNetwork(flags: PlaceFlags & { readonly network: string }): NetworkPlace {
  const home = bloomeryHome(process.env);
  const network = loadNetwork(findNetworkDirectory(flags.network, home));
  return { network, dataDirectory: join(flags.dataDir === undefined ? home : resolve(flags.dataDir), network.name) };
}

/**
 * The chain that is under a data folder. Without a network it must be the only one there.
 *
 * @throws ProtocolError `USAGE` when there is none or several, and as `loadNetwork`
 */
export function placeOfData(flags: PlaceFlags): NetworkPlace {
  if (flags.network !== undefined) {
    const place = placeOfNetwork({ ...flags, network: flags.network });
    if (existsSync(chainDirectory(place))) return place;
    throw usageError(`there is no chain of ${place.network.name} in ${place.dataDirectory}: correct --data-dir`);
  }
  const home = bloomeryHome(process.env);
  const folder = flags.dataDir === undefined ? home : resolve(flags.dataDir);
  // The folder of the network itself is as good as the one above it.
  const places = holdsChain(folder) ? [folder] : foldersIn(folder).filter(holdsChain);
  const [dataDirectory, other] = places;
  if (dataDirectory === undefined) throw usageError(`there is no chain in ${folder}: correct --data-dir`);
  if (other !== undefined) {
    const names = places.map((place) => basename(place)).join(', ');
    throw usageError(`there are several chains in ${folder} (${names}): choose one with --network`);
  }
  return { network: networkNear(dataDirectory, home), dataDirectory };
}

/** A devnet with settings of its own keeps its network's folder beside its nodes; others are found by their name. */
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
