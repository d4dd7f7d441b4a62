/**
 * Tests a new node that downloads old blocks and has one reading process. The data in each HTTP answer must belong to
 * the height in the header of the answer.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'ava';
import { locationIn, madeChain, storeChain, writeNetworkFolder } from '../../support/chain-folder.ts';
import { runCli } from '../../support/cli.ts';
import { waitFor } from '../../support/devnet.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { startOneNode } from '../../support/one-node.ts';
import type { Untyped } from '../../support/untyped.ts';

const HEIGHT = 600;
const WITHIN_MS = 120_000;

const { network, blocks } = madeChain(HEIGHT);
/** By height, the number of transactions in all blocks up to this height. */
const totals = blocks.reduce<number[]>((sums, block) => [...sums, (sums.at(-1) ?? 0) + block.transactions.length], [0]);

/**
 * Requests the total number of transactions, and returns the height in the header of the answer. If the number does not
 * belong to this height, adds a message to `wrong`.
 */
async function checkedHeight(url: string, wrong: string[]): Promise<number> {
  const response = await fetch(`${url}/api/transactions?limit=1&sort=amount:desc`);
  const height = Number(response.headers.get('x-height'));
  const { meta } = (await response.json()) as Untyped;
  if (meta.count !== totals[height]) wrong.push(`${meta.count} transactions at height ${height}`);
  return height;
}

test('a reader of a node that downloads old blocks shows each chain with all its transactions', async (t) => {
  t.timeout(600_000);
  const folder = temporaryFolder(t);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  const peerDir = join(folder, 'peer');
  await storeChain(locationIn(peerDir, network), blocks);
  const peer = await startOneNode(t, { network: networkFolder, fixedPeers: [], dataDir: peerDir });
  const dataDir = join(folder, 'data');
  const start = () =>
    startOneNode(t, {
      ...{ network: networkFolder, fixedPeers: [`127.0.0.1:${peer.wsPort}`], dataDir },
      config: { http: { processes: 1 } },
    });
  const wrong: string[] = [];
  const node = await start();
  // The test sends 100 requests and then kills the node. The download takes about a second, so it may be complete
  // before the test kills the node.
  for (let count = 0; count < 100; count += 1) t.true((await checkedHeight(node.url, wrong)) <= HEIGHT);
  node.process.kill('SIGKILL');
  await node.ended;

  const again = await start();
  const [reader = 0] = execFileSync('ps', ['-o', 'pid=', '--ppid', String(again.process.pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);
  process.kill(reader, 'SIGKILL');
  await waitFor(
    'the whole chain at the reader',
    async () => (await checkedHeight(again.url, wrong)) === HEIGHT,
    WITHIN_MS,
  );
  t.deepEqual(wrong, []);
  again.process.kill('SIGTERM');
  await again.ended;
  const verified = await runCli(['verify', '--network', networkFolder, '--data-dir', dataDir]);
  t.is(verified.code, 0, verified.stderr);
});
