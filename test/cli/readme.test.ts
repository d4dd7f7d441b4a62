import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const README = readFileSync(join(packageDirectory(), 'README.md'), 'utf8');

/** Runs the README's first transaction against another port. */
async function firstTransaction(port: number) {
  const [, script = ''] = /<<'SCRIPT'\n(.*?)\nSCRIPT\n/s.exec(README) ?? [];
  const child = spawn(process.execPath, ['--input-type=module'], {
    cwd: packageDirectory(),
    // What else the environment asks for, colours among them, is not the README's.
    env: { PATH: process.env['PATH'] },
    timeout: 100_000,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.end(script.replace('127.0.0.1:4000', `127.0.0.1:${port}`));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

test.serial('the first transaction of the README says in one line that no devnet runs', async (t) => {
  const { http } = await freePortRanges(1);
  const { code, stdout, stderr } = await firstTransaction(http);
  t.is(code, 1);
  t.is(stdout, '');
  t.is(
    stderr,
    `No node answers at http://127.0.0.1:${http}/api: start the devnet first, with "npm run devnet" in another terminal.\n`,
  );
});

test.serial('the first transaction of the README is sent to the node and its address printed', async (t) => {
  const sent: Untyped[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => {
      if (request.method === 'POST') sent.push(JSON.parse(body));
      response.end(JSON.stringify({ data: { networkId: 'ab'.repeat(32) } }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { code, stdout, stderr } = await firstTransaction(port);
  t.is(code, 0, stderr);
  t.is(sent.length, 1);
  t.is(sent[0].asset.amount, '100000000');
  t.regex(stdout, /^200 \{/);
  t.true(stdout.endsWith(`/api/transactions?id=${sent[0].id}\n`), stdout);
});
