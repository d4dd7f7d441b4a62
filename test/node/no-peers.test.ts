import test from 'ava';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadNetwork } from '../../src/config/network.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { startOneNode } from '../support/one-node.ts';

const WAIT_MS_MAX = 120_000;

for (const [what, settings] of [
  ['the default', {}],
  ['a configured', { consensusMin: 60 }],
] as const) {
  test(`with --no-peers, a node of generation 2 forges despite ${what} minimum of the consensus`, async (t) => {
    t.timeout(3 * WAIT_MS_MAX);
    const folder = temporaryFolder(t);
    const network = join(folder, 'own');
    const size = ['--generation', '2', '--delegates', '1', '--block-time', '2'];
    const made = await runCli(['genesis', 'create', ...size, '--name', 'own', '--out', network]);
    t.is(made.code, 0, made.stderr);
    const node = await startOneNode(t, {
      network,
      fixedPeers: [],
      // Only without `forging.force`, the default of `forging.consensusMin` is above 0.
      config: { forging: { ...settings, riskDoubleForging: false } },
      env: { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') },
      flags: ['--no-peers'],
    });
    const password = join(folder, 'password');
    writeFileSync(password, loadNetwork(network).forgers?.defaultPassword ?? '');
    const enabled = await runCli(['forging', 'enable', '--node', node.url, '--password-file', password]);
    t.is(enabled.code, 0, enabled.stderr);
    const client = nodeClient(node.url);
    await waitFor('a forged block', async () => (await client.status()).height > 1, WAIT_MS_MAX);
  });
}

test('with --no-peers, a node with some delegates begins a network although its configuration names peers', async (t) => {
  t.timeout(3 * WAIT_MS_MAX);
  const folder = temporaryFolder(t);
  const network = join(folder, 'own');
  const size = ['--generation', '3', '--delegates', '3', '--block-time', '2'];
  const made = await runCli(['genesis', 'create', ...size, '--name', 'own', '--out', network]);
  t.is(made.code, 0, made.stderr);
  const { delegates = [], defaultPassword = '' } = loadNetwork(network).forgers ?? {};
  const node = await startOneNode(t, {
    network,
    fixedPeers: ['127.0.0.1:1'],
    config: { forging: { delegates: delegates.slice(0, 2), riskDoubleForging: false } },
    env: { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') },
    flags: ['--no-peers'],
  });
  const password = join(folder, 'password');
  writeFileSync(password, defaultPassword);
  for (const { publicKey } of delegates.slice(0, 2)) {
    const enabled = await runCli(['forging', 'enable', publicKey, '--node', node.url, '--password-file', password]);
    t.is(enabled.code, 0, enabled.stderr);
  }
  const client = nodeClient(node.url);
  await waitFor('a forged block', async () => (await client.status()).height > 1, WAIT_MS_MAX);
});
