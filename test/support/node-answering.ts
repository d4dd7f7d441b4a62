import { createServer } from 'node:http';
import type { ExecutionContext } from 'ava';

/**
 * Serves a table of answers by path, for commands that send requests to a node.
 *
 * @param refused paths that the server refuses with status 400
 * @returns the origin of the server
 */
export async function nodeAnswering(
  t: ExecutionContext,
  answers: Readonly<Record<string, unknown>>,
  refused: readonly string[] = [],
): Promise<string> {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    response.statusCode = refused.includes(request.url ?? '') ? 400 : answer === undefined ? 404 : 200;
    response.end(JSON.stringify(answer ?? { message: 'no such path' }));
  });
  t.teardown(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}
