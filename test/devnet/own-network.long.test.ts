/**
 * Tests networks that a user creates and starts with the commands of `docs/guides/devnet.md`. The nodes of each network
 * must forge blocks. In networks of generation 3 with at most ten delegates, blocks must also become final.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePortRanges } from '../support/ports.ts';

const NODES = 2;
/**
 * Time limit for a network to forge the expected blocks. The limit is generous, because a busy machine makes the nodes
 * slow.
 */
const RUN_MS_MAX = 240_000;
/**
 * The test first waits for the blocks of three rounds, but for at most 12 blocks. It then waits for this number of
 * further blocks.
 */
const BLOCKS_WAITED_FOR = 6;

for (const [generation, delegates, way] of [
  [3, 1, 'genesis create'],
  [2, 2, 'genesis create'],
  [3, 5, 'devnet --delegates'],
  [2, 101, 'genesis create'],
] as const) {
  test(`a network of generation ${generation} with ${delegates} delegates forges blocks (${way})`, async (t) => {
    t.timeout(2 * RUN_MS_MAX);
    const data = temporaryFolder(t);
    const folder = join(data, 'made');
    const size = ['--generation', `${generation}`, '--delegates', `${delegates}`];
    const isMade = way === 'genesis create';
    if (isMade) {
      const made = await runCli(['genesis', 'create', ...size, '--name', 'own', '--out', folder, '--block-time', '2']);
      t.is(made.code, 0, made.stderr);
      t.true(made.stdout.includes(`bloomery devnet --network ${folder}`));
    }
    const ports = await freePortRanges(NODES);
    const place = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', join(data, 'devnet')];
    const flags = ['--nodes', `${NODES}`, ...place, ...(isMade ? ['--network', folder] : size)];
    const supervisor = spawn(process.execPath, [CLI_ENTRY, 'devnet', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
    t.teardown(() => supervisor.kill('SIGKILL'));
    let output = '';
    for (const stream of [supervisor.stdout, supervisor.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const client = nodeClient(`http://127.0.0.1:${ports.http}`);
    const height = Math.min(3 * delegates, 12) + BLOCKS_WAITED_FOR;
    await waitFor(
      'blocks',
      async () => {
        const status = await client.status();
        const isFinal = generation === 2 || delegates > 10 || status.chainMaxHeightFinalized > 1;
        return status.height >= height && isFinal;
      },
      RUN_MS_MAX,
      () => (supervisor.exitCode === null ? undefined : output),
    );
    const blocks = await client.firstBlocks(height - 1);
    const forgers = new Set(blocks.map(({ generatorPublicKey }) => generatorPublicKey));
    t.is(forgers.size, Math.min(delegates, height - 1), 'each delegate has its turn');
    const logs = Array.from({ length: NODES }, (_, index) => join(data, 'devnet', `node-${index}`, 'node.log'));
    for (const log of logs) {
      const [beginning = ''] = (existsSync(log) ? readFileSync(log, 'utf8') : '').split(/ (?:forged|applied) a block /);
      t.notRegex(beginning, /FORGING_PAUSED/, 'nothing is missed before the first block');
    }
    const ended = once(supervisor, 'exit');
    supervisor.kill('SIGTERM');
    t.deepEqual(await ended, [0, null]);
  });
}

test('start says what prevents a new network from forging', async (t) => {
  t.timeout(RUN_MS_MAX);
  const data = temporaryFolder(t);
  const folder = join(data, 'made');
  await runCli(['genesis', 'create', '--delegates', '5', '--name', 'own', '--out', folder]);
  const ports = await freePortRanges(1);
  const flags = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', data];
  const node = spawn(process.execPath, [CLI_ENTRY, 'start', '--network', folder, ...flags], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => node.kill('SIGKILL'));
  let output = '';
  node.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await waitFor('the sentence', () => Promise.resolve(output.includes('no block is forged')), RUN_MS_MAX / 2);
  t.regex(output, /own: no delegate forges here and no peer is configured, .*: bloomery devnet --network \S+ runs all/);
});
