/** Ports for nodes and servers, where neither other tests nor outgoing connections take any. */

import { createServer } from 'node:net';

const FIRST = 30_000;
const LAST = 32_700;
const ATTEMPTS_MAX = 200;
const given = new Set<number>();

/** A port that was free a moment ago and was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port from ${FIRST} to ${LAST}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}
