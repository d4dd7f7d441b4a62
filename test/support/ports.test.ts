import { createServer } from 'node:net';
import test from 'ava';
import { freePorts } from './ports.ts';

const LEASES = 12;

test('no port is given twice, within a process or by two of them', async (t) => {
  // Another instance of the module knows nothing of the first one's ports but what the system tells it, like a process.
  const other = (await import(`./ports.js?instance=${t.title.length}`)) as { readonly freePorts: typeof freePorts };
  const asked = Array.from({ length: LEASES }, (_, index) => (index % 2 === 0 ? freePorts : other.freePorts));
  const runs = await Promise.all(asked.map(async (ask) => [await ask(20), 20] as const));
  const ports = runs.flatMap(([first, count]) => Array.from({ length: count }, (_, index) => first + index));
  t.is(new Set(ports).size, LEASES * 20);
});

test('a port that is taken is not given', async (t) => {
  const first = await freePorts(1);
  const server = createServer();
  await new Promise<void>((done) => server.listen(first + 1, '127.0.0.1', done));
  t.teardown(() => void server.close());
  for (let call = 0; call < 5; call += 1) t.not(await freePorts(1), first + 1);
});

test('a run longer than a lease is refused', async (t) => {
  await t.throwsAsync(freePorts(60), { instanceOf: RangeError });
});
