/**
 * Compares our answers with recorded answers of a live devnet: statuses, headers, texts of refusals, and members of
 * answers. The devnet had another chain, so the test does not compare the values of these members.
 */

import { request } from 'node:http';
import { join } from 'node:path';
import type { ForgingDelegate, LocalNodeApi, PeerEntry } from '../../src/ports/node-api.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { CASE_ALLOWANCES, STRICT_CASE_ALLOWANCES } from './allowances.ts';
import { recordedFacts, type Comparison, type RecordedAnswer } from './compare-answers.ts';
import { differencesOf, isAllowed } from './answer-diff.ts';
import { linesOf, startRecordedNode } from './recorded-node.ts';

interface RecordedCase {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>> | null;
  readonly requestBody: string | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

export async function compareCases(folder: string, generation: Generation, isStrict = false): Promise<Comparison> {
  const allowances = isStrict ? STRICT_CASE_ALLOWANCES : CASE_ALLOWANCES;
  const cases = linesOf(join(folder, 'devnet-cases.ndjson')) as readonly RecordedCase[];
  const chainFile = join(folder, 'chain.ndjson.gz');
  const answers = linesOf(join(folder, 'answers.ndjson.gz')) as readonly RecordedAnswer[];
  const forging = cases.find(({ url }) => url === '/api/node/status/forging')?.body as { readonly data: [] };
  const node = await startRecordedNode({
    generation,
    chainFile,
    ...recordedFacts(answers),
    override: () => forgingAndPeers(forging.data, generation),
    http: { strictDialect: isStrict },
  });
  const complaints: string[] = [];
  try {
    for (const recorded of cases) {
      const { method, url } = recorded;
      const ours = await ask(node.origin, recorded, confirmedInstead(recorded, chainFile));
      const found = differencesOf(comparable(recorded), comparable(ours)).filter(
        (difference) => !isAllowed(allowances, { method, url }, difference),
      );
      const [first] = found;
      if (first !== undefined) {
        const shown = [first.recorded, first.ours].map((value) => JSON.stringify(value)?.slice(0, 200));
        complaints.push(
          `${recorded.name}: ${found.length}, first ${first.kind} ${first.path}: ${shown.join(' became ')}`,
        );
      }
    }
  } finally {
    await node.close();
  }
  return { compared: cases.length, complaints };
}

/**
 * Returns the body to send. If the devnet refused a transaction because it was already confirmed, the body is a
 * transaction of our chain instead.
 */
function confirmedInstead({ body, requestBody }: RecordedCase, chainFile: string): string | null {
  if (!JSON.stringify(body).includes('already confirmed')) return requestBody;
  const blocks = linesOf(chainFile).slice(1) as readonly { readonly transactions: readonly object[] }[];
  return JSON.stringify(blocks.flatMap(({ transactions }) => transactions)[0]);
}

const PEER: PeerEntry = {
  state: 'connected',
  info: {
    ip: '127.0.0.1',
    wsPort: 5001,
    httpPort: 4001,
    os: 'linux',
    version: '3.0.2',
    protocolVersion: '2.0',
    nonce: 'n',
    broadhash: 'ab',
    networkId: 'cd',
    height: 7,
  },
};

function forgingAndPeers(delegates: readonly ForgingDelegate[], generation: Generation): Partial<LocalNodeApi> {
  return {
    forgingDelegates: () => delegates,
    setForging: (publicKey, _password, forging) => Promise.resolve({ publicKey, forging }),
    peers: () => (generation === 2 ? [PEER] : [PEER, { ...PEER, state: 'disconnected' }]),
  };
}

function ask(origin: string, { method, url, requestHeaders }: RecordedCase, body: string | null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ...(body === null ? {} : { 'content-type': 'application/json' }), ...requestHeaders };
    const sent = request(origin + url, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson =
          response.headers['content-type']?.startsWith('application/json') && !response.headers['content-encoding'];
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}

/** Headers that matter to clients. */
const HEADERS = [
  'content-type',
  'allow',
  'vary',
  'x-frame-options',
  'content-security-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'access-control-allow-origin',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'content-encoding',
];

function comparable({ status, headers, body }: Answer) {
  const kept = Object.fromEntries(
    HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
  const isText = typeof body === 'string';
  return { status, headers: kept, body: status === 200 ? (isText ? 'text' : shapeOf(body)) : masked(body) };
}

/** Returns the members of an object with their types, but not the elements of lists. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

/** Replaces the ids in a refusal, because they depend on the chain. */
function masked(body: unknown): unknown {
  return JSON.parse((JSON.stringify(body) ?? 'null').replaceAll(/\b[0-9]{10,20}\b/g, '<id>')) as unknown;
}
