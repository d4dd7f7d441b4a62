/** Compares the command output and the HTTP answers for the folder of a stopped node with those of the running node. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import Ajv from 'ajv';
import { createAnswers } from '../../src/http/answers.ts';
import { jsonSchemas } from '../../src/cli/json-schemas.ts';
import { Chain } from '../../src/engine/chain.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { openChain, type ChainLocation } from '../../src/node/chain-tool.ts';
import { systemClock } from '../../src/node/system.ts';
import type { Block } from '../../src/protocol/types.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { createChainLog } from '../../src/store/chain/chain-log.ts';
import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { openStoppedNode } from '../../src/node/stopped-node.ts';
import { loadNetwork } from '../../src/config/network.ts';
import {
  madeChain,
  NETWORK_NAME,
  locationIn,
  storeChain,
  writeNetworkFolder,
  type MadeChain,
} from '../support/chain-folder.ts';
import { isProblemLine, runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { startOneNode } from '../support/one-node.ts';

const HEIGHT = 33;
const MADE = { 2: madeChain(HEIGHT, { generation: 2, delegateListRoundOffset: 0 }), 3: madeChain(HEIGHT) } as const;

interface CommandOutput {
  readonly args: readonly string[];
  readonly stdout: string;
}

async function ask(t: ExecutionContext, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args);
  t.is(stderr, '', args.join(' '));
  t.is(code, 0, args.join(' '));
  return stdout;
}

for (const generation of [2, 3] as const) {
  test.serial(`a stopped folder of generation ${generation} answers like the running node`, (t) =>
    compareStoppedWithRunning(t, MADE[generation]),
  );
}

async function compareStoppedWithRunning(t: ExecutionContext, { maker, network, blocks }: MadeChain): Promise<void> {
  const folder = temporaryFolder(t);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  const dataDir = join(folder, 'data');
  await storeLoggedChain(locationIn(dataDir, network), blocks);
  const flags = ['--no-peers', '--no-forging'];
  const node = await startOneNode(t, { network: networkFolder, fixedPeers: [], dataDir, flags });
  const [rich, other] = network.accounts;
  if (rich === undefined || other === undefined) throw new Error('the network has accounts');
  const waiting = maker.transfer(rich, other, 77n);
  const body = JSON.stringify(maker.rules.codec.transactionToJson(waiting));
  const headers = { 'content-type': 'application/json' };
  const posted = await fetch(`${node.url}/api/transactions`, { method: 'POST', headers, body });
  t.is(posted.status, 200, await posted.text());

  const [genesis, filled] = [blocks[0], blocks[9]];
  const sent = filled?.transactions[0];
  if (genesis === undefined || filled === undefined || sent === undefined) throw new Error('the tenth block is filled');
  const name = genesis.transactions.flatMap(({ payload }) =>
    payload.kind === 'delegate' ? [payload.username] : [],
  )[0];
  const file = join(folder, 'transaction.json');
  writeFileSync(file, JSON.stringify(maker.rules.codec.transactionToJson(maker.transfer(rich, other, 78n))));
  const queries: readonly (readonly string[])[] = [
    ['block', '--json'],
    ['block', 'latest'],
    ['block', '1', '--json'],
    ['block', filled.id],
    ['block', filled.id, '--json'],
    ['tx', sent.id],
    ['tx', sent.id, '--json'],
    ['account', sent.senderId.slice(0, -1)],
    ['account', sent.senderId, '--json'],
    ['account', filled.generatorPublicKey, '--json'],
    ['account', (name ?? '').toUpperCase(), '--json'],
    ['delegates'],
    ['delegates', '--limit', '7', '--offset', '3', '--json'],
    ['events', '--types', 'blocks/new,transactions/included,finalized/change', '--since', '5.1'],
    ['events', '--address', sent.senderId, '--json'],
    ['events', '--json', '--since', '9999.0'],
    ['tx', 'verify', file, '--json'],
  ];
  const answers: CommandOutput[] = [];
  for (const args of queries) answers.push({ args, stdout: await ask(t, [...args, '--node', node.url]) });
  const targets = [
    '/blocks?limit=100&sort=totalFee:asc',
    '/blocks?height=x',
    `/transactions?senderId=${sent.senderId}&limit=3&offset=1`,
    '/transactions?data=%25a%25',
    '/accounts?sort=balance:desc&limit=100',
    `/accounts/${sent.senderId}/multisignature_groups`,
    `/accounts/${sent.senderId}/multisignature_memberships`,
    `/votes?address=${sent.senderId}`,
    `/voters?username=${name}`,
    '/delegates?search=1&limit=2',
    '/node/constants',
    '/node/digest',
    '/dapps',
    '/peers',
    '/nothing',
  ];
  const answered: unknown[] = [];
  for (const target of targets) {
    const response = await fetch(`${node.url}/api${target}`);
    answered.push({ target, status: response.status, body: withoutNonce(await response.json()) });
  }
  const pool = JSON.parse(await ask(t, ['pool', '--json', '--node', node.url])) as Pool;
  t.deepEqual(
    pool.transactions.map(({ id }) => id),
    [waiting.id],
  );
  node.process.kill('SIGTERM');
  await node.ended;

  const opened = await openStoppedNode({
    network: loadNetwork(networkFolder),
    dataDirectory: join(dataDir, NETWORK_NAME),
  });
  const answersOf = createAnswers(opened.api);
  const again: unknown[] = [];
  for (const target of targets) {
    const { status, body: answer } = await answersOf(target);
    again.push({ target, status, body: withoutNonce(answer) });
  }
  await opened.close();
  t.deepEqual(again, answered);

  const place = ['--data-dir', dataDir, '--network', networkFolder];
  for (const { args, stdout } of answers) t.is(await ask(t, [...args, ...place]), stdout, args.join(' '));
  const kept = JSON.parse(await ask(t, ['pool', '--json', ...place])) as Pool;
  t.deepEqual(kept, { transactions: pool.transactions.map((each) => ({ ...each, state: 'received' })) });
  t.regex(await ask(t, ['pool', ...place]), new RegExp(`^${waiting.id} +to be checked `, 'm'));
  const found = JSON.parse(await ask(t, ['tx', waiting.id, '--json', ...place])) as { state: string };
  t.is(found.state, 'received');

  const schemas = jsonSchemas();
  const ajv = new Ajv();
  const outputs: CommandOutput[] = [
    ...answers.filter(({ args }) => args.includes('--json')),
    { args: ['pool'], stdout: JSON.stringify(pool) },
    { args: ['tx'], stdout: JSON.stringify(found) },
  ];
  for (const { args, stdout } of outputs) {
    const schema = schemas[args[1] === 'verify' ? 'tx verify' : (args[0] ?? '')];
    const documents = stdout.trim().split('\n');
    t.true(documents.length > 0);
    for (const document of documents)
      t.true(
        ajv.validate(schema ?? false, JSON.parse(document)),
        `${args.join(' ')}: ${ajv.errorsText()}: ${document}`,
      );
  }
  t.false(ajv.validate(schemas['block'] ?? true, { block: {}, transactions: [] }));
}

/** Writes the chain and its log (`createChainLog`), as a node does. */
async function storeLoggedChain(place: ChainLocation, blocks: readonly Block[]): Promise<void> {
  const { store, rules, close } = await openChain(place, true);
  createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
  const verifier = createInlineVerifier(defaultEd25519(), 1000);
  const logged = new Chain({ store, rules, verifier, clock: systemClock, observer: SILENT });
  await logged.append(blocks.slice(1));
  await close();
}

/** Replaces the nonce of the node in an answer by an empty text. A node has a new nonce after every start. */
function withoutNonce(body: unknown): unknown {
  const { data } = body as { readonly data?: { nonce?: string } };
  if (data?.nonce !== undefined) data.nonce = '';
  return body;
}

interface Pool {
  readonly transactions: readonly { readonly id: string; readonly state: string }[];
}

test.serial('a query for data that a folder lacks is refused in one line', async (t) => {
  const { network, blocks } = MADE[3];
  const folder = temporaryFolder(t);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  const dataDir = join(folder, 'data');
  const place = locationIn(dataDir, network);
  await storeChain(place, blocks);
  const stopped = ['--data-dir', dataDir, '--network', networkFolder];
  for (const [args, exitCode, message] of [
    [['block', '99', ...stopped], 1, /has no block 99/],
    [['tx', '99', ...stopped], 1, /knows no transaction 99/],
    [['account', '99', ...stopped], 1, /knows no account 99/],
    [['account', '99 L', ...stopped], 1, /knows no account 99 L/],
    [['events', '--follow', ...stopped], 2, /--follow needs a running node/],
    [['events', '--types', 'blocks/old', ...stopped], 1, /No enum match for: blocks\/old/],
    [['block', '--node', 'localhost', ...stopped], 2, /cannot be used with option '--node/],
    [['block', '--data-dir', join(folder, 'elsewhere')], 2, /there is no chain in/],
    [['delegates', '--network', networkFolder], 2, /there is no chain of made/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(args);
    t.is(code, exitCode, stderr);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  }
  const opened = await openStoppedNode({ ...place, network: loadNetwork(networkFolder) });
  t.is(opened.api.identity.networkName, NETWORK_NAME);
  await t.throwsAsync(() => opened.api.submitTransaction({}), { message: /stopped/ });
  await opened.close();
});
