/** Tests the reading processes that answer HTTP for a node. */

import { execFileSync } from 'node:child_process';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { open } from 'lmdb';
import { packagedNetworkDirectory } from '../../../src/config/network.ts';
import { waitFor } from '../../support/devnet.ts';
import { runCli } from '../../support/cli.ts';
import { startOneNode, type OneNode } from '../../support/one-node.ts';
import type { Untyped } from '../../support/untyped.ts';

const WITHIN_MS = 60_000;

/** Returns the process ids of a node's reading processes. */
function readersOf(node: OneNode): readonly number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(node.process.pid)], { encoding: 'utf8' });
  return children.split('\n').flatMap((line) => (line.includes('reader-program') ? [Number.parseInt(line, 10)] : []));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function statusOf(node: OneNode): Promise<Untyped> {
  return ((await (await fetch(`${node.url}/api/node/status`)).json()) as Untyped).data;
}

async function heightOf(node: OneNode): Promise<number> {
  return Number((await fetch(`${node.url}/api/blocks?limit=1`)).headers.get('x-height'));
}

/**
 * Sends `each` requests over each of the given number of connections, all from one address that is not trusted. Returns
 * the HTTP statuses of the answers.
 */
async function strangersStatuses(node: OneNode, connections: number, each: number): Promise<readonly number[]> {
  const ask = (agent: Agent): Promise<number> =>
    new Promise((resolve) => {
      const request = get(`${node.url}/api/node/constants`, { agent, localAddress: '127.0.0.2' }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      request.on('error', () => resolve(0));
    });
  const all = await Promise.all(
    Array.from({ length: connections }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const statuses: number[] = [];
      for (let count = 0; count < each; count += 1) statuses.push(await ask(agent));
      agent.destroy();
      return statuses;
    }),
  );
  return all.flat();
}

const STRANGERS_MAX = 60;

test('readers follow the chain; a killed or hanging one is replaced and leaves no store entry, and all end with the node', async (t) => {
  t.timeout(600_000);
  const node = await startOneNode(t, {
    network: packagedNetworkDirectory('devnet'),
    fixedPeers: [],
    flags: ['--no-peers'],
    config: {
      forging: { force: true },
      http: {
        processes: 2,
        accessPublic: true,
        rateLimitStrangersMax: STRANGERS_MAX,
        rateLimitWindowMs: 86_400_000,
      },
    },
  });
  const first = readersOf(node);
  t.is(first.length, 2);
  const [killed = 0, hanging = 0] = first;
  const height = await heightOf(node);
  await waitFor(
    'a block at the readers',
    async () => {
      if ((await heightOf(node)) <= height) throw new Error('no block yet');
      return true;
    },
    WITHIN_MS,
  );

  const began = (await statusOf(node)).readers;
  t.is(began.wanted, 2);
  t.is(began.restarts, 0);
  t.deepEqual(
    began.each.map(({ reader }: Untyped) => reader),
    [1, 2],
  );
  // Both reading processes together enforce one limit for an address. If each process had its own limit, the address
  // would get more answers with status 200.
  const statuses = await strangersStatuses(node, 30, 3);
  t.is(statuses.filter((status) => status === 200).length, STRANGERS_MAX, statuses.join());

  const others = (gone: number) => async (): Promise<boolean> => {
    const now = readersOf(node);
    if (now.length !== 2 || now.includes(gone)) throw new Error(`${gone} of ${now.join()}`);
    for (let i = 0; i < 10; i += 1) if ((await fetch(`${node.url}/api/blocks`)).status !== 200) throw new Error('no');
    return true;
  };
  process.kill(killed, 'SIGKILL');
  await waitFor('another reader in the place of a killed one', others(killed), WITHIN_MS);
  t.true(isAlive(hanging), 'the other one stays');
  process.kill(hanging, 'SIGSTOP');
  await waitFor('another reader in the place of a hanging one', others(hanging), WITHIN_MS);
  t.false(isAlive(hanging));

  const database = open({ path: join(node.place.dataDir, 'devnet', 'chain'), noSubdir: false, readOnly: true });
  const places = database.readerList();
  await database.close();
  for (const pid of [killed, hanging]) t.notRegex(places, new RegExp(`^\\s*${pid}\\s`, 'm'));

  t.deepEqual(await strangersStatuses(node, 3, 1), [429, 429, 429], 'later readers apply the limit, too');

  await waitFor(
    'a status with two replaced readers',
    async () => {
      const { readers } = await statusOf(node);
      const up = readers.each.filter(({ state, memoryBytes }: Untyped) => state === 'up' && memoryBytes > 10_000_000);
      if (readers.restarts !== 2 || up.length !== 2) throw new Error(JSON.stringify(readers));
      return true;
    },
    WITHIN_MS,
  );
  const { stdout } = await runCli(['status', '--node', node.url]);
  t.regex(stdout, /^readers +2 of 2 up, 2 replaced, [0-9]+ \+ [0-9]+ MB, [0-9]+ requests$/m);
  const { stdout: json } = await runCli(['status', '--node', node.url, '--json']);
  t.is((JSON.parse(json) as Untyped).readers.each.length, 2);
  const metrics = await (await fetch(`${node.url}/metrics`)).text();
  t.regex(metrics, /^bloomery_http_readers{state="up"} 2$/m);
  t.regex(metrics, /^bloomery_http_reader_restarts_total 2$/m);
  t.regex(metrics, /^bloomery_http_reader_memory_bytes{reader="1"} [1-9]/m);
  t.regex(metrics, /^bloomery_http_reader_requests_total{reader="[12]"} [1-9]/m);

  const last = readersOf(node);
  const lived = await heightOf(node);
  t.true(lived >= height);
  node.process.kill('SIGKILL');
  await node.ended;
  await waitFor(
    'the end of the readers',
    async () => {
      if (last.some(isAlive)) throw new Error('they live');
      return true;
    },
    WITHIN_MS,
  );
});
