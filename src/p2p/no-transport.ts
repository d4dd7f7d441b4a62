/** The transport of a node without peers: it opens no port, dials nobody and sends into the void. */

import { ProtocolError } from '../primitives/errors.ts';
import type { Transport } from '../ports/transport.ts';

const REASON = 'This node runs without peers';

export function createNoTransport(): Transport {
  return {
    start: () => Promise.resolve(),
    connect: ({ ip, wsPort }) =>
      Promise.reject(
        new ProtocolError('DIAL_FAILED', { peerId: `${ip}:${String(wsPort)}`, code: 1000, reason: REASON }),
      ),
    disconnect: () => undefined,
    connections: () => [],
    request: (peerId, request) =>
      Promise.reject(new ProtocolError('REQUEST_FAILED', { peerId, request: request.kind, reason: REASON })),
    send: () => undefined,
    announce: () => undefined,
    close: () => Promise.resolve(),
  };
}
