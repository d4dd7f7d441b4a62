/**
 * Chooses the network of a devnet: a packaged devnet (`devnet` or `devnet-gen2`), a version of a packaged devnet with
 * fewer delegates, or the network that the user names.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNetworkDirectory, loadNetwork, packagedNetworkDirectory, type Network } from '../../config/network.ts';
import type { Generation } from '../../protocol/params.ts';
import { makeNetwork } from '../genesis/make-network.ts';
import { writeNetworkFolder } from '../network-folder.ts';
import { usageError } from '../error-lines.ts';

export interface NetworkChoice {
  /** Name or folder of a network. */
  readonly network?: string;
  /** Number of delegates, if the devnet is a version of a packaged devnet with fewer delegates. */
  readonly delegates?: number;
  /** Generation of the packaged devnet, when no network is given. */
  readonly generation: Generation;
}

export interface ChosenNetwork {
  readonly network: Network;
  /**
   * True when the folder of the network can disappear while the devnet exists. For example, `dispose` removes the
   * folder of a network with fewer delegates. If the value is true, the devnet must use a copy of the folder.
   */
  readonly isTemporary: boolean;
  dispose(): void;
}

/**
 * Seed from which the accounts of the packaged devnets are derived. A devnet with fewer delegates uses the same seed,
 * so its accounts are among the accounts of the packaged devnets.
 */
const PACKAGED_SEED = 'devnet';

/** Name of the packaged devnet of a generation. */
export function devnetNetworkName(generation: Generation): string {
  return generation === 2 ? 'devnet-gen2' : 'devnet';
}

/**
 * @throws ProtocolError `USAGE` for `network` together with `delegates`; errors of `findNetworkDirectory` and
 *   `loadNetwork`
 */
export async function chooseNetwork(choice: NetworkChoice, home: string): Promise<ChosenNetwork> {
  const { network, delegates, generation } = choice;
  if (network !== undefined && delegates !== undefined) {
    throw usageError('--delegates is for the packaged devnets: a network of --network has its own number of delegates');
  }
  if (network !== undefined) return lasting(loadNetwork(findNetworkDirectory(network, home)));
  const packaged = loadNetwork(packagedNetworkDirectory(devnetNetworkName(generation)));
  if (delegates === undefined || delegates === packaged.params.activeDelegates) return lasting(packaged);
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-network-'));
  const dispose = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { blockTimeS } = packaged.params;
    const files = await makeNetwork({ generation, name: packaged.name, blockTimeS, delegates, seed: PACKAGED_SEED });
    return { network: writeNetworkFolder(join(folder, packaged.name), files), isTemporary: true, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function lasting(network: Network): ChosenNetwork {
  return { network, isTemporary: false, dispose: () => undefined };
}
