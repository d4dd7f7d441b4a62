/** Compares the answers of two nodes to one request. Ignores members that may differ. Names the first difference. */

import { request as send } from 'node:http';
import { ALLOWANCES } from '../../golden/allowances.ts';
import { differencesOf, isAllowed, type Allowance } from '../../golden/answer-diff.ts';
import type { HttpRequest } from './queries.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly allow: string;
  /** Parsed body if it is JSON, otherwise text. */
  readonly body: unknown;
}

const TIMEOUT_MS = 20_000;

export function exchange(origin: string, { method, target, headers, body }: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const url = new URL(origin);
    const typed =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
    const sent = send(
      {
        host: url.hostname,
        port: url.port,
        method,
        path: target,
        headers: { ...typed, ...headers },
        agent: false,
        // If a real node does not read the body of a request, it sends a second answer on the same connection. The
        // default parser fails at the second answer.
        insecureHTTPParser: true,
        timeout: TIMEOUT_MS,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const contentType = response.headers['content-type'] ?? '';
          const { allow = '' } = response.headers;
          resolve({ status: response.statusCode ?? 0, contentType, allow, body: parsed(text) });
        });
      },
    );
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${target}: no answer in ${TIMEOUT_MS} ms`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Members that are not compared, each with a reason. */
const NORMALISED: readonly Allowance[] = [
  {
    reason: 'Time goes on between two requests.',
    path: /^body\.(data\.(currentTime|secondsSinceEpoch|nonce)|meta\.(toTimestamp|currentSlot)|data\.\d+\.nextSlot)$/,
  },
  {
    reason: 'A real node has no commit where its application names none.',
    path: /^body\.data\.(build|commit)$/,
    kind: 'added',
  },
  { reason: 'What a node knows of others is its own affair.', path: /^body\.data\.(consensus|networkHeight)$/ },
  { reason: 'What a node knows of others is its own affair.', url: /peers/i, path: /^body\.(meta\.count|data)$/ },
  { reason: 'What a node knows of others is its own affair.', url: /peers/i, path: /^body\.data\.\d+/ },
  { reason: 'The moment at which a pool took a transaction in is its own.', path: /^body\.data\.\d+\.receivedAt$/ },
];

/** Members that our node adds in the extended dialect (without `strictDialect`). */
const JOINED: readonly Allowance[] = [
  ...ALLOWANCES.filter(({ kind }) => kind === 'added').map((allowance) => ({
    ...allowance,
    ...(allowance.url === undefined ? {} : { url: new RegExp(allowance.url.source, 'i') }),
    path: new RegExp(allowance.path.source.replace('^', '^body\\.')),
  })),
  { reason: 'Our nodes have no peers in the lab.', url: /status/i, path: /^body\.data\.isAlone$/, kind: 'added' },
];

export interface Disagreement {
  /** Name of the difference. The name does not contain the query of the request, or addresses and ids. */
  readonly name: string;
}

/**
 * @param isStrict whether our node uses the strict dialect, which answers like a lisk-sdk node
 * @returns undefined if the answers differ only in ignored members, or not at all
 */
export function disagreement(
  request: HttpRequest,
  theirs: HttpAnswer,
  ours: HttpAnswer,
  isStrict: boolean,
): Disagreement | undefined {
  const [reference, own] = [comparable(theirs), comparable(ours)];
  const allowed = isStrict ? NORMALISED : [...NORMALISED, ...JOINED];
  const [first] = differencesOf(reference, own).filter(
    (difference) => !isAllowed(allowed, { method: request.method, url: request.target }, difference),
  );
  if (first === undefined) return undefined;
  const route = `${request.method} ${pathOf(request.target)}`;
  if (reference.status !== own.status) {
    return { name: `${route}: ${own.status} here${codesOf(own)}, ${reference.status} there${codesOf(reference)}` };
  }
  const place = first.path.replaceAll(/\.\d+(?=\.|$)/g, '[]');
  return { name: `${route}: both ${own.status}, ${first.kind} ${place}${codesOf(own)}` };
}

interface Comparable {
  readonly status: number;
  readonly contentType: string;
  readonly allow: string;
  readonly body: unknown;
}

function comparable({ status, contentType, allow, body }: HttpAnswer): Comparable {
  // With status 405, the reference (lisk-sdk) sends an HTML page, and our node sends JSON.
  if (status === 405) return { status, contentType: '', allow: allow.split(', ').sort().join(', '), body: '' };
  const { message, errors } = body as { message?: unknown; errors?: readonly { readonly message?: string }[] };
  if (message !== 'Parse errors') return { status, contentType, allow, body };
  // Ignore the messages of parse errors, because these messages come from the JavaScript engine.
  return { status, contentType, allow, body: { message, errors: errors?.map((error) => ({ ...error, message: '' })) } };
}

/**
 * Returns the codes of the first two errors in a refusal. If an error contains a list of errors, the codes in this list
 * replace the code of the error. If an error has no code, its message replaces the code. If the refusal has no list of
 * errors, returns the message of the refusal.
 */
function codesOf({ body }: Comparable): string {
  const { errors, message } = (body ?? {}) as { errors?: unknown; message?: string };
  if (!Array.isArray(errors))
    return message === undefined ? '' : ` (${message.replaceAll(/[0-9a-f]{8,}L?|[0-9]+L?/gi, '#')})`;
  const reasons = errors.map(
    (error: { code?: string; name?: string; message?: string; errors?: { code: string }[] }) => {
      const inner = error.errors?.map(({ code }) => code).join('+');
      const text = error.code ?? error.message?.replaceAll(/[0-9a-f]{8,}L?|[0-9]+L?/gi, '#') ?? '';
      return inner || text;
    },
  );
  return ` (${reasons.slice(0, 2).join(', ').slice(0, 120)})`;
}

function pathOf(target: string): string {
  return (target.split('?')[0] ?? '').replaceAll(/[0-9]{5,}L/g, '#');
}
