/** Runs commands against a server at a node's address. The server is not a node and returns odd answers. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { runChecks } from '../../src/cli/doctor/run-checks.ts';
import { nodeAsker } from '../../src/cli/ask-node.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import { healthyAnswer } from '../support/every-command.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const RUN_COMMANDS = fileURLToPath(new URL('../support/run-commands.js', import.meta.url));
const ROUNDS = 40;

/** Texts that control a terminal: title, colour, C1 codes, writing direction, forged lines, invisible characters. */
const CONTROL_TEXTS = [
  '\u001b]0;owned\u0007',
  '\u001b[2J\u001b[31m',
  '\u009b31m',
  '\u202eabc\u2066',
  'a\nbloomery: all is well',
  '\r\u0000\u007f',
  '\u2028x\u200b\ufeff',
  '\ud800',
];

const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 0.5, 2 ** 53, -1e300, 1e300, '', '1e9', '9'.repeat(400)),
  fc.constantFrom(...CONTROL_TEXTS),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const anyJson = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom(...CONTROL_TEXTS, 'height', 'toString', 'publicKey', 'length'), scalar, { maxKeys: 3 }),
);

/** Replaces or removes a part of a value. The number `at` selects the part. */
function corrupted(value: unknown, at: number, other: unknown): unknown {
  if (typeof value !== 'object' || value === null || at % 7 === 0) return other;
  const keys = Object.keys(value);
  const key = keys[at % Math.max(keys.length, 1)];
  if (key === undefined) return other;
  if (at % 11 === 10)
    return Array.isArray(value) ? [] : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  const member = corrupted((value as Record<string, unknown>)[key], Math.floor(at / 3), other);
  return Array.isArray(value) ? value.with(Number(key), member) : { ...value, [key]: member };
}

interface Oddity {
  readonly status: number;
  readonly at: number;
  readonly other: unknown;
  readonly isWrapped: boolean;
}

const oddity: fc.Arbitrary<Oddity> = fc.record({
  status: fc.constantFrom(200, 200, 200, 200, 400, 403, 404, 500),
  at: fc.nat(100_000),
  other: anyJson,
  isWrapped: fc.boolean(),
});

/** Starts a server that answers like a node. Many answers have a changed part, an error status or no JSON. */
async function hostileNode(t: ExecutionContext, seed: number): Promise<string> {
  const oddities = fc.sample(oddity, { numRuns: 2000, seed });
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    const { status, at, other, isWrapped } = oddities[asked++ % oddities.length] as Oddity;
    response.statusCode = status;
    const well = healthyAnswer(request.url ?? '');
    const data = at % 3 === 0 ? well : corrupted(well, at, other);
    const body = isWrapped || status === 200 ? { data, message: other, errors: [{ message: other }, other] } : other;
    response.end(at % 50 === 1 ? 'no JSON \u001b[2J' : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const QUERIES: readonly (readonly string[])[] = [
  ['status'],
  ['status', '--digest'],
  ['status', '--json'],
  ['peers'],
  ['peers', '--json'],
  ['block'],
  ['block', '3'],
  ['tx', '17'],
  ['account', '1L'],
  ['delegates'],
  ['pool'],
  ['why'],
  ['why', '--json'],
  ['why', 'missed', '3'],
  ['why', 'missed', '60'],
  ['forging', 'status'],
  ['forging', 'schedule'],
  ['forging', 'schedule', '--json'],
  ['forging', 'enable'],
  ['transfer', '1L', '1', '--yes'],
  ['vote', '+smith', '--yes'],
];

test('no answer can control the terminal or crash a command', async (t) => {
  const node = await hostileNode(t, 14);
  const home = temporaryFolder(t);
  const child = spawn(process.execPath, [RUN_COMMANDS], {
    env: {
      BLOOMERY_HOME: home,
      BLOOMERY_PASSPHRASE: `${'abandon '.repeat(11)}about`,
      BLOOMERY_PASSWORD: 'a password',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines = Array.from({ length: ROUNDS }, () => QUERIES).flat();
  child.stdin.end(lines.map((args) => `${JSON.stringify([...args, '--node', node])}\n`).join(''));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  t.is(code, 0, output.slice(-2000));
  t.true(output.length > 10_000);
  const odd = output.split('\n').filter((line) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(line));
  t.deepEqual(odd.slice(0, 3), []);
  const defects = output
    .split('\n')
    .filter((line) => /defect|is not a function|undefined|Cannot |NaN|Invalid/.test(line));
  t.deepEqual(defects.slice(0, 5), []);
});

test('the doctor never fails on the answers of a hostile node', async (t) => {
  for (let seed = 0; seed < ROUNDS; seed += 1) {
    const url = await hostileNode(t, seed);
    await t.notThrowsAsync(runChecks({ url, environment: {}, sampleAgainMs: 1 }), `seed ${seed}`);
  }
});

test('the command gives up an endless answer, and sends no password to a redirect', async (t) => {
  let got = 0;
  const server = createServer((request, response) => {
    if (request.url === '/elsewhere') got += 1;
    if (request.method === 'PUT') {
      response.writeHead(307, { location: '/elsewhere' });
      response.end();
      return;
    }
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const node = nodeAsker(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { timeoutMs: 60_000 });
  const endless = await t.throwsAsync(node.ask('node/status'), { message: /longer than 16777216 bytes/ });
  t.is(codeOf(endless), 'NODE_UNREACHABLE');
  await t.throwsAsync(node.send('PUT', 'node/status/forging', { password: 'secret' }));
  t.is(got, 0);
});
