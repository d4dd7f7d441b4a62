/**
 * Gives out ports on the loopback interface for servers and nodes of a test.
 *
 * A port that was free a moment ago is sometimes occupied when the node listens on it. Either another test file, which
 * runs in its own process, has taken the port, or the system uses the port for an outgoing connection. Therefore each
 * process leases blocks of ports, from a range that common systems do not use for outgoing connections. The lease is a
 * server on the first port of the block. The server listens for as long as the process lives.
 */

import { createServer, type Server } from 'node:net';

/**
 * The range starts above the ports that `fetch` refuses, of which 10,080 is the highest. The range ends below the ports
 * of outgoing connections, which begin at 16,000 in sandboxes, at 32,768 on Linux, and at 49,152 on most other systems.
 */
const FIRST = 10_120;
const LAST = 16_000;
const BLOCK_PORTS = 60;
const BLOCKS = Math.floor((LAST - FIRST) / BLOCK_PORTS);
const HOST = '127.0.0.1';

/**
 * The remaining ports of the newest block of ports that this process has leased. The process has not tried to give out
 * these ports yet.
 */
const spare: number[] = [];
let leasing: Promise<void> = Promise.resolve();

/**
 * @returns the first port of each of two runs; each run has `count` consecutive ports, which are reserved for the
 *   caller
 */
export async function freePortRanges(count: number): Promise<{ readonly http: number; readonly ws: number }> {
  const http = await freePorts(2 * count);
  return { http, ws: http + count };
}

/** @returns a port that is reserved for the caller */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/**
 * @returns the first of `count` consecutive ports, which are reserved for the caller; `count` is less than
 *   `BLOCK_PORTS`
 */
export async function freePorts(count: number): Promise<number> {
  if (count >= BLOCK_PORTS) throw new RangeError(`at most ${BLOCK_PORTS - 1} ports in a row`);
  // Calls run one after another, so that concurrent callers get different ports.
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
    // The next leased block is perhaps not adjacent to the earlier block. The ports of the next block therefore replace
    // the remaining ports of the earlier block.
    spare.splice(0, spare.length, ...(await leaseBlock()));
  }
}

/** @returns all ports of a leased block except the first port, on which a server of this process listens */
async function leaseBlock(): Promise<readonly number[]> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let step = 0; step < BLOCKS; step += 1) {
    const first = FIRST + ((start + step) % BLOCKS) * BLOCK_PORTS;
    const lease = await listen(first).catch(() => undefined);
    if (lease === undefined) continue;
    // The lease ends with the process and does not keep the process alive.
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
