import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { nodeAsker } from '../../src/cli/ask-node.ts';
import { errorLineOf } from '../../src/cli/error-lines.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { fakeNode } from '../http/fake-node.ts';
import { runCli } from '../support/cli.ts';

async function serve(t: ExecutionContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [name, listener] of [
  ['never answers', () => undefined],
  ['answers half', (_request, response) => response.writeHead(200).write('{"data":')],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  test(`a request to a node that ${name} ends with its time-out`, async (t) => {
    const asker = nodeAsker(await serve(t, listener), { timeoutMs: 200 });
    const error = await t.throwsAsync(asker.ask('node/status'), { instanceOf: ProtocolError });
    t.is(error?.code, 'NODE_UNREACHABLE');
    t.regex(error?.message ?? '', /no answer in 0\.2 s/);
  });
}

for (const [name, listener] of [
  ['answers half', (_request, response) => void response.writeHead(503).write('{"message":')],
  ['ends in its answer', (_request, response) => void response.writeHead(503).write('{', () => response.destroy())],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  test(`a request for a stream to a node that ${name} without a stream is an error within the time-out`, async (t) => {
    const asker = nodeAsker(await serve(t, listener), { timeoutMs: 200 });
    await t.throwsAsync(asker.stream('events'), { instanceOf: ProtocolError, code: 'NODE_UNREACHABLE' });
  });
}

test('a request that the node timed out is sent again once, and a command is not', async (t) => {
  const methods: string[] = [];
  const asker = nodeAsker(
    await serve(t, (request, response) => {
      methods.push(request.method ?? '');
      if (methods.length === 2) return void response.end('{"data":{"height":7}}');
      response.writeHead(408).end();
    }),
  );
  t.deepEqual(await asker.ask('node/other'), { height: 7 });
  await t.throwsAsync(asker.send('POST', 'transactions', {}), { code: 'NODE_ANSWER_UNEXPECTED' });
  t.deepEqual(methods, ['GET', 'GET', 'POST']);
  await t.throwsAsync(asker.ask('node/other'), { message: /status 408/ });
  t.is(methods.length, 5);
});

test('the time limit of all commands can be set in the environment', async (t) => {
  const url = await serve(t, () => undefined);
  const askerWith = (seconds: string): ReturnType<typeof nodeAsker> => {
    process.env['BLOOMERY_NODE_TIMEOUT_S'] = seconds;
    try {
      return nodeAsker(url);
    } finally {
      delete process.env['BLOOMERY_NODE_TIMEOUT_S'];
    }
  };
  const error = await t.throwsAsync(askerWith('1').ask('node/status'), { code: 'NODE_UNREACHABLE' });
  t.regex(error.message, /no answer in 1 s.*wait longer with BLOOMERY_NODE_TIMEOUT_S/);
  for (const wrong of ['0', '-1', '1.5', 'ten', '99999'])
    t.throws(
      () => askerWith(wrong),
      { code: 'USAGE', message: /BLOOMERY_NODE_TIMEOUT_S must be a whole number/ },
      wrong,
    );
});

test('a request over a connection that the node has just closed is repeated, but a command is not', async (t) => {
  const used = new WeakSet();
  let requests = 0;
  const url = await serve(t, (request, response) => {
    requests += 1;
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    response.end('{"data":{}}');
  });
  const asker = nodeAsker(url);
  for (let times = 0; times < 3; times += 1) await t.notThrowsAsync(asker.ask('node/anything'));
  const asked = requests;
  const error = await t.throwsAsync(asker.send('POST', 'transactions', {}), { instanceOf: ProtocolError });
  t.is(error?.code, 'NODE_UNREACHABLE');
  t.is(requests, asked + 1);
});

test('an answer that is not JSON, or lacks its data, is refused', async (t) => {
  for (const body of ['<html>', '{}', '']) {
    const asker = nodeAsker(await serve(t, (_request, response) => response.end(body)));
    t.is(
      (await t.throwsAsync(asker.ask('node/status'), { instanceOf: ProtocolError }))?.code,
      'NODE_ANSWER_UNEXPECTED',
    );
  }
});

test('the line for a node that does not answer its reading processes has the code NODE_SILENT', async (t) => {
  const body = { message: 'The node does not answer its reading processes: send the request again later.' };
  const lineFor = async (reason: object): Promise<string> => {
    const asker = nodeAsker(
      await serve(t, (_request, response) => response.writeHead(503).end(JSON.stringify({ ...body, ...reason }))),
    );
    const error = await t.throwsAsync(asker.ask('node/status'), { code: 'NODE_ANSWER_UNEXPECTED' });
    return errorLineOf(error).line.replace(asker.base, 'URL');
  };
  t.is(
    await lineFor({ reason: 'NODE_SILENT' }),
    'bloomery: the node at URL does not answer its reading processes: if this lasts, read the end of its log, and ' +
      'restart the node (NODE_SILENT)',
  );
  for (const reason of [{}, { reason: 'SOMETHING' }])
    t.regex(await lineFor(reason), /URL\/api\/node\/status answered: .*\(NODE_ANSWER_UNEXPECTED\)$/);
});

test('a node address needs no scheme, and its port is 4000 by default', (t) => {
  for (const [given, base] of [
    ['127.0.0.1:4001', 'http://127.0.0.1:4001'],
    ['10.0.0.7', 'http://10.0.0.7:4000'],
    ['localhost:4001/api/', 'http://localhost:4001'],
    ['node.example.org', 'http://node.example.org:4000'],
    ['[::1]:4001', 'http://[::1]:4001'],
    ['https://node.example.org', 'https://node.example.org'],
    ['http://node.example.org:80/api', 'http://node.example.org:80'],
  ] as const) {
    t.is(nodeAsker(given).base, base);
  }
  for (const wrong of ['somewhere', '4000', 'ftp://127.0.0.1', '127.0.0.1:99999', '::1', '', 'a b:1', 'http://']) {
    t.is(t.throws(() => nodeAsker(wrong), { instanceOf: ProtocolError })?.code, 'USAGE', wrong);
  }
});

test('https to a port without TLS is named', async (t) => {
  const url = await serve(t, (_request, response) => response.end('{}'));
  const error = await t.throwsAsync(nodeAsker(url.replace('http:', 'https:')).ask('node/status'), {
    code: 'NODE_UNREACHABLE',
  });
  t.regex(error?.message ?? '', / \(the port has no TLS: write http:\/\/ instead of https:\/\/\): /);
});

test('a user and a password in an address go to a proxy in front of the node, and into no message', async (t) => {
  const given: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    given.push(request.headers.authorization);
    if (request.method === 'POST') return void response.writeHead(401).end();
    if (request.url?.startsWith('/api/events') === true) response.setHeader('content-type', 'text/event-stream');
    response.end('{"data":{}}');
  });
  const asker = nodeAsker(url.replace('//', '//me:s%3Acret%zz@'));
  t.is(asker.base, url);
  await asker.ask('node/anything');
  await asker.stream('events');
  const error = await t.throwsAsync(asker.send('POST', 'transactions', {}), { instanceOf: ProtocolError });
  t.notRegex(JSON.stringify(error) + String(error?.stack), /cret/);
  t.deepEqual(new Set(given), new Set([`Basic ${Buffer.from('me:s:cret%zz').toString('base64')}`]));
  t.is(nodeAsker('me@127.0.0.1').base, 'http://127.0.0.1:4000');
  await nodeAsker(url).ask('node/anything');
  t.is(given.at(-1), undefined);
  for (const wrong of ['ftp://me:cret@host', 'http://me:cr/cret@host', 'http://me:cret@', 'me:cret@host:4000:1']) {
    const refused = t.throws(() => nodeAsker(wrong), { instanceOf: ProtocolError });
    t.is(refused?.code, 'USAGE');
    t.notRegex(JSON.stringify(refused?.data) + String(refused?.stack), /cret/);
  }
});

test('the status of a node behind a proxy shows no password', async (t) => {
  const server = createHttpServer(fakeNode(3).api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  t.teardown(() => server.close());
  for (const json of [[], ['--json']]) {
    const { code, stdout, stderr } = await runCli(['status', ...json, '--node', `http://me:hidden@127.0.0.1:${port}`]);
    t.is(code, 0, stderr);
    t.regex(stdout, new RegExp(`http://127.0.0.1:${port}\\b`));
    t.notRegex(stdout, /hidden/);
  }
});

test('commands with --node never print its password', async (t) => {
  const away = '127.0.0.1:1';
  for (const args of [['status'], ['status', '--json'], ['doctor'], ['events'], ['account', '1L']]) {
    for (const node of [`http://me:hidden@${away}`, `me:hidden@${away}`, `ftp://me:hidden@${away}`]) {
      const { code, stdout, stderr } = await runCli([...args, '--node', node], { env: { BLOOMERY_DEBUG: '1' } });
      t.not(code, 0);
      t.notRegex(stdout + stderr, /hidden/, args.join(' '));
    }
  }
});
