import test from 'ava';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { runCli } from '../support/cli.ts';
import { readExposition } from '../support/exposition.ts';
import { startOneNode } from '../support/one-node.ts';

test('the metrics show the transactions that wait in the pool, as the pool is when the metrics are read', async (t) => {
  t.timeout(300_000);
  const network = packagedNetworkDirectory('devnet');
  const node = await startOneNode(t, { network, fixedPeers: [], config: { http: { processes: 0 } } });
  const waiting = async (): Promise<number> => {
    const { samples } = readExposition(await (await fetch(`${node.url}/metrics`)).text());
    const counts = [...samples].filter(([name]) => name.startsWith('bloomery_pool_transactions{'));
    t.is(counts.length, 5, 'one for each queue');
    return counts.reduce((sum, [, count]) => sum + count, 0);
  };
  t.is(await waiting(), 0);
  const sent = await runCli(['transfer', '--from', 'account_1', '14938407111099202722L', '10', '--node', node.url]);
  t.is(sent.code, 0, sent.stderr);
  t.is(await waiting(), 1);
});
