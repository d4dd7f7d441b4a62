/** Runs commands with `--json` and compares their output with the schemas that docs/cli publishes. */

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { jsonSchemas } from '../../src/cli/json-schemas.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { missingServer, startServer } from '../analytics/servers.ts';
import { runCli } from '../support/cli.ts';
import { argumentsOf, commandPaths, makeWorkplace, healthyAnswer, type Workplace } from '../support/every-command.ts';
import { matchesSchema } from '../support/json-schema.ts';
import { startOneNode } from '../support/one-node.ts';
import { freePortRanges } from '../support/ports.ts';

let folder: string;
let workplace: Workplace;
let server: Server;

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-json-'));
  workplace = await makeWorkplace(folder);
  server = createServer((request, response) => {
    request.resume();
    response.end(JSON.stringify({ data: healthyAnswer(request.url ?? '') }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

test.after.always(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Commands whose output other tests compare with the schemas. Each key names the file of these tests. The word `below`
 * means tests further down in this file.
 */
const ELSEWHERE = {
  'stopped-node.long.test.ts': ['block', 'tx', 'account', 'delegates', 'pool'],
  'devnet/control.long.test.ts': commandPaths().filter((path) => /^devnet (?!accounts|run)/.test(path)),
  'below, over a node': ['status', 'peers', 'why', ...['enable', 'disable', 'status', 'schedule'].map(ofForging)],
  'below, over an engine': ['query'],
  'below, over a server': ['sink clickhouse'],
};
const elsewhere = new Set<string>(Object.values(ELSEWHERE).flat());

function ofForging(name: string): string {
  return `forging ${name}`;
}

/**
 * Commands that write to the standard output with the arguments of `argumentsOf`. With `--json`, these commands must
 * write to a file instead.
 */
const TO_FILE: ReadonlySet<string> = new Set(['export', 'forging export']);

for (const path of Object.keys(jsonSchemas()).filter((each) => !elsewhere.has(each))) {
  test.serial(`${path} --json prints what its schema says`, async (t) => {
    const fresh = mkdtempSync(join(folder, 'fresh-'));
    const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const usual = argumentsOf(path, workplace, { node, fresh, ports: await freePortRanges(1) }) ?? [];
    const args = usual.map((arg) => (TO_FILE.has(path) && arg === '-' ? join(fresh, 'out') : arg));
    const { code, stdout, stderr } = await runCli([...path.split(' '), ...args, '--json']);
    // The chain and the node of this test belong to different networks, which the doctor reports as a fault.
    t.is(code, path === 'doctor' ? 1 : 0, stderr);
    matchesSchema(t, path, stdout);
  });
}

test.serial('a command that writes its result to the standard output takes no --json', async (t) => {
  for (const path of TO_FILE) {
    const fresh = mkdtempSync(join(folder, 'fresh-'));
    const args = argumentsOf(path, workplace, { node: '', fresh, ports: { http: 1, ws: 2 } }) ?? [];
    const { code, stdout, stderr } = await runCli([...path.split(' '), ...args, '--json']);
    t.is(code, 2);
    t.is(stdout, '');
    t.regex(stderr, /--json needs a file/);
  }
});

test.serial('the commands for a running node print what their schemas say', async (t) => {
  const network = packagedNetworkDirectory('devnet');
  const { delegates = [], defaultPassword = '' } = loadNetwork(network).forgers ?? {};
  const own = delegates.slice(0, 1);
  const publicKey = own[0]?.publicKey ?? '';
  const config = { forging: { enabled: true, force: false, delegates: own } };
  const node = await startOneNode(t, { network, fixedPeers: [], config });
  const password = join(folder, 'devnet-password');
  writeFileSync(password, defaultPassword);
  for (const [path, ...args] of [
    ['status'],
    ['status', '--digest'],
    ['peers'],
    ['why'],
    ['forging enable', publicKey, '--password-file', password],
    ['forging status'],
    ['forging schedule'],
    ['forging disable', publicKey, '--password-file', password],
  ] as const) {
    const { code, stdout, stderr } = await runCli([...path.split(' '), ...args, '--node', node.url, '--json']);
    t.is(code, 0, stderr);
    matchesSchema(t, path, stdout);
  }
});

test.serial('a query prints what its schema says, and takes one statement and one format', async (t) => {
  const fresh = mkdtempSync(join(folder, 'fresh-'));
  const data = argumentsOf('sink parquet', workplace, { node: '', fresh, ports: { http: 1, ws: 2 } }) ?? [];
  const filled = await runCli(['sink', 'parquet', ...data]);
  t.is(filled.code, 0, filled.stderr);
  const engine = engineThatAnswers({
    meta: [{ name: 'one', type: 'UInt8' }],
    data: [{ one: 1 }],
    rows: 1,
    statistics: {},
  });
  const ask = (sql: string, ...flags: readonly string[]) =>
    runCli(['query', sql, '--from', data[0] ?? '', '--engine', engine, ...flags]);
  const answered = await ask('SELECT 1 AS one;', '--json');
  t.is(answered.code, 0, answered.stderr);
  matchesSchema(t, 'query', answered.stdout);
  t.is((await ask('SELECT 1 AS one', '--format', 'TSV')).code, 0);
  const several = await ask('SELECT 1; SELECT 2');
  t.is(several.code, 2);
  t.regex(several.stderr, /several statements: give one SELECT/);
  const both = await ask('SELECT 1', '--json', '--format', 'TSV');
  t.is(both.code, 2);
  t.regex(both.stderr, /--json and --format both name a format/);
});

test.serial('sink clickhouse prints what its schema says, with the same schema as sink parquet', async (t) => {
  t.timeout(300_000);
  const schemas = jsonSchemas();
  t.deepEqual(schemas['sink clickhouse'], schemas['sink parquet']);
  // Without a ClickHouse server on this machine, this test only checks that `sink clickhouse` and `sink parquet` have
  // equal schemas. A test above checks the output of `sink parquet`.
  if (missingServer() !== undefined) return;
  const fresh = mkdtempSync(join(folder, 'fresh-'));
  const clickHouse = await startServer(join(fresh, 'server'));
  t.teardown(() => clickHouse.stop());
  const usual = argumentsOf('sink clickhouse', workplace, { node: '', fresh, ports: { http: 1, ws: 2 } }) ?? [];
  const args = usual.map((arg, index) => (usual[index - 1] === '--url' ? clickHouse.url : arg));
  const { code, stdout, stderr } = await runCli(['sink', 'clickhouse', ...args, '--json']);
  t.is(code, 0, stderr);
  matchesSchema(t, 'sink clickhouse', stdout);
});

test.serial('an empty BLOOMERY_CHDB counts as unset', async (t) => {
  const fresh = mkdtempSync(join(folder, 'fresh-'));
  const data = argumentsOf('sink parquet', workplace, { node: '', fresh, ports: { http: 1, ws: 2 } }) ?? [];
  t.is((await runCli(['sink', 'parquet', ...data])).code, 0);
  const env = { BLOOMERY_CHDB: '' };
  const { code, stderr } = await runCli(['query', 'SELECT 1', '--from', data[0] ?? ''], { env });
  t.true(code === 0 || stderr.includes('beside this program'), stderr);
});

/** Makes a package `chdb` that returns `answer` for every query. @returns the folder that contains the package */
function engineThatAnswers(answer: object): string {
  const engine = mkdtempSync(join(folder, 'engine-'));
  const place = join(engine, 'node_modules', 'chdb');
  mkdirSync(place, { recursive: true });
  const text = JSON.stringify(JSON.stringify(answer));
  writeFileSync(join(place, 'index.js'), `exports.Session = class { query() { return ${text}; } cleanup() {} };\n`);
  return engine;
}
