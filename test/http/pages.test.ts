import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { openApiOf } from '../../src/http/openapi.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { exchanges, examplesSource } from './exchanges.ts';
import { populatedNode } from './populated-node.ts';
import { commandsOf, pageOf, resourceOf } from './pages.ts';

test('each resource has a page in docs/http, which shows requests, and the answers of a fake node to them', async (t) => {
  const routes = allRoutes({ generation: 3, strict: false });
  const examples = await exchanges(t);
  keep(t, join('src', 'http', 'examples.ts'), examplesSource(examples));
  const document = openApiOf(routes, { generation: 3, strict: false }, '');
  for (const resource of new Set(routes.map(({ path }) => resourceOf(path)))) {
    const page = pageOf(resource, document, examples);
    keep(t, join('docs', 'http', `${resource}.md`), page);
  }
});

function keep(t: ExecutionContext, path: string, text: string): void {
  const file = join(packageDirectory(), path);
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, text);
  t.is(readFileSync(file, 'utf8'), text, `${path}: run the test with UPDATE_DOCS=1`);
}

for (const generation of [2, 3] as const) {
  test(`each command on a page of docs/http works in generation ${generation}`, async (t) => {
    const server = createHttpServer(populatedNode(generation).api, { port: 0, address: '127.0.0.1' });
    const { port } = await server.start();
    t.teardown(() => server.close());
    const directory = join(packageDirectory(), 'docs', 'http');
    const paths = new Set<string>();
    for (const file of readdirSync(directory)) {
      for (const { target, ...init } of commandsOf(readFileSync(join(directory, file), 'utf8'))) {
        // The promise of `fetch` resolves when the response headers arrive. The test does not wait for the body,
        // because the body of an event stream never ends.
        const ended = new AbortController();
        const response = await fetch(`http://127.0.0.1:${port}${target}`, { ...init, signal: ended.signal });
        t.is(response.status, 200, `${file}: ${target}`);
        ended.abort();
        paths.add(target.replace(/[?].*/, ''));
      }
    }
    for (const path of ['/api/events', '/api/transactions', '/api/signatures', '/healthz'])
      t.true(
        [...paths].some((shown) => shown.endsWith(path)),
        path,
      );
  });
}

test('a command that is not a request of the interface is reported, so no command is skipped', (t) => {
  for (const command of ['wget http://127.0.0.1:4000/api/blocks', "curl 'http://127.0.0.1:5000/api/blocks'", 'curl'])
    t.throws(() => commandsOf(`\`\`\`sh\n${command}\n\`\`\`\n`), {
      message: `not a request of the interface: ${command}`,
    });
});
