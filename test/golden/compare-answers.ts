/** Compares every recorded answer of an idle lisk-sdk node with our answer, field by field. */

import { join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import { ALLOWANCES } from './allowances.ts';
import { differencesOf, isAllowed } from './answer-diff.ts';
import { linesOf, startRecordedNode } from './recorded-node.ts';

export interface Comparison {
  readonly compared: number;
  readonly complaints: readonly string[];
}

export interface RecordedAnswer {
  readonly url: string;
  readonly status: number;
  readonly type: string;
  readonly body: unknown;
}

export async function compareAnswers(folder: string, generation: Generation): Promise<Comparison> {
  const answers = linesOf(join(folder, 'answers.ndjson.gz')) as readonly RecordedAnswer[];
  const node = await startRecordedNode({
    generation,
    chainFile: join(folder, 'chain.ndjson.gz'),
    ...recordedFacts(answers),
  });
  const complaints: string[] = [];
  try {
    for (const { url, status, type, body } of answers) {
      const response = await fetch(node.origin + url);
      const ours: unknown = await response.json();
      const contentType = response.headers.get('content-type');
      const found = [
        ...differencesOf({ status, type }, { status: response.status, type: contentType }, 'answer'),
        ...differencesOf(body, ours),
      ].filter((difference) => !isAllowed(ALLOWANCES, { method: 'GET', url }, difference));
      const [first] = found;
      if (first !== undefined) {
        const shown = [first.recorded, first.ours].map((value) => JSON.stringify(value)?.slice(0, 160));
        complaints.push(`${url}: ${found.length}, first ${first.kind} ${first.path}: ${shown.join(' became ')}`);
      }
    }
  } finally {
    await node.close();
  }
  return { compared: answers.length, complaints };
}

/** Returns the time of the recording, and the version and protocol version of the recorded node. */
export function recordedFacts(answers: readonly { readonly url: string; readonly body: unknown }[]) {
  const dataOf = (url: string) =>
    (answers.find((answer) => answer.url === url)?.body as { readonly data: Record<string, unknown> }).data;
  const { version, protocolVersion } = dataOf('/api/node/constants');
  return {
    nowMs: Number(dataOf('/api/node/status')['currentTime']),
    identity: { version: String(version), protocolVersion: String(protocolVersion) },
  };
}
