/**
 * Sends recorded requests to our node. A real node has refused these requests during `npm run differential -- --http
 * --record`.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { packageDirectory } from '../../../src/config/package.ts';
import { populatedNode } from '../../http/populated-node.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { exchange } from './answers.ts';
import { rowsOf } from '../../docs/tables.ts';
import { HTTP_DIFFERENCES } from './known-http-differences.ts';
import type { RecordedRefusal } from './refusals.ts';

/** If a file of recorded refusals contains fewer refusals than this, the recording has failed. */
const REFUSALS_MIN = 100;

for (const generation of [2, 3] as const) {
  test(`generation ${generation} refuses the requests that a real node refused, with the same texts`, async (t) => {
    const file = join(packageDirectory(), 'test', 'vectors', 'http', `refusals-${generation}.json`);
    const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly RecordedRefusal[];
    t.true(recorded.length >= REFUSALS_MIN, `${recorded.length} refusals`);
    const options = { port: 0, address: '127.0.0.1', strictDialect: true };
    const server = createHttpServer(populatedNode(generation).api, options);
    t.teardown(() => server.close());
    const { port } = await server.start();
    for (const { request, status, contentType, body, allow = '' } of recorded) {
      const name = `${request.method} ${request.target}`;
      const ours = await exchange(`http://127.0.0.1:${port}`, request);
      t.is(ours.status, status, name);
      if (status === 405) t.deepEqual(ours.allow.split(', ').sort(), allow.split(', ').sort(), name);
      else t.is(ours.contentType, contentType, name);
      if (body !== undefined) t.deepEqual(ours.body, body, name);
    }
  });
}

test('the page of differences lists each known difference with its reason, and no other', (t) => {
  const file = fileURLToPath(new URL('../../../../docs/http/interface-differences.md', import.meta.url));
  const [, section = ''] = readFileSync(file, 'utf8').split('## Unusual requests');
  t.deepEqual(
    rowsOf(section.split('## ')[0] ?? ''),
    HTTP_DIFFERENCES.map(({ reference, here, reason }) => `| ${reference} | ${here} | ${reason} |`),
  );
});
