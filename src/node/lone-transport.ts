/** The wire of a node that has none: it listens to nobody and reaches nobody. */

import { ProtocolError } from '../primitives/errors.ts';
import type { Transport } from '../ports/transport.ts';

export function createLoneTransport(): Transport {
  const unreachable = () => Promise.reject(new ProtocolError('PEERS_DISABLED', {}, 'this node runs without peers'));
  return {
    start: () => Promise.resolve(),
    connect: unreachable,
    disconnect: () => undefined,
    connections: () => [],
    request: unreachable,
    send: () => undefined,
    announce: () => undefined,
    close: () => Promise.resolve(),
  };
}
