/**
 * A node that speaks the strict dialect against the recording and against the reference's own description: no member more, no
 * member less, and every answer as that description has it.
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
    // Every node that is shipped knows these.
    identity: { ...facts.identity, build: 'v1.0.0 of today', commit: 'c0'.repeat(20) },
    http: { strictDialect: true },
  });
  const complaints: string[] = [];
  try {
    for (const { url, status, body } of answers) {
      const response = await fetch(node.origin + url);
      const ours: unknown = await response.json();
      const told = { method: 'GET', path: pathOf(url), status: response.status, body: ours };
      const faults = description.faultsOf(told);
      if (faults !== undefined) complaints.push(`${url}: ${faults}`);
      if (!description.describes(told) && !isUnknownPath(ours))
        complaints.push(`${url}: the description has no ${told.status} for it`);
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

/** The description has nothing for paths that it does not know. */
function isUnknownPath(body: unknown): boolean {
  return typeof (body as { readonly description?: unknown }).description === 'string';
}

function pathOf(url: string): string {
  return (url.split('?')[0] ?? '').replace(/^\/api/i, '').replace(/\/$/, '');
}
