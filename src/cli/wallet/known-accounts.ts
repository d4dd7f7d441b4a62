/**
 * Finds passphrases of devnet accounts by name. The passphrases of devnet accounts are public, so a command can use
 * these passphrases without asking the user.
 */

import { join } from 'node:path';
import {
  bloomeryHome,
  findNetworkDirectory,
  loadNetwork,
  packagedNetworkDirectory,
  type Network,
} from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { NETWORK_FOLDER } from '../devnet/folder.ts';
import { devnetNetworkName } from '../devnet/network.ts';
import { readAccounts } from '../genesis/accounts-file.ts';
import type { WalletNetwork } from './network.ts';

/**
 * Finds the passphrase of an account in the network folder that `--network` names (`chosen`). The package has one
 * devnet for each generation (`devnetNetworkName`). Without `--network`, the function reads two folders of the devnet
 * for the network's generation. The first is the folder of this devnet in the package. The second is the folder
 * `<devnet>/network` in `BLOOMERY_HOME`. A devnet makes this folder only if the devnet uses a copy of its network
 * folder (`placedNetwork`).
 *
 * @throws ProtocolError `ACCOUNT_UNKNOWN` when no searched folder belongs to the network, or when the network has no
 *   account with this name; `NETWORK_UNREADABLE` when the folder of the network has no readable `accounts.json`;
 *   `NETWORK_UNKNOWN` when there is no folder for `chosen`
 */
export function knownPassphrase(
  name: string,
  { generation, networkIdentifier, name: networkName }: WalletNetwork,
  chosen: string | undefined,
): string {
  const home = bloomeryHome(process.env);
  const devnet = devnetNetworkName(generation);
  const folders =
    chosen === undefined
      ? [packagedNetworkDirectory(devnet), join(home, devnet, NETWORK_FOLDER)]
      : [findNetworkDirectory(chosen, home)];
  const network = folders.map(networkOf).find((each) => each?.params.networkIdentifier === networkIdentifier);
  if (network === undefined) {
    const message = `the accounts of ${networkName} are not known here: name its folder with --network, or give a passphrase`;
    throw new ProtocolError('ACCOUNT_UNKNOWN', { name }, message);
  }
  const accounts = readAccounts(network.directory);
  const found = accounts.find((each) => each.name === name);
  if (found !== undefined) return found.passphrase;
  const message = `--from \`${name}\`: ${network.name} has no account of that name: bloomery devnet accounts lists them`;
  throw new ProtocolError('ACCOUNT_UNKNOWN', { name }, message);
}

/** Returns the network of a folder; undefined for a folder from which no network can be loaded. */
function networkOf(directory: string): Network | undefined {
  try {
    return loadNetwork(directory);
  } catch {
    return undefined;
  }
}
