/** Checks that ports are free. Most callers check the ports of a node before they start the node. */

import { createServer } from 'node:net';
import type { Config } from '../config/schema.ts';
import { portInUse, ProtocolError } from '../primitives/errors.ts';

export interface Endpoint {
  readonly host: string;
  /** `checkPortsFree` does not check port 0, because the system replaces port 0 by a free port. */
  readonly port: number;
}

/** Returns the endpoints on which a node with this configuration listens. */
export function endpointsOf({ http, p2p }: Pick<Config, 'http' | 'p2p'>): readonly Endpoint[] {
  return [...(http.enabled ? [http, { host: http.host, port: http.tlsPort }] : []), ...(p2p.enabled ? [p2p] : [])];
}

/**
 * @throws ProtocolError `PORT_IN_USE` with the first port in use, `PORT_UNUSABLE` for a port that cannot be opened
 */
export async function checkPortsFree(endpoints: readonly Endpoint[]): Promise<void> {
  for (const endpoint of endpoints) if (endpoint.port !== 0) await probe(endpoint);
}

function probe({ host, port }: Endpoint): Promise<void> {
  return new Promise((free, taken) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') taken(portInUse(port, host));
      else taken(unusable(host, port, error));
    });
    server.listen({ host, port, exclusive: true }, () => server.close(() => free()));
  });
}

function unusable(host: string, port: number, error: NodeJS.ErrnoException): ProtocolError {
  const remedy = error.code === 'EACCES' ? 'choose one of at least 1024' : 'choose another address or port';
  return new ProtocolError(
    'PORT_UNUSABLE',
    { host, port },
    `port ${port} on ${host} cannot be used (${error.code ?? error.message}): ${remedy}`,
    { cause: error },
  );
}
