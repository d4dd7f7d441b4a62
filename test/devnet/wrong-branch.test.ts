import { join } from 'node:path';
import test from 'ava';
import { runChecks } from '../../src/cli/doctor/run-checks.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { startOneNode, type OneNode } from '../support/one-node.ts';
import { freePortRanges } from '../support/ports.ts';

/** Time limit for each wait of the test. The limit is generous, because a busy machine makes the nodes slow. */
const WAIT_MS_MAX = 240_000;
const FINAL_HEIGHT = 3;

test('the doctor names a node whose branch became final while all its peers were on another', async (t) => {
  t.timeout(3 * WAIT_MS_MAX);
  const folder = temporaryFolder(t);
  const network = join(folder, 'own');
  const size = ['--generation', '3', '--delegates', '1', '--block-time', '2'];
  const made = await runCli(['genesis', 'create', ...size, '--name', 'own', '--out', network]);
  t.is(made.code, 0, made.stderr);
  const [alonePorts, otherPorts] = [await freePortRanges(1), await freePortRanges(1)];
  const forging = { enabled: true, force: true };
  const forger = (name: string, options: Partial<Parameters<typeof startOneNode>[1]>): Promise<OneNode> =>
    startOneNode(t, {
      network,
      fixedPeers: [],
      dataDir: join(folder, name),
      config: { forging },
      env: { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, `signed-${name}`) },
      ...options,
    });

  // One delegate forges two chains, as after a mistake of an operator who enabled the delegate on two machines.
  const first = await forger('other', { ports: otherPorts, flags: ['--no-peers'] });
  await waitForFinal(first, FINAL_HEIGHT);
  const alone = await forger('alone', { ports: alonePorts, fixedPeers: [`127.0.0.1:${otherPorts.ws}`] });
  await waitForFinal(alone, FINAL_HEIGHT);
  first.process.kill('SIGTERM');
  await first.ended;
  await forger('other', { ports: otherPorts, flags: ['--risk-double-forging'] });

  const finding = await waitFor(
    'SYNC_FAILS',
    async () => {
      const findings = await runChecks({ url: alone.url, environment: {}, freeBytesOf: () => 1e12 });
      return findings.find(({ code }) => code === 'SYNC_FAILS');
    },
    WAIT_MS_MAX,
  );
  t.regex(finding?.evidence ?? '', /SYNC_NO_COMMON_BLOCK/);
});

async function waitForFinal(node: OneNode, height: number): Promise<void> {
  const client = nodeClient(node.url);
  const isFinal = async (): Promise<boolean> => (await client.status()).chainMaxHeightFinalized >= height;
  await waitFor(`a final block ${height}`, isFinal, WAIT_MS_MAX);
}
