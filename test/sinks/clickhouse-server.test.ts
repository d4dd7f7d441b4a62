/**
 * Tests the requests to ClickHouse against servers and proxies that answer with an error, with a part of an answer, or
 * with a page of another program.
 */

import test, { type ExecutionContext } from 'ava';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/node/system.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import { openServer, type ClickHouseServer } from '../../src/sinks/clickhouse/server.ts';

const EXCEPTION =
  'Code: 241, e.displayText() = DB::Exception: Memory limit exceeded: would use 5 GiB, e.what() = DB::Exception';

/**
 * Starts a server that answers every request with `answer`, except the query for the settings that the server knows.
 *
 * @param settings names of the settings that the server knows
 */
async function answering(
  t: ExecutionContext,
  answer: (response: ServerResponse) => void,
  settings: readonly string[] = [],
): Promise<ClickHouseServer> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (!body.includes('system.settings')) return answer(response);
      response.end(JSON.stringify({ data: settings.map((name) => ({ name })) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = openServer(`http://127.0.0.1:${port}`, 'chain', systemClock);
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

const CALLS: Readonly<Record<string, (server: ClickHouseServer) => Promise<unknown>>> = {
  run: (server) => server.run('CREATE DATABASE chain'),
  change: (server) => server.change('ALTER TABLE chain.votes DELETE WHERE 1'),
  insert: (server) => server.insert('votes', ['height'], ['1\n', '2\n']),
  rows: (server) => server.rows('SELECT 1 AS one'),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name}: an answer 200 with an exception text is an error`, async (t) => {
    for (const text of [
      EXCEPTION,
      `${EXCEPTION}\n`,
      `{"one":1}\n${EXCEPTION}\n`,
      `{"data":[{"one":1},\n${EXCEPTION}`,
      JSON.stringify({ data: [{ one: 1 }], rows: 1, exception: EXCEPTION }),
    ]) {
      const error = await t.throwsAsync(call(await answering(t, (response) => response.end(text))), undefined, text);
      t.is(codeOf(error), 'CLICKHOUSE_REFUSED', text);
      t.regex(
        error?.message ?? '',
        /^http:\/\/127\.0\.0\.1:[0-9]+\/ refused: Code: 241.*Memory limit exceeded[^\n]*$/,
        text,
      );
    }
  });

  test(`${name}: a truncated answer is an error`, async (t) => {
    const server = await answering(t, (response) => {
      response.writeHead(200, { 'content-length': '500' });
      response.write('{"data":[');
      setTimeout(() => response.destroy(), 20);
    });
    t.is(codeOf(await t.throwsAsync(call(server))), 'CLICKHOUSE_UNREACHABLE');
  });
}

test('rows: an empty answer, a page of another program and truncated rows are refused', async (t) => {
  for (const text of ['', '<html>welcome</html>', '{"one":1}\n{"one":', '{"data":[{"one":1}', '17', 'null', '{}']) {
    const server = await answering(t, (response) => response.end(text));
    const error = await t.throwsAsync(server.rows('SELECT 1 AS one'), undefined, text);
    t.is(codeOf(error), 'CLICKHOUSE_UNREACHABLE', text);
    t.notRegex(error?.message ?? '', /\n/);
  }
});

test('insert: a page of another program does not confirm the rows', async (t) => {
  const server = await answering(t, (response) => response.end('<html>welcome</html>'));
  t.is(codeOf(await t.throwsAsync(server.insert('votes', ['height'], ['1\n']))), 'CLICKHOUSE_UNREACHABLE');
});

test('run: a statement may answer with rows', async (t) => {
  const server = await answering(t, (response) =>
    response.end('waiting\tbloomery-chain-1\tdefault\tINSERT INTO votes\n'),
  );
  await t.notThrowsAsync(server.run('KILL QUERY WHERE 1 ASYNC'));
});

test('change: a queued statement does not wait for the servers of the cluster, and other statements do', async (t) => {
  const waits: (string | null)[] = [];
  const server = await answering(t, (response) => {
    const { searchParams } = new URL(response.req.url ?? '', 'http://localhost');
    waits.push(searchParams.get('distributed_ddl_task_timeout'));
    response.end();
  });
  await server.change('ALTER TABLE chain.votes ON CLUSTER three DELETE WHERE 1', { isQueued: true });
  await server.change('ALTER TABLE chain.votes ON CLUSTER three DELETE WHERE 1');
  t.deepEqual(waits, ['0', null]);
});

test('a setting in the profile of the user that would lose rows is overruled, if the server knows it', async (t) => {
  const seen: URLSearchParams[] = [];
  const server = await answering(
    t,
    (response) => {
      seen.push(new URL(response.req.url ?? '', 'http://localhost').searchParams);
      response.end('{"data":[]}');
    },
    ['async_insert', 'result_overflow_mode'],
  );
  await server.run('CREATE DATABASE chain');
  await server.rows('SELECT 1 AS one');
  await t.throwsAsync(server.insert('votes', ['height'], ['1\n']));
  t.is(seen.length, 3);
  for (const parameters of seen) {
    t.is(parameters.get('async_insert'), '0');
    t.is(parameters.get('result_overflow_mode'), 'throw');
    t.is(parameters.get('skip_unavailable_shards'), null);
  }
});

test('a URL with a parameter other than the password, or with port 0, is refused before a request is sent', (t) => {
  // Some of these URL parameters would replace options that the sink sets in its ClickHouse client.
  const names = ['database', 'zz', 'request_timeout', 'max_open_connections', 'keep_alive_enabled', 'log_level'];
  for (const name of names) {
    const error = t.throws(() => openServer(`http://127.0.0.1:1/?${name}=1`, 'chain', systemClock));
    t.is(codeOf(error), 'USAGE', name);
    t.true(error.message.includes(name), error.message);
  }
  t.is(codeOf(t.throws(() => openServer('http://127.0.0.1:0', 'chain', systemClock))), 'USAGE');
  t.notThrows(() => openServer('http://127.0.0.1:1/?password=secret', 'chain', systemClock));
});

test('a database that belongs to the server itself is refused', (t) => {
  for (const database of ['system', 'SYSTEM', 'information_schema']) {
    const error = t.throws(() => openServer('http://127.0.0.1:1', database, systemClock), { message: /name another/ });
    t.is(codeOf(error), 'USAGE', database);
  }
});

test('a connection that the server closes between two requests fails no request', async (t) => {
  const used = new WeakSet();
  const server = await answering(t, (response) => {
    const { socket } = response.req;
    if (used.has(socket)) return void socket.destroy();
    used.add(socket);
    response.end();
  });
  for (let times = 0; times < 3; times += 1) {
    await t.notThrowsAsync(server.run('SELECT 1'));
    await t.notThrowsAsync(server.insert('blocks', ['height'], ['1\n']));
  }
});
