/** Connections that are handed on: how nodes on hosts are asked as from their own machine, which alone may ask some things. */

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
    // What ends one side ends the other.
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
