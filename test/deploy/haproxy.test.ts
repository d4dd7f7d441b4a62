import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { HEIGHT_WAIT_MS_MAX, RETRY_AFTER_S } from '../../src/http/read-consistency.ts';
import { READINESS_ROUTE } from '../../src/http/routes/health.ts';
import { complaintAbout, deployedConfig, haproxyProgram, startHaproxy } from '../chaos/haproxy.ts';
import { asking } from '../chaos/replica-clients.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePort, freePorts } from '../support/ports.ts';

/** Lines of each section of `docs/deploy/haproxy.cfg`, without comments. The key is the first line of the section. */
function sections(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let lines: string[] = [];
  for (const raw of deployedConfig().split('\n')) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (raw === line) found.set(line, (lines = []));
    else lines.push(line);
  }
  return found;
}

const secondsOf = (lines: readonly string[], timeout: string): number => {
  const line = lines.find((each) => each.startsWith(`timeout ${timeout} `)) ?? '';
  return Number(/ ([0-9]+)s$/.exec(line)?.[1]);
};

test('an installed HAProxy accepts the file', (t) => {
  const program = haproxyProgram();
  if (program === undefined) {
    t.log('HAProxy is not installed: the file is only read as text, in the other tests');
    t.regex(deployedConfig(), /^backend nodes$/m);
    return;
  }
  t.is(complaintAbout(program, join(packageDirectory(), 'docs', 'deploy', 'haproxy.cfg')), undefined);
});

test('the balancer waits longer than a node waits for a height, and longer than a stream is silent', (t) => {
  const found = sections();
  const [nodes, streams] = [found.get('backend nodes') ?? [], found.get('backend streams') ?? []];
  t.true(secondsOf(nodes, 'server') * 1000 > HEIGHT_WAIT_MS_MAX);
  t.true(secondsOf(streams, 'server') * 1000 > 2 * HTTP_DEFAULTS.events.heartbeatMs);
  t.true(secondsOf(found.get('defaults') ?? [], 'client') * 1000 > 2 * HTTP_DEFAULTS.events.heartbeatMs);
});

test('the balancer polls the readiness path, and repeats only requests that change nothing', (t) => {
  const found = sections();
  const nodes = found.get('backend nodes') ?? [];
  t.true(nodes.includes(`http-check send meth GET uri /api${READINESS_ROUTE.path}`));
  t.true(nodes.includes('http-check expect status 200'));
  t.true(nodes.includes('http-request disable-l7-retry unless { method GET HEAD OPTIONS }'));
  const defaults = found.get('defaults') ?? [];
  for (const line of ['retries 2', 'option redispatch 1']) t.true(defaults.includes(line), line);
  t.true(
    defaults.some((line) => line.startsWith('http-error status 503') && line.endsWith(`Retry-After ${RETRY_AFTER_S}`)),
  );
  t.true((found.get('frontend readers') ?? []).includes('http-request set-header X-Forwarded-For %[src]'));
});

test('both kinds of requests go to the same three nodes, and no client sticks to one node', (t) => {
  const found = sections();
  const servers = (name: string) =>
    (found.get(name) ?? []).flatMap((line) => /^server (\S+) (\S+)/.exec(line)?.slice(1).join(' ') ?? []);
  t.is(servers('backend nodes').length, 3);
  t.deepEqual(servers('backend streams'), servers('backend nodes'));
  t.notRegex(deployedConfig(), /^ *(cookie|stick|balance source|balance hdr)/m);
});

test('a client gets an answer although two of three nodes end during the request', async (t) => {
  const program = haproxyProgram();
  if (program === undefined) {
    t.log('HAProxy is not installed: only the number of repetitions is checked');
    t.true((sections().get('defaults') ?? []).includes('retries 2'));
    return;
  }
  const first = await freePorts(3);
  const ports = [first, first + 1, first + 2];
  /** Numbers of the test servers that closed after a request for `/api/end`. */
  const ended: number[] = [];
  const servers: Server[] = [];
  for (const [index, port] of ports.entries()) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      if (request.url?.startsWith('/api/readyz')) response.end('{}');
      else if (request.url === '/api/end' && ended.length < 2) {
        ended.push(index + 1);
        servers[index]?.close();
        request.socket.destroy();
      } else response.end(JSON.stringify({ node: index + 1 }));
    };
    const server = createServer(answer).listen(port, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
  }
  const own = await freePort();
  const haproxy = await startHaproxy(program, temporaryFolder(t), { own, nodes: ports });
  t.teardown(async () => {
    await haproxy.stop();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });
  const ask = asking(own);
  // If no node answers the first request of a client's connection, HAProxy answers with status 502. If no node answers
  // a later request, HAProxy closes the connection without an answer. The test asks for the status first, so that
  // `/api/end` is a later request.
  t.is((await ask('/api/node/status')).status, 200);
  const answer = await ask('/api/end');
  t.is(answer.status, 200, `${answer.body}\n${haproxy.log()}`);
  t.is(new Set(ended).size, 2);
});
