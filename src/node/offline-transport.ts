/**
 * Creates the transport of a node without peers. The transport opens no port, and fails each dial and each request to a
 * peer.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Transport } from '../ports/transport.ts';

export function createOfflineTransport(): Transport {
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
