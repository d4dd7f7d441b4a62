/** The source of a forked devnet: a chain in a data folder, or a file of `bloomery snapshot create`. */

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { bloomeryHome, findNetworkDirectory, loadNetwork, type Network } from '../../../config/network.ts';
import { readSnapshotManifest } from '../../../node/backup.ts';
import { locationOfData } from '../../chain-location.ts';
import { writeNetworkFolder } from '../../network-folder.ts';
import { usageError } from '../../error-lines.ts';

export interface ForkSource {
  /** Absolute path of the source. */
  readonly path: string;
  /** The original network of the chain. */
  readonly network: Network;
  readonly chain:
    { readonly kind: 'folder'; readonly dataDirectory: string } | { readonly kind: 'snapshot'; readonly file: string };
}

/** Maximum length of a community identifier, in characters. */
const COMMUNITY_IDENTIFIER_LENGTH_MAX = 64;
const SUFFIX = '-fork';

/**
 * @param path the data folder of a chain, a folder that contains data folders of chains, or a snapshot file
 * @param network name or folder of the network; if undefined, the function takes the network that the source names
 * @throws ProtocolError `USAGE` when there is no chain to fork; `SNAPSHOT_REFUSED` when the operating system cannot
 *   read the snapshot file; errors of `locationOfData`, `findNetworkDirectory` and `loadNetwork`
 */
export async function forkSourceOf(path: string, network: string | undefined): Promise<ForkSource> {
  const place = resolve(path);
  const found = statSync(place, { throwIfNoEntry: false });
  if (found === undefined) throw usageError(`--fork ${path}: there is neither a folder nor a file`);
  if (!found.isFile()) {
    const given = network === undefined ? {} : { network };
    const { dataDirectory, network: known } = locationOfData({ ...given, dataDir: place });
    return { path: place, network: known, chain: { kind: 'folder', dataDirectory } };
  }
  const name = network ?? (await networkOfSnapshot(path, place));
  const known = loadNetwork(findNetworkDirectory(name, bloomeryHome(process.env)));
  return { path: place, network: known, chain: { kind: 'snapshot', file: place } };
}

/**
 * @throws ProtocolError `USAGE` for a file that is not a snapshot, `SNAPSHOT_REFUSED` for a file that the operating
 *   system cannot read
 */
async function networkOfSnapshot(path: string, file: string): Promise<string> {
  try {
    return (await readSnapshotManifest(file)).network;
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    // If the cause is a system error, the message of `error` already names the fault, so `error` is thrown unchanged.
    // Any other cause means that the file is not a snapshot.
    if (cause?.syscall !== undefined) throw error;
    throw usageError(`--fork ${path}: is not a file of bloomery snapshot create`);
  }
}

/**
 * Returns a copy of the network with another community identifier, and therefore with another network identifier.
 * Signatures cover the network identifier, so signatures for one of the two networks are invalid on the other network.
 *
 * @param folder new folder for the files of the copy
 * @throws ProtocolError `USAGE` for generation 2, whose signatures do not cover a network identifier
 */
export function underNewIdentifier(network: Network, folder: string): Network {
  const { generation, communityIdentifier } = network.params;
  if (generation === 2) {
    throw usageError('--new-network-id: transactions of generation 2 name no network, so there is nothing to change');
  }
  const changed = communityIdentifier.slice(0, COMMUNITY_IDENTIFIER_LENGTH_MAX - SUFFIX.length) + SUFFIX;
  const textOf = (name: string): string => readFileSync(`${network.directory}/${name}`, 'utf8');
  const files = new Map<string, string>();
  for (const name of NETWORK_FILES) {
    const isThere = statSync(`${network.directory}/${name}`, { throwIfNoEntry: false }) !== undefined;
    if (isThere) files.set(name, textOf(name));
  }
  for (const name of ['network.json', 'genesis.json']) {
    const json = JSON.parse(textOf(name)) as object;
    files.set(name, `${JSON.stringify({ ...json, communityIdentifier: changed }, null, 2)}\n`);
  }
  return writeNetworkFolder(folder, files);
}

const NETWORK_FILES = ['network.json', 'genesis.json', 'exceptions.json', 'forgers.json', 'accounts.json'];
