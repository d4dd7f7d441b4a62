/**
 * Ports on the loopback interface for servers and nodes that a test starts.
 *
 * A port that was free a moment ago may be taken when a node at last listens on it: by another test file, which runs in a
 * process of its own, or by the system for an outgoing connection. So each process leases blocks of ports from a range that
 * no usual system gives to connections; what holds the lease is a server on the block's first port, for as long as the
 * process lives.
 */

import { createServer, type Server } from 'node:net';

/** Above the ports that `fetch` refuses to ask, of which 10,080 is the highest. Systems give connections ports from 16,000 (sandboxes), 32,768 (Linux) or 49,152 on. */
const FIRST = 10_120;
const LAST = 16_000;
const BLOCK_PORTS = 60;
const BLOCKS = Math.floor((LAST - FIRST) / BLOCK_PORTS);
const HOST = '127.0.0.1';

/** Ports of the blocks leased by this process that were not given yet. */
const spare: number[] = [];
let leasing: Promise<void> = Promise.resolve();

/** @returns neighbouring ports, given to nobody else, the first of two runs of `count` */
export async function freePortRanges(count: number): Promise<{ readonly http: number; readonly ws: number }> {
  const http = await freePorts(2 * count);
  return { http, ws: http + count };
}

/** @returns a port that is given to nobody else */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/** @returns the first of `count` neighbouring ports, fewer than a block has, given to nobody else */
export async function freePorts(count: number): Promise<number> {
  if (count >= BLOCK_PORTS) throw new RangeError(`at most ${BLOCK_PORTS - 1} ports in a row`);
  // In turns: who asks meanwhile must not be given the same ones.
  const result = leasing.then(() => take(count));
  leasing = result.then(
    () => undefined,
    () => undefined,
  );
  return result;
}

async function take(count: number): Promise<number> {
  for (;;) {
    while (spare.length >= count) {
      const run = spare.splice(0, count);
      const first = run[0] ?? 0;
      if (run.at(-1) === first + count - 1 && (await areFree(run))) return first;
    }
    // Blocks need not be neighbours, so what is left of one is not joined to the next.
    spare.splice(0, spare.length, ...(await leaseBlock()));
  }
}

/** @returns all ports of a block but its first, on which a server of this process listens */
async function leaseBlock(): Promise<readonly number[]> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let step = 0; step < BLOCKS; step += 1) {
    const first = FIRST + ((start + step) % BLOCKS) * BLOCK_PORTS;
    const lease = await listen(first).catch(() => undefined);
    if (lease === undefined) continue;
    // The lease ends with the process, and does not keep it alive.
    lease.unref();
    return Array.from({ length: BLOCK_PORTS - 1 }, (_, index) => first + 1 + index);
  }
  throw new Error(`all ports from ${FIRST} to ${LAST} are leased or taken`);
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  const servers = await Promise.allSettled(ports.map(listen));
  const open = servers.flatMap((server) => (server.status === 'fulfilled' ? [server.value] : []));
  await Promise.all(open.map((server) => new Promise((done) => server.close(done))));
  return open.length === ports.length;
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: HOST, port }, () => resolve(server));
  });
}
