/**
 * Starts a node with the strict dialect (`http.strictDialect`: only names that lisk-sdk has). Compares the answers of
 * this node with the recorded answers of a lisk-sdk node, and with the API description of lisk-sdk. Except for the
 * allowed differences, the node must send the recorded answers. Every answer must match the description.
 */

import { join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import { STRICT_ALLOWANCES } from './allowances.ts';
import { recordedFacts, type Comparison, type RecordedAnswer } from './compare-answers.ts';
import type { Description } from './description.ts';
import { differencesOf, isAllowed } from './answer-diff.ts';
import { linesOf, startRecordedNode } from './recorded-node.ts';

export async function compareStrict(
  folder: string,
  generation: Generation,
  description: Description,
): Promise<Comparison> {
  const answers = linesOf(join(folder, 'answers.ndjson.gz')) as readonly RecordedAnswer[];
  const facts = recordedFacts(answers);
  const node = await startRecordedNode({
    generation,
    chainFile: join(folder, 'chain.ndjson.gz'),
    ...facts,
    // Every released node has a build and a commit.
    identity: { ...facts.identity, build: 'v1.0.0 of today', commit: 'c0'.repeat(20) },
    http: { strictDialect: true },
  });
  const complaints: string[] = [];
  try {
    for (const { url, status, body } of answers) {
      const response = await fetch(node.origin + url);
      const ours: unknown = await response.json();
      const answer = { method: 'GET', path: pathOf(url), status: response.status, body: ours };
      const faults = description.faultsOf(answer);
      if (faults !== undefined) complaints.push(`${url}: ${faults}`);
      if (!description.describes(answer) && !isUnknownPath(ours))
        complaints.push(`${url}: the description has no ${answer.status} for it`);
      const [first] = [...differencesOf({ status }, { status: response.status }), ...differencesOf(body, ours)].filter(
        (difference) => !isAllowed(STRICT_ALLOWANCES, { method: 'GET', url }, difference),
      );
      if (first !== undefined) complaints.push(`${url}: ${first.kind} ${first.path}`);
    }
  } finally {
    await node.close();
  }
  return { compared: answers.length, complaints };
}

/**
 * Whether the body is that of an answer to a request with an unknown path. The API description does not contain the
 * answer to such a request.
 */
function isUnknownPath(body: unknown): boolean {
  return typeof (body as { readonly description?: unknown }).description === 'string';
}

function pathOf(url: string): string {
  return (url.split('?')[0] ?? '').replace(/^\/api/i, '').replace(/\/$/, '');
}
