import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { ACTIVE_DELEGATES } from '../../src/protocol/params.ts';
import { slotAt, slotAtMs } from '../../src/protocol/slots.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { waitFor } from '../support/devnet.ts';
import { startOneNode } from '../support/one-node.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { editJson, temporaryFolder } from '../support/network-folder.ts';

/** Creates a configuration folder in the format of Lisk Core from a packaged network. */
function foreignFolder(t: ExecutionContext, network: string): string {
  const folder = join(temporaryFolder(t), 'foreign');
  mkdirSync(folder);
  const packaged = (file: string): string => readFileSync(join(packagedNetworkDirectory(network), file), 'utf8');
  const { delegates, defaultPassword } = JSON.parse(packaged('forgers.json'));
  const config = {
    app: { genesisConfig: { BLOCK_TIME: 2 } },
    modules: { chain: { forging: { force: true, delegates, defaultPassword } }, network: { wsPort: 5050 } },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'genesis_block.json'), packaged('genesis.json'));
  return folder;
}

for (const [network, generation] of [
  ['devnet-gen2', 2],
  ['devnet', 3],
] as const) {
  test.serial(
    `a configuration folder of generation ${generation} becomes a network that commands find by its name`,
    async (t) => {
      const home = temporaryFolder(t);
      const env = { BLOOMERY_HOME: home };
      const from = foreignFolder(t, network);
      const { code, stdout, stderr } = await runCli(['network', 'import', '--from', from, '--name', 'mine'], { env });
      t.is(code, 0, stderr);
      const out = join(home, 'networks', 'mine');
      const packaged = loadNetwork(packagedNetworkDirectory(network));
      t.true(stdout.startsWith(`${out}: network mine of generation ${generation}, `), stdout);
      t.true(stdout.includes(packaged.params.networkIdentifier));
      const imported = loadNetwork(out);
      t.is(imported.wsPort, 5050);
      t.deepEqual(imported.params, packaged.params);
      t.deepEqual(imported.genesisJson, packaged.genesisJson);
      t.deepEqual(imported.forgers, { ...packaged.forgers, arePublished: false });
      t.is(imported.protocolVersion, packaged.protocolVersion);
      t.is(statSync(join(out, 'forgers.json')).mode & 0o777, 0o600);
      t.deepEqual(readdirSync(join(home, 'networks')), ['mine']);
      const found = await runCli(['start', '--network', 'mine', '--http-port', '1', '--ws-port', '1'], { env });
      t.regex(found.stderr, /http\.port and p2p\.port must be different/);
    },
  );
}

test.serial('an imported network starts without peers from its genesis block, and makes no name lookup', async (t) => {
  const folder = temporaryFolder(t);
  const from = foreignFolder(t, 'devnet-gen2');
  editJson(from, 'config.json', (config) => {
    config.modules.network.seedPeers = [{ ip: 'seed.invalid', wsPort: 5000 }];
  });
  const out = join(folder, 'network');
  t.is((await runCli(['network', 'import', '--from', from, '--name', 'mine', '--out', out])).code, 0);
  const args = ['--network', out, '--data-dir', folder, '--http-port', '0', '--no-peers', '--no-forging'];
  const node = spawn(process.execPath, [CLI_ENTRY, 'start', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => node.kill('SIGKILL'));
  let log = '';
  node.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const [first] = (await once(node.stdout, 'data')) as [Buffer];
  const port = /HTTP on port ([0-9]+)/.exec(first.toString())?.[1];
  const dataOf = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/${path}`);
    return ((await response.json()) as { readonly data: Readonly<Record<string, unknown>> }).data;
  };
  const { params } = loadNetwork(out);
  const { supply, nethash } = await dataOf('node/constants');
  t.deepEqual({ supply, nethash }, { supply: '10000000000000000', nethash: params.nethash });
  t.like(await dataOf('blocks?height=1'), { 0: { id: params.genesisBlockId } });
  node.kill('SIGTERM');
  t.deepEqual(await once(node, 'exit'), [0, null]);
  t.notRegex(log, /SEED_UNRESOLVED|seed\.invalid/);
});

for (const [network, generation] of [
  ['devnet-gen2', 2],
  ['devnet', 3],
] as const) {
  test.serial(
    `an imported network of generation ${generation} begins after two slots on a node with all its delegates, without a flag`,
    async (t) => {
      const folder = temporaryFolder(t);
      const from = foreignFolder(t, network);
      // With slots of 5 s, even a busy machine has enough time to forge.
      editJson(from, 'config.json', (config) => {
        config.app.genesisConfig.BLOCK_TIME = 5;
        config.modules.network.seedPeers = [{ ip: '127.0.0.1', wsPort: 5050 }];
      });
      const out = join(folder, 'network');
      t.is((await runCli(['network', 'import', '--from', from, '--name', 'mine', '--out', out])).code, 0);
      // The import includes the password of the delegates. The operator therefore needs to set only `force`.
      const node = await startOneNode(t, { network: out, fixedPeers: [], config: { forging: { force: true } } });
      const { params } = loadNetwork(out);
      const startSlot = slotAtMs(Date.now(), params);
      const client = nodeClient(node.url);
      await waitFor('a block', async () => (await client.status()).height >= 2, 60_000);
      const response = await fetch(`${node.url}/api/blocks?height=2`);
      const { data } = (await response.json()) as { readonly data: readonly { readonly timestamp: number }[] };
      const slot = slotAt(data[0]?.timestamp ?? 0, params);
      t.true(slot <= startSlot + 3, `${slot - startSlot} slots after the start`);
    },
  );
}

interface ForgingState {
  readonly forging: boolean;
  readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
}

for (const [network, generation] of [
  ['devnet-gen2', 2],
  ['devnet', 3],
] as const) {
  // The tests of both generations run in parallel, because they mostly wait.
  test(`generation ${generation}: a node with some delegates of an imported network waits before it forges, says how long, and waits again after its clock was set`, async (t) => {
    t.timeout(300_000);
    const folder = temporaryFolder(t);
    const from = foreignFolder(t, network);
    editJson(from, 'config.json', (config) => {
      config.app.genesisConfig.BLOCK_TIME = 5;
      config.modules.chain.forging.delegates = config.modules.chain.forging.delegates.slice(1);
    });
    const out = join(folder, 'network');
    t.is((await runCli(['network', 'import', '--from', from, '--name', 'mine', '--out', out])).code, 0);
    const clockFile = join(folder, 'ahead');
    const config = { forging: { force: true } };
    const node = await startOneNode(t, { network: out, fixedPeers: [], config, clockFile });
    const { params } = loadNetwork(out);
    const slotMs = params.blockTimeS * 1000;
    const client = nodeClient(node.url);
    const heightOf = async (): Promise<number> => (await client.status()).height;
    const statesOf = async (): Promise<readonly ForgingState[]> => {
      const response = await fetch(`${node.url}/api/node/status/forging`);
      return ((await response.json()) as { readonly data: readonly ForgingState[] }).data;
    };

    const checkWaits = async (): Promise<void> => {
      const aheadMs = Number(readFileSync(clockFile, 'utf8'));
      const states = await statesOf();
      t.is(states.length, ACTIVE_DELEGATES - 1);
      t.true(states.every(({ forging }) => forging));
      const waits = states.flatMap(({ waiting }) => waiting ?? []);
      for (const { code, until = '' } of waits) {
        t.is(code, 'FORGING_WAITS_FOR_EMPTY_SLOT');
        const fromNowMs = Date.parse(until) - Date.now() - aheadMs;
        t.true(fromNowMs > -slotMs && fromNowMs <= (ACTIVE_DELEGATES + 1) * slotMs, until);
      }
      // A delegate waits until the node has watched one of the delegate's slots. The test expects that, before this
      // request, the node has watched such slots of at most four of the 100 delegates. If the watched slot is also the
      // slot in which the node enabled the delegate, the delegate also waits for the end of the slot directly after it
      // (`UNSURE_SLOTS`).
      const reasons = waits.map(({ reason }) => reason);
      const watching = reasons.filter((reason) => /the node watches slots of the delegate first/.test(reason));
      t.true(watching.length >= ACTIVE_DELEGATES - 5, `${watching.length} watch`);
      const others = reasons.filter((reason) => !watching.includes(reason));
      t.true(
        others.every((reason) => /^the delegate was enabled a moment ago/.test(reason)),
        others.join('; '),
      );
    };
    writeFileSync(clockFile, '0');
    await checkWaits();
    await sleep(3 * slotMs);
    t.is(await heightOf(), 1);
    // Before a delegate signs, it must leave one of its slots unused. The node watches whether another node signs in
    // this slot. The next line sets the node's clock forward. The slots that the delegates have left unused so far then
    // no longer count: the clock was behind, so these slots had perhaps already ended when the node watched them.
    writeFileSync(clockFile, `${(ACTIVE_DELEGATES - 4) * slotMs}`);
    await sleep(slotMs);
    await checkWaits();
    await sleep(7 * slotMs);
    t.is(await heightOf(), 1);
  });
}

test.serial('an import replaces a network only with --force, and never another folder', async (t) => {
  const from = foreignFolder(t, 'devnet');
  const out = join(temporaryFolder(t), 'out');
  const args = ['network', 'import', '--from', from, '--name', 'mine', '--out', out];
  t.is((await runCli([...args, '--protocol-version', '2.7'])).code, 0);
  t.is(loadNetwork(out).protocolVersion, '2.7');
  const again = await runCli(args);
  t.is(again.code, 1);
  t.regex(again.stderr, /exists and is not empty: replace it with --force \(OUT_NOT_EMPTY\)\n$/);
  t.is(loadNetwork(out).protocolVersion, '2.7');
  t.is((await runCli([...args, '--force'])).code, 0);
  t.is(loadNetwork(out).protocolVersion, '2.0');

  const other = join(temporaryFolder(t), 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'mine'), 'x');
  const wrong = await runCli(['network', 'import', '--from', from, '--name', 'mine', '--out', other, '--force']);
  t.is(wrong.code, 1);
  t.regex(wrong.stderr, /choose another folder with --out/);
  t.deepEqual(readdirSync(other), ['mine']);
});

test.serial('an invalid name or folder is refused in one line, and nothing is written', async (t) => {
  const home = temporaryFolder(t);
  const from = foreignFolder(t, 'devnet');
  const run = async (name: string): Promise<string> => {
    const args = ['network', 'import', '--from', from, '--name', name];
    const { code, stdout, stderr } = await runCli(args, { env: { BLOOMERY_HOME: home } });
    t.is(code, 2, stderr);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.false(existsSync(join(home, 'networks', name)));
    return stderr;
  };
  t.regex(await run('A b'), /--name `A b` must be lower-case letters/);
  t.regex(await run('devnet'), /belongs to a network of the package/);
  t.regex(await run('testnet'), /genesis_block\.json: payloadHash must be .* as in testnet/);
  editJson(from, 'genesis_block.json', (json) => void (json.timestamp = 1));
  t.regex(await run('mine'), /foreign\/genesis_block\.json: id must be [0-9]+, which the header has/);
  writeFileSync(join(from, 'config.json'), '{');
  t.regex(await run('mine'), /config\.json: cannot be read: .*JSON/);
  t.deepEqual(existsSync(join(home, 'networks')) ? readdirSync(join(home, 'networks')) : [], []);
});

test.serial('a public network without its genesis block is refused with the way to get the block', async (t) => {
  const { code, stderr } = await runCli(['start', '--network', 'mainnet']);
  t.is(code, 2);
  t.true(isProblemLine(stderr), stderr);
  t.regex(stderr, /bloomery network import --from DIR --name mainnet \(docs\/guides\/public-networks\.md\)/);
});
