import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { errorLineOf } from '../../src/cli/error-lines.ts';
import { portInUse } from '../../src/primitives/errors.ts';
import { askDevnet } from '../../src/cli/devnet/control-client.ts';
import { writeControlFile } from '../../src/cli/devnet/control-file.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test('another program at the control port of a devnet is reported, whatever it answers', async (t) => {
  const folder = temporaryFolder(t);
  let answer = { status: 200, body: '' };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  writeControlFile(folder, { port: (server.address() as AddressInfo).port, token: 'ab'.repeat(32) });

  for (const body of ['null', '7', '"text"', '[]', '{"code":1}', '{"code":"A","message":2}', '', '<html>']) {
    answer = { status: 500, body };
    await t.throwsAsync(askDevnet(folder, 'list'), { code: 'DEVNET_ANSWER_UNEXPECTED' }, body);
  }
  answer = { status: 200, body: '<html>' };
  await t.throwsAsync(askDevnet(folder, 'list'), { code: 'DEVNET_ANSWER_UNEXPECTED' });
  // The ports of an added node are in use.
  const { code, message } = portInUse(4004);
  answer = { status: 409, body: JSON.stringify({ code, message }) };
  const error: unknown = await askDevnet(folder, 'add').catch((thrown: unknown) => thrown);
  t.regex(errorLineOf(error).line, /port 4004 is in use: stop the program that has it/);
  answer = { status: 409, body: '{"code":"DEVNET_NODE_PAUSED","message":"node 2 is paused"}' };
  await t.throwsAsync(askDevnet(folder, 'list'), { code: 'DEVNET_NODE_PAUSED', message: 'node 2 is paused' });
});
