/** Answers of a fake node to each operation, for both generations: examples for the pages and for OpenAPI. */

import type { ExecutionContext } from 'ava';
import type { Exchange } from '../../src/http/document-examples.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { ALICE, ALICE_KEY, GROUP, serve, type Answer } from './fake-node.ts';
import { populatedNode } from './populated-node.ts';
import type { Example } from './pages.ts';

const SIGNATURE = 'ab'.repeat(64);
const TRANSACTION = {
  id: '1',
  type: 8,
  timestamp: 5,
  senderPublicKey: ALICE_KEY,
  asset: { amount: '1', recipientId: '1L' },
  signature: SIGNATURE,
  amount: '1',
  fee: '10000000',
  recipientId: '1L',
};

/** Splits the members of a transaction by generation. */
const { asset, amount, fee, recipientId, ...OF_BOTH } = TRANSACTION;
const TRANSACTIONS = {
  2: { ...OF_BOTH, type: 0, amount, fee, recipientId, asset: {} },
  3: { ...OF_BOTH, asset },
};

/** Bodies for the routes that require one. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /transactions': TRANSACTION,
  'POST /signatures': { transactionId: '1', publicKey: ALICE_KEY, signature: SIGNATURE },
  'PUT /signatures': { secret: 'first passphrase', secondSecret: 'second passphrase' },
  'PUT /node/status/forging': { publicKey: ALICE_KEY, password: 'elephant', forging: true },
};

/** Routes without an exchange: a stream never ends, and the OpenAPI document and its page are long. */
const WITHOUT_EXCHANGE = ['/events', '/spec', '/docs'];

/** Sends a request to every operation of each generation. Fails the test if an answer has another status than 200. */
export async function exchanges(t: ExecutionContext): Promise<readonly Example[]> {
  const asks = { '2': await serve(t, populatedNode(2)), '3': await serve(t, populatedNode(3)) };
  const examples: Example[] = [];
  for (const { method, path } of allRoutes({ generation: 3, strict: false })) {
    if (WITHOUT_EXCHANGE.includes(path)) continue;
    const owner = path.endsWith('groups') ? GROUP.address : ALICE.address;
    const query = path.startsWith('/vote') ? `?username=alice` : '';
    const target = `/api${path.replace('{address}', owner).replace('{state}', 'pending').replace('{id}', '1')}${query}`;
    const body = BODIES[`${method} ${path}`];
    const sent = body === TRANSACTION ? TRANSACTIONS : { 2: body, 3: body };
    const two = await asks['2'](target, initOf(method, sent[2]));
    const three = await asks['3'](target, initOf(method, sent[3]));
    t.is(two.status, 200, target);
    t.is(three.status, 200, target);
    examples.push({ method, path, target, body, sent, answers: { '2': two, '3': three } });
  }
  return examples;
}

function initOf(method: string, body: unknown): RequestInit {
  if (body === undefined) return {};
  return { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Text of `src/http/examples.ts`, with one line for each operation. */
export function examplesSource(examples: readonly Example[]): string {
  const tables = (['2', '3'] as const).flatMap((generation) => [
    `  ${generation}: {`,
    ...examples.map(({ method, path, sent, answers }) => {
      const body = sent[generation];
      const exchange: Exchange = {
        ...(body === undefined ? {} : { sent: body }),
        answer: valueOf(answers[generation]),
      };
      return `    ${JSON.stringify(`${method} ${path}`)}: ${JSON.stringify(exchange)},`;
    }),
    '  },',
  ]);
  return [
    '/** Made by `test/http/pages.test.ts` (UPDATE_DOCS=1) out of exchanges with a small node: not written by hand. */',
    '',
    "import type { Exchanges } from './document-examples.ts';",
    '',
    'export const EXAMPLES: Readonly<Record<2 | 3, Exchanges>> = {',
    ...tables,
    '};',
    '',
  ].join('\n');
}

function valueOf({ text, body }: Pick<Answer, 'text'> & { readonly body?: unknown }): unknown {
  return /^[[{]/.test(text) ? (body ?? JSON.parse(text)) : text;
}
