/** Where a node is asked that its operator gave no address of. */

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

/** The address that the configuration of a network gives the HTTP interface; that of most nodes where it cannot be read. */
export function addressOfNode({ network: name, config: file, environment }: AddressRequest): string {
  if (name === undefined) return DEFAULT;
  try {
    const network = loadNetwork(findNetworkDirectory(name, bloomeryHome(environment)));
    const flags = new Map<string, unknown>();
    const { http } = loadConfig({ network, environment, flags, ...(file === undefined ? {} : { file }) });
    return `http://${hostOf(http)}:${http.port}`;
  } catch (error) {
    // Their faults are a finding of their own.
    if (error instanceof ProtocolError) return DEFAULT;
    throw error;
  }
}

/** A node that listens on every address is asked on this machine. */
function hostOf({ host }: HttpConfig): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host;
}
