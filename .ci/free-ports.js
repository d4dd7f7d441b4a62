/**
 * Prints the first port of two runs of free neighbouring ports on the loopback interface: `node .ci/free-ports.js 4`.
 */

import { createServer } from 'node:net';

const count = Number(process.argv[2] ?? 1);
/** Above the ports that `fetch` refuses to ask, of which 10,080 is the highest. Below the ranges that systems give to outgoing connections, so that none takes a port between here and its use. */
const FIRST = 10_100;
const LAST = 16_000;

const found = [];
for (let port = FIRST + (process.pid % 250) * 20; found.length < 2 && port + count <= LAST; port += count) {
  if (await allFree(port)) found.push(port);
}
if (found.length < 2) throw new Error(`no two runs of ${count} free ports between ${FIRST} and ${LAST}`);
console.log(found.join(' '));

async function allFree(first) {
  for (let port = first; port < first + count; port += 1) if (!(await isFree(port))) return false;
  return true;
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
