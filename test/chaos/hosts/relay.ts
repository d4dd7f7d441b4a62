/**
 * Relays connections to nodes on simulated hosts. For the node, a relayed connection comes from its own machine. A node
 * accepts more kinds of requests from its own machine than from other machines.
 */

import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

export interface Place {
  readonly host: string;
  readonly port: number;
}

export async function openRelay(from: Place, to: Place): Promise<Server> {
  const server = createServer((asker) => {
    const answerer = connect(to);
    asker.pipe(answerer).pipe(asker);
    // If one side closes, the relay closes the other side too.
    for (const [one, other] of [
      [asker, answerer],
      [answerer, asker],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(from);
  await once(server, 'listening');
  return server;
}
