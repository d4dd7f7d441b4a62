/** Finds the address of a node when the user gave no address. */

import { loadConfig } from '../../config/load.ts';
import { bloomeryHome, findNetworkDirectory, loadNetwork } from '../../config/network.ts';
import type { HttpConfig } from '../../config/schema.ts';
import { ProtocolError } from '../../primitives/errors.ts';

const DEFAULT = 'http://127.0.0.1:4000';

export interface AddressRequest {
  readonly network?: string;
  readonly config?: string;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Returns the HTTP address from the configuration of a network, or the default address if no network is given. The
 * result is undefined if the network folder or the configuration is invalid.
 */
export function addressOfNode({ network: name, config: file, environment }: AddressRequest): string | undefined {
  if (name === undefined) return DEFAULT;
  try {
    const network = loadNetwork(findNetworkDirectory(name, bloomeryHome(environment)));
    const flags = new Map<string, unknown>();
    const { http } = loadConfig({ network, environment, flags, ...(file === undefined ? {} : { file }) });
    return `http://${hostOf(http)}:${http.port}`;
  } catch (error) {
    // No report is necessary here, because `checkDisk` reports faults of the network folder and the configuration.
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/**
 * Returns the host that the doctor queries. A node that listens on all addresses (`0.0.0.0`) is queried at the loopback
 * address.
 */
function hostOf({ host }: HttpConfig): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host;
}
