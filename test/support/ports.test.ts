import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { freePorts } from './ports.ts';

const LEASES = 12;

/**
 * Imports another instance of `ports.ts`. The instances share no memory, as if they were in different processes. An
 * instance therefore does not know which ports another instance uses. The instance notices that a port is in use only
 * when it tries to listen on the port.
 */
async function another(name: string): Promise<{ readonly freePorts: typeof freePorts }> {
  return (await import(`./ports.js?instance=${name}`)) as { readonly freePorts: typeof freePorts };
}

// The tests are serial, because `ports.ts` checks a port by listening on it. If another test used the port at the same
// time, the check would have a wrong result.
test.serial('no port is assigned twice, neither within a process nor by two', async (t) => {
  const other = await another('second');
  const asked = Array.from({ length: LEASES }, (_, index) => (index % 2 === 0 ? freePorts : other.freePorts));
  const runs = await Promise.all(asked.map(async (ask) => [await ask(20), 20] as const));
  const ports = runs.flatMap(([first, count]) => Array.from({ length: count }, (_, index) => first + index));
  t.is(new Set(ports).size, LEASES * 20);
});

test.serial('a port in use is not assigned', async (t) => {
  // A new instance leases a new block of ports, so `first + 1` is the next port that it would give out.
  const fresh = await another('fresh');
  const first = await fresh.freePorts(1);
  const server = createServer().listen(first + 1, '127.0.0.1');
  t.teardown(() => void server.close());
  await once(server, 'listening');
  for (let call = 0; call < 5; call += 1) t.not(await fresh.freePorts(1), first + 1);
});

test.serial('a range of ports longer than a lease is refused', async (t) => {
  await t.throwsAsync(freePorts(60), { instanceOf: RangeError });
});
