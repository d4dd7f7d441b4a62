/** Tests the client against real node processes, with one devnet for each generation. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { askDevnet } from '../../src/cli/devnet/control-client.ts';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { createClient } from '../../src/client/index.ts';
import { loadNetwork } from '../../src/config/network.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';
import { askEveryRoute, routeCount } from './every-route.ts';
import { setUpRoutes } from './route-fixture.ts';

const START_MS_MAX = 150_000;
const NODES = 2;

for (const generation of [2, 3] as const) {
  test.serial(`generation ${generation}: each route of a node process answers the client`, async (t) => {
    t.timeout(600_000);
    const { directory, url, otherUrl } = await startProcesses(t, generation);
    const { params, forgers } = loadNetwork(join(directory, 'network'));
    const accounts = readAccounts(join(directory, 'network'));
    const fixture = await setUpRoutes({
      ...{ generation, url, forgingPassword: forgers?.defaultPassword ?? '' },
      ...{ networkIdentifier: params.networkIdentifier, blockTimeS: params.blockTimeS, epochMs: params.epochMs },
      account: (name) => {
        const found = accounts.find((each) => each.name === name);
        if (found === undefined) throw new Error(`no account ${name}`);
        return found;
      },
      setMining: (mode) => askDevnet(directory, 'mode', { mode }),
    });
    const answered = await askEveryRoute(t, fixture);
    t.is(answered.length, routeCount(generation));
    // The transaction that the client sent to one node must also be in the chain of the other node.
    await askDevnet(directory, 'mine', { slots: 5 });
    const { data } = await createClient(otherUrl, { generation }).get('/accounts', { address: '42L' });
    t.is(data[0]?.balance, 3n);
  });
}

interface Started {
  readonly directory: string;
  readonly url: string;
  readonly otherUrl: string;
}

async function startProcesses(t: ExecutionContext, generation: 2 | 3): Promise<Started> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-client-'));
  const { http, ws } = await freePortRanges(NODES);
  const flags = ['--nodes', `${NODES}`, '--delegates', '5', '--generation', `${generation}`, '--data-dir', directory];
  const ports = ['--http-port', `${http}`, '--ws-port', `${ws}`];
  const devnet: ChildProcess = spawn(
    process.execPath,
    [CLI_ENTRY, 'devnet', ...flags, ...ports, '--mine', 'on-demand'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [devnet.stdout, devnet.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  t.teardown(async () => {
    if (!t.passed) t.log(output);
    if (devnet.exitCode === null && devnet.kill('SIGTERM')) await once(devnet, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  const [url, otherUrl] = [`http://127.0.0.1:${http}`, `http://127.0.0.1:${http + 1}`];
  const isUp = async (): Promise<boolean> => {
    for (const each of [url, otherUrl]) await createClient(each).get('/node/status');
    return (await askDevnet(directory, 'list')) !== undefined;
  };
  await waitFor('the devnet', isUp, START_MS_MAX, () => (devnet.exitCode === null ? undefined : output));
  return { directory, url, otherUrl };
}
