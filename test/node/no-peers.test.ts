import test, { type ExecutionContext } from 'ava';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadNetwork } from '../../src/config/network.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { startOneNode } from '../support/one-node.ts';

const WAIT_MS_MAX = 120_000;

interface Begin {
  readonly generation: 2 | 3;
  /** Number of delegates of the network. */
  readonly delegates: number;
  /** Number of these delegates that are enabled on the node. */
  readonly enabled: number;
  readonly fixedPeers?: readonly string[];
  /** Settings of the section `forging`. */
  readonly forging?: object;
}

/** Starts a node of a new network with `--no-peers`, and waits until it has forged a block. */
async function beginsAlone(t: ExecutionContext, options: Begin): Promise<void> {
  t.timeout(3 * WAIT_MS_MAX);
  const folder = temporaryFolder(t);
  const network = join(folder, 'own');
  const size = ['--generation', `${options.generation}`, '--delegates', `${options.delegates}`, '--block-time', '2'];
  const made = await runCli(['genesis', 'create', ...size, '--name', 'own', '--out', network]);
  t.is(made.code, 0, made.stderr);
  const { delegates: all = [], defaultPassword = '' } = loadNetwork(network).forgers ?? {};
  const delegates = all.slice(0, options.enabled);
  const node = await startOneNode(t, {
    network,
    fixedPeers: options.fixedPeers ?? [],
    config: { forging: { delegates, riskDoubleForging: false, ...options.forging } },
    env: { BLOOMERY_FORGING_WATERMARK_FOLDER: join(folder, 'signed') },
    flags: ['--no-peers'],
  });
  const password = join(folder, 'password');
  writeFileSync(password, defaultPassword);
  for (const { publicKey } of delegates) {
    const enabled = await runCli(['forging', 'enable', publicKey, '--node', node.url, '--password-file', password]);
    t.is(enabled.code, 0, enabled.stderr);
  }
  const client = nodeClient(node.url);
  await waitFor('a forged block', async () => (await client.status()).height > 1, WAIT_MS_MAX);
}

for (const [what, forging] of [
  ['the default', {}],
  ['a configured', { consensusMin: 60 }],
] as const) {
  // `forging.consensusMin` is the minimum share of peers that must have the tip of the node before the node forges. In
  // generation 2, the default of this option is above 0 only without `forging.force`.
  test(`with --no-peers, a node of generation 2 forges despite ${what} minimum of the consensus`, (t) =>
    beginsAlone(t, { generation: 2, delegates: 1, enabled: 1, forging }));
}

test('with --no-peers, a node with some delegates begins a network although its configuration names peers', (t) =>
  beginsAlone(t, { generation: 3, delegates: 3, enabled: 2, fixedPeers: ['127.0.0.1:1'] }));
