/** Tests the commands that control a running devnet. All tests of this file use one devnet of real processes. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { loadNetwork } from '../../src/config/network.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { createSigner } from '../../src/protocol/sign.ts';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { lastWordsOf, waitFor } from '../support/devnet.ts';
import { commandPaths } from '../support/every-command.ts';
import { deviationFromSchema } from '../support/json-schema.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const NODES = 3;
const START_MS_MAX = 150_000;
const YEAR_S = 365 * 24 * 3600;

let directory: string;
let devnet: ChildProcess;
let output = '';
let ports: { readonly http: number; readonly ws: number };

test.before(async (t) => {
  t.timeout(300_000);
  directory = mkdtempSync(join(tmpdir(), 'bloomery-control-'));
  ports = await freePortRanges(NODES + 1);
  const flags = ['--nodes', `${NODES}`, '--delegates', '5', '--mine', 'on-demand', '--data-dir', directory];
  devnet = spawn(
    process.execPath,
    [CLI_ENTRY, 'devnet', ...flags, '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  for (const stream of [devnet.stdout, devnet.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  await waitFor(
    'the devnet',
    async () =>
      (await list()).nodes.length === NODES && (await Promise.all(clients().map((c) => c.status()))).length === NODES,
    START_MS_MAX,
    () => (devnet.exitCode === null ? undefined : output),
  );
});

test.after.always(() => {
  devnet.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

test.afterEach.always((t) => {
  if (!t.passed) t.log(output, ...Array.from({ length: NODES }, (_, index) => lastWordsOf(logOf(index))));
});

function logOf(index: number): string {
  return join(directory, `node-${index}`, 'node.log');
}

/** Commands whose output the tests of this file have compared with the schema of the command. */
const compared = new Set<string>();

async function ask(...args: readonly string[]): Promise<Untyped> {
  const { code, stdout, stderr } = await runCli(['devnet', ...args, '--data-dir', directory, '--json']);
  if (code !== 0) throw new Error(stderr);
  const deviation = deviationFromSchema(`devnet ${args[0]}`, stdout);
  if (deviation !== undefined) throw new Error(deviation);
  compared.add(`devnet ${args[0]}`);
  return JSON.parse(stdout);
}

function list(): Promise<Untyped> {
  return ask('list');
}

function clients() {
  return Array.from({ length: NODES }, (_, index) => nodeClient(`http://127.0.0.1:${ports.http + index}`, 60_000));
}

function heights(): Promise<readonly number[]> {
  return Promise.all(clients().map(async (client) => (await client.status()).height));
}

async function get(index: number, path: string): Promise<Untyped> {
  const response = await fetch(`http://127.0.0.1:${ports.http + index}/api/${path}`);
  return ((await response.json()) as Untyped).data;
}

test.serial('the devnet prints its addresses, ten worthless accounts and the next commands', async (t) => {
  t.true(output.includes(`http://127.0.0.1:${ports.http}/`), output);
  for (let index = 0; index < NODES; index += 1) t.true(output.includes(`http://127.0.0.1:${ports.http + index}/api`));
  const accounts = readAccounts(join(directory, 'network')).slice(0, 10);
  t.is(accounts.length, 10);
  for (const { address, passphrase } of accounts) {
    t.true(output.includes(address));
    t.true(output.includes(passphrase));
  }
  t.regex(output, /WORTHLESS/);
  t.regex(output, /next +bloomery devnet/);
});

test.serial(
  'no block is forged without an explicit request; blocks that are asked for are on all nodes at once',
  async (t) => {
    t.deepEqual(await heights(), [1, 1, 1]);
    const mined = await ask('mine', '7');
    t.like(mined, { slots: 7, emptySlots: 0, height: 8 });
    t.deepEqual(await heights(), [8, 8, 8]);
    const digests = await Promise.all(clients().map((client) => client.digest()));
    t.is(new Set(digests.map(({ digest }) => digest)).size, 1);
  },
);

test.serial('a year passes at once, for clients too, and the next blocks have the new time', async (t) => {
  const before = (await get(1, 'node/status')).secondsSinceEpoch;
  const { time } = await ask('warp', '1y');
  for (let index = 0; index < NODES; index += 1) {
    const { secondsSinceEpoch, currentTime } = await get(index, 'node/status');
    t.true(secondsSinceEpoch >= before + YEAR_S);
    t.true(currentTime >= Date.parse(time));
  }
  const { height } = await ask('mine', '2');
  t.is(height, 10);
  const [block] = await get(2, `blocks?height=${height}`);
  t.true(block.timestamp >= before + YEAR_S);
  const { code, stderr } = await runCli(['devnet', 'warp', '2020-01-01', '--data-dir', directory]);
  t.is(code, 1);
  t.regex(stderr, /clock shows 20\d\d-.* and cannot go back: revert to a snapshot/);
});

test.serial('a frozen clock stands still until it is resumed', async (t) => {
  const { time } = await ask('freeze');
  t.is((await list()).clock, 'frozen');
  t.is((await get(0, 'node/status')).currentTime, Date.parse(time));
  t.is((await get(2, 'node/status')).currentTime, Date.parse(time));
  t.is((await ask('resume')).time, time);
  t.is((await list()).clock, 'running');
});

test.serial('in the mode instant, a transaction is in a block before anybody asks', async (t) => {
  t.deepEqual(await ask('instant'), { mode: 'instant' });
  const network = join(directory, 'network');
  const [, , recipient] = readAccounts(network);
  const node = `http://127.0.0.1:${ports.http + 1}`;
  const to = recipient?.address ?? '';
  const args = ['transfer', '--from', 'account_1', to, '1', '--wait', '--network', network, '--node', node];
  const { code, stderr } = await runCli(args);
  t.is(code, 0, stderr);
  t.deepEqual(await heights(), [11, 11, 11]);
  await ask('on-demand');
});

test.serial('a killed node stays down until it is restarted, and then catches up', async (t) => {
  const killed = await ask('kill', '2');
  t.is(killed.state, 'killed');
  t.is(killed.pid, undefined);
  // At least five successive slots of the ten are in the same round, so each of the five delegates owns a slot.
  const mined = await ask('mine', '10');
  t.true(mined.emptySlots > 0, 'one of five delegates is on node 2');
  t.is((await list()).nodes[2].state, 'killed');
  const restarted = await ask('restart', '2');
  t.is(restarted.state, 'running');
  await waitFor(
    'node 2',
    async () => (await heights()).every((height) => height === mined.height),
    START_MS_MAX,
    () => (devnet.exitCode === null ? undefined : output),
  );
  t.is((await ask('mine', '5')).emptySlots, 0);
});

test.serial('a paused node does not answer, is shown as paused, and continues when it is resumed', async (t) => {
  t.is((await ask('pause', '1')).state, 'paused');
  await t.throwsAsync(nodeClient(`http://127.0.0.1:${ports.http + 1}`, 500).status());
  t.true((await ask('mine', '10')).emptySlots > 0, 'the others do not wait for it');
  t.is((await ask('resume', '1')).state, 'running');
  await waitFor('node 1', async () => new Set(await heights()).size === 1, START_MS_MAX);
  t.is(devnet.exitCode, null);
});

test.serial('an added node follows the chain of the other nodes', async (t) => {
  const added = await ask('add');
  t.like(added, { index: NODES, state: 'running', delegates: 0, http: ports.http + NODES });
  const client = nodeClient(`http://127.0.0.1:${ports.http + NODES}`, 60_000);
  const [height = 0] = await heights();
  await waitFor('the new node', async () => (await client.status()).height >= height, START_MS_MAX);
  const mined = await ask('mine');
  t.is((await client.status()).height, mined.height);
});

test.serial('a snapshot brings back chains, pools and clock of all nodes, any number of times', async (t) => {
  t.timeout(300_000);
  const [, sender, recipient] = readAccounts(join(directory, 'network'));
  const file = join(directory, 'passphrase');
  writeFileSync(file, `${sender?.passphrase}\n`, { mode: 0o600 });
  const send = (amount: string) =>
    runCli([
      ...['transfer', recipient?.address ?? '', amount, '--passphrase-file', file, '--yes'],
      ...['--node', `http://127.0.0.1:${ports.http}`],
    ]);
  const digests = () => Promise.all(clients().map(async (client) => (await client.digest()).digest));
  const { time } = await ask('freeze');
  const sent = await send('2');
  t.is(sent.code, 0, sent.stderr);
  const kept = await ask('snapshot', 'before');
  t.deepEqual(new Set(await digests()), new Set([kept.digest]));
  t.is(kept.height, (await heights())[0]);
  for (let turn = 0; turn < 2; turn += 1) {
    await ask('warp', '1d');
    const more = await send(`${3 + turn}`);
    t.is(more.code, 0, more.stderr);
    await ask('mine', '7');
    t.false((await digests()).includes(kept.digest));
    t.deepEqual(await ask('revert', 'before'), kept);
    t.deepEqual(new Set(await digests()), new Set([kept.digest]));
    t.is((await list()).time, time);
    t.is((await get(1, 'node/status')).currentTime, Date.parse(time));
    t.is((await get(0, 'node/status')).transactions.total - (await get(0, 'node/status')).transactions.confirmed, 1);
  }
  t.deepEqual(await ask('snapshots'), { snapshots: [kept] });
  // Transactions that waited in the pool of a node are in the next block that the node forges.
  await ask('mine', '5');
  t.is(new Set(await digests()).size, 1);
  const confirmed = await get(2, `transactions?senderId=${sender?.address}&limit=100`);
  t.deepEqual(confirmed.map(({ amount }: Untyped) => amount).sort(), ['100000000', '200000000']);
  await ask('resume');
});

test.serial('a stopped node is restored as well, and a hanging node prevents the restore', async (t) => {
  await ask('kill', '1');
  t.is((await ask('revert', 'before')).name, 'before');
  await ask('restart', '1');
  await waitFor('node 1', async () => new Set(await heights()).size === 1, START_MS_MAX);
  await ask('pause', '1');
  const paused = await runCli(['devnet', 'revert', 'before', '--data-dir', directory]);
  t.is(paused.code, 1);
  t.regex(paused.stderr, /node 1 neither answers nor is down: wait for it, or resume or kill it first/);
  await ask('resume', '1');
  t.is((await list()).clock, 'frozen', 'as it was kept');
  await ask('resume');
  const unknown = await runCli(['devnet', 'revert', 'after', '--data-dir', directory]);
  t.is(unknown.code, 1);
  t.regex(unknown.stderr, /there is no snapshot after: there are before/);
  const wrong = await runCli(['devnet', 'snapshot', '../up', '--data-dir', directory]);
  t.is(wrong.code, 2);
});

test.serial('an account is funded at once, with a transaction like any other', async (t) => {
  const funded = await ask('fund', '77L', '12.5');
  t.like(funded, { address: '77L', balance: '1250000000' });
  t.is((await get(2, 'accounts?address=77L'))[0].balance, '1250000000');
  t.is((await get(1, `transactions?id=${funded.transactionId}`))[0].height, funded.height);
  const tooMuch = await runCli(['devnet', 'fund', '77L', '100000001', '--data-dir', directory]);
  t.is(tooMuch.code, 1);
  t.regex(tooMuch.stderr, /the transaction is refused: .*enough/);
});

test.serial(
  'an impersonated account needs no signature on any node of the devnet, and every other account still needs one',
  async (t) => {
    const [genesis, account] = readAccounts(join(directory, 'network'));
    const { publicKey, address } = await ask('impersonate', genesis?.address ?? '');
    t.is(address, genesis?.address);
    t.is(publicKey, genesis?.publicKey);
    const { params } = loadNetwork(join(directory, 'network'));
    const signer = createSigner(params, defaultEd25519());
    const unsigned = async (senderPublicKey: string, amount: bigint) => {
      const { secondsSinceEpoch } = await get(0, 'node/status');
      const stranger = keyPairOfPassphrase('nobody of this network');
      const payload = { kind: 'transfer', amount, recipientId: '78L' } as const;
      const json = signer.toJson(signer.sign({ payload, timestamp: secondsSinceEpoch, keyPair: stranger }));
      const { id: _id, senderId: _senderId, ...rest } = json;
      // A node of generation 3 ignores this id and computes the id itself.
      return { ...rest, id: '1', senderPublicKey, signature: '00'.repeat(64) };
    };
    const post = async (index: number, body: object): Promise<Untyped> => {
      const response = await fetch(`http://127.0.0.1:${ports.http + index}/api/transactions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, ...((await response.json()) as object) };
    };
    const refused = await post(0, await unsigned(account?.publicKey ?? '', 5n));
    t.is(refused.status, 409, JSON.stringify(refused));
    await ask('instant');
    const taken = await post(1, await unsigned(publicKey, 7n));
    t.is(taken.status, 200, JSON.stringify(taken));
    await waitFor('the block', async () => (await get(2, 'accounts?address=78L'))[0]?.balance === '7', START_MS_MAX);
    await ask('on-demand');
    // Node 2 downloads the chain again. It must accept the block with the unsigned transaction.
    await ask('kill', '2');
    rmSync(join(directory, 'node-2', 'devnet', 'chain'), { recursive: true });
    await ask('restart', '2');
    const { height } = await ask('mine');
    await waitFor('node 2', async () => (await heights())[2] === height, START_MS_MAX);
    t.is((await get(2, 'accounts?address=78L'))[0].balance, '7');
    // A node outside the devnet refuses the data folder of node 2. If it accepted the folder, it would not detect the
    // unsigned transaction, because a node does not verify stored blocks again.
    await ask('kill', '2');
    const alone = await runCli([
      'start',
      '--network',
      join(directory, 'network'),
      '--data-dir',
      join(directory, 'node-2'),
    ]);
    t.is(alone.code, 1, alone.stderr);
    t.regex(alone.stderr, /is that of a devnet with unsigned blocks or transactions/);
    await ask('restart', '2');
    const unknown = await runCli(['devnet', 'impersonate', '78L', '--data-dir', directory]);
    t.is(unknown.code, 1);
    t.regex(unknown.stderr, /78L has sent nothing yet, so the chain does not know its public key/);
  },
);

test.serial(
  'a partition keeps blocks in their part, outlasts a restart, and all nodes agree after its end',
  async (t) => {
    t.timeout(300_000);
    const cut = await ask('partition', '0', '1,2');
    // The command names two parts of the network: node 0, and the nodes 1 and 2. It does not name the added node 3, so
    // node 3 alone is part number three.
    t.deepEqual(cut, { parts: [[0], [1, 2], [3]], nodes: [] });
    t.deepEqual((await list()).faults, cut);
    const [before = 0] = await heights();
    await ask('mine', '5');
    const [alone = 0, first = 0, second = 0] = await heights();
    t.is(first, second);
    t.true(alone > before && first > before, `${alone} and ${first} from ${before}`);
    const after = await Promise.all(clients().map((each) => each.blockId(before + 1)));
    t.not(after[0], after[1], 'no block crossed');
    t.is(after[1], after[2]);
    // After a restart, node 0 is still cut off from the other nodes and receives no blocks from them.
    await ask('kill', '0');
    await ask('mine', '5');
    await ask('restart', '0');
    const client = nodeClient(`http://127.0.0.1:${ports.http}`, 60_000);
    await waitFor('node 0', () => client.status(), START_MS_MAX);
    t.is((await client.status()).height, alone);
    t.deepEqual(await ask('heal'), { parts: [], nodes: [] });
    await waitFor(
      'one chain',
      async () => {
        await ask('mine');
        return new Set(await heights()).size === 1;
      },
      START_MS_MAX,
    );
    const blocks = await Promise.all(clients().map(async (each) => each.blockId((await each.status()).height)));
    t.is(new Set(blocks).size, 1);
    for (const index of [0, 1, 2]) {
      const peers: Untyped = await get(index, 'node/peers');
      t.deepEqual(
        peers.filter(({ verdict, reputation }: Untyped) => verdict === 'banned' || reputation < 100),
        [],
      );
    }
  },
);

test.serial('links are slow and lossy, and a clock is skewed, until they are healed', async (t) => {
  t.like(await ask('delay', '150ms', '1'), { nodes: [{ node: 1, delayMs: 150 }] });
  t.like(await ask('loss', '5%', '1,2'), {
    nodes: [
      { node: 1, loss: 0.05 },
      { node: 2, loss: 0.05 },
    ],
  });
  await ask('freeze');
  await ask('skew', '2', '-3s');
  const { time, faults } = await list();
  t.deepEqual(faults.nodes, [
    { node: 1, delayMs: 150, loss: 0.05, skewMs: 0 },
    { node: 2, delayMs: 0, loss: 0.05, skewMs: -3000 },
  ]);
  t.is((await get(0, 'node/status')).currentTime, Date.parse(time));
  t.is((await get(2, 'node/status')).currentTime, Date.parse(time) - 3000);
  const { stdout } = await runCli(['devnet', 'list', '--data-dir', directory]);
  t.regex(stdout, /^node 1  delay 150ms, loss 5%\nnode 2  loss 5%, clock -3s$/m);
  const healed = await runCli(['devnet', 'heal', '--data-dir', directory]);
  t.is(healed.stdout, 'no fault is active\n', healed.stderr);
  t.is((await get(2, 'node/status')).currentTime, Date.parse(time));
  await ask('resume');
});

test.serial('impossible faults are refused in one line that names them, and nothing changes', async (t) => {
  for (const [args, sentence] of [
    [['partition', '0,1|7'], /there is no node 7: the last one is 3/],
    [['partition', '0,1', '1,2'], /node 1 is listed twice: a node can be in one part only/],
    [['partition', '0,1,2,3'], /one part of all nodes cuts nothing: name two parts/],
    [['partition', '0;1'], /`0;1` is not part of a network: give the numbers of its nodes/],
    [['delay', '3'], /`3` is not a delay: give a time from 0ms to 60s, such as 150ms/],
    [['delay', '1s', '9'], /there is no node 9/],
    [['loss', '200%'], /`200%` is not a share of messages: give one from 0% to 100%/],
    [['skew', '1', '3s'], /`3s` is not a clock offset: give \+3s, -500ms or 0s/],
    [['skew', '1', '--fast'], /`--fast` is not a clock offset/],
    [['skew', '9', '+3s'], /there is no node 9/],
  ] as const) {
    const { code, stderr } = await runCli(['devnet', ...args, '--data-dir', directory]);
    t.is(code, 2, stderr);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, sentence);
  }
  t.deepEqual((await list()).faults, { parts: [], nodes: [] });
});

test.serial('wrong numbers are refused in one line', async (t) => {
  for (const args of [
    ['kill', '9'],
    ['warp', 'soon'],
  ]) {
    const { code, stderr } = await runCli(['devnet', ...args, '--data-dir', directory]);
    t.is(code, 2);
    t.true(isProblemLine(stderr), stderr);
  }
});

test.serial('the control port accepts nothing without the token, and nothing from web pages', async (t) => {
  const file = join(directory, 'control.json');
  t.is(statSync(file).mode & 0o777, 0o600);
  const { port, token } = JSON.parse(readFileSync(file, 'utf8'));
  const bearer = { authorization: `Bearer ${token}` };
  const own = `127.0.0.1:${port}`;
  const status = (path: string, headers: Record<string, string>, method = 'POST', body = ''): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.once('error', reject);
      sent.end(body);
    });
  t.is(await status('/list', { ...bearer, host: own }), 200);
  t.is(await status('/list', { ...bearer, host: `localhost:${port}` }), 200);
  t.is(await status('/mine', { host: own }), 401);
  t.is(await status('/mine', { host: own, authorization: `Bearer ${'0'.repeat(64)}` }), 401);
  t.is(await status('/mine', { ...bearer, host: 'devnet.example' }), 403);
  t.is(await status('/mine', { ...bearer, host: own, origin: 'http://127.0.0.1:4000' }), 403);
  t.is(await status('/mine', { ...bearer, host: own, origin: 'null' }), 403);
  t.is(await status('/list', { ...bearer, host: own }, 'GET'), 404);
  t.is(await status('/nothing', { ...bearer, host: own }), 404);
  t.is(await status('/__proto__', { ...bearer, host: own }), 404);
  t.is(await status('/mine', { ...bearer, host: own }, 'POST', '[1]'), 400);
  t.is(await status('/mine', { ...bearer, host: own }, 'POST', '{"slots":1e9}'), 400);
  t.is(await status('/mine', { ...bearer, host: own }, 'POST', `{"slots":${'1'.repeat(20_000)}}`), 413);
});

test.serial('the dashboard has the same operations, for this machine and its own pages only', async (t) => {
  const url = `http://127.0.0.1:${ports.http + 1}`;
  const operate = async (operation: string, parameters: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/devnet/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
    });
    return { status: response.status, body: (await response.json()) as Untyped };
  };
  t.true((await get(1, 'devnet')).nodes.length >= NODES);
  const [before = 0] = await heights();
  const { body: mined } = await operate('mine', { slots: 2 });
  t.is(mined.data.height, before + 2);
  const { body: funded } = await operate('fund', { address: '4711L', amount: '5' });
  t.is(funded.data.balance, '5');
  const { body: known } = await operate('accounts', {});
  t.false(JSON.stringify(known).includes('passphrase'));
  t.is(known.data.accounts[1].name, 'account_1');
  const { body: sent } = await operate('send', { from: 'account_1', address: '4711L', amount: '7', data: 'tea' });
  await ask('mine', '1');
  const [transaction] = await get(2, `transactions?id=${sent.data.id}`);
  t.like(transaction, { recipientId: '4711L', amount: '7', asset: { data: 'tea' } });
  for (const [operation, parameters, status, message] of [
    ['send', { from: 'nobody', address: '4711L', amount: '7' }, 400, /not an account of this devnet/],
    ['send', { from: 'account_1', address: '4711', amount: '7' }, 400, /not an address/],
    ['send', { from: 'account_1', address: '4711L', amount: '7', data: 'é'.repeat(33) }, 400, /66 bytes/],
    ['send', { from: 'account_1', address: '4711L', amount: '9'.repeat(18) }, 409, /refused/],
    ['kill', { node: 1 }, 409, /serves this page/],
    ['stop', {}, 404, /no operation stop/],
    ['impersonate', { address: '4711L' }, 404, /no operation impersonate/],
  ] as const) {
    const answer = await operate(operation, parameters);
    t.is(answer.status, status, operation);
    t.regex(answer.body.message, message);
  }
  t.is((await operate('mine', {}, { origin: `http://127.0.0.1:${ports.http}` })).status, 403);
});

test.serial('in the mode interval, blocks come by themselves until another mode is chosen', async (t) => {
  const [before = 0] = await heights();
  t.deepEqual(await ask('interval'), { mode: 'interval' });
  await waitFor('two more blocks', async () => ((await heights())[0] ?? 0) >= before + 2, 60_000);
  t.deepEqual(await ask('on-demand'), { mode: 'on-demand' });
  // The mode (the way in which the devnet makes blocks) perhaps changed in the middle of a slot. In this case, it is
  // possible that some nodes get the block of this slot only after the change.
  await waitFor('equal heights', async () => new Set(await heights()).size === 1, 60_000);
});

test.serial('stop ends the devnet with all its nodes, and the clock is kept for the next run', async (t) => {
  const { nodes, time } = await list();
  const ended = once(devnet, 'exit');
  t.deepEqual(await ask('stop'), {});
  t.deepEqual(await ended, [0, null]);
  for (const { pid } of nodes) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  t.false(existsSync(join(directory, 'control.json')));
  const { aheadMs } = JSON.parse(readFileSync(join(directory, 'clock.json'), 'utf8'));
  t.true(aheadMs > Date.parse(time) - Date.now() - 60_000);
  const { code, stderr } = await runCli(['devnet', 'list', '--data-dir', directory]);
  t.is(code, 1);
  t.regex(stderr, /no devnet runs in .*: start it with bloomery devnet, or name its folder with --data-dir/);
});

test.serial('the tests of this file compared the output of each control command with its schema', (t) => {
  const controls = commandPaths().filter((path) => /^devnet (?!accounts|run)/.test(path));
  t.deepEqual(
    controls.filter((path) => !compared.has(path)),
    [],
  );
});
