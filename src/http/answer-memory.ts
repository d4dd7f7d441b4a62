/**
 * Answers that follow from the chain alone, kept as bytes until the chain changes, and the short way on which the listener
 * sends them again: without parsing, looking up and encoding what was parsed, looked up and encoded before.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { LruMap } from '../primitives/bounded.ts';
import type { NodeApi } from '../ports/node-api.ts';
import { readAddressList } from './access.ts';
import type { HttpOptions } from './options.ts';
import type { RateLimit } from './rate-limit.ts';

export interface AnswerMemory {
  /** Keeps the body of a 200 in JSON. @param target path and query as asked for */
  keep(target: string, body: Buffer): void;
  /** Sends a kept answer. @returns false when the request has to go the long way */
  answer(request: IncomingMessage, response: ServerResponse): boolean;
}

/** Larger ones are seldom asked for twice within a block. */
const BODY_BYTES_MAX = 256 * 1024;
/** With the bound above, some hundred megabytes at the very worst, and a few in practice. */
const ENTRIES_MAX = 500;
const TARGET_CHARACTERS_MAX = 500;
/** As the compression of the long way has it. */
const COMPRESSED_FROM_BYTES = 1024;

interface Kept {
  readonly plain: Buffer;
  /** Made when it is first asked for. */
  packed: Buffer | undefined;
}

export function createAnswerMemory(api: NodeApi, options: HttpOptions, limit: RateLimit): AnswerMemory {
  const answers = new LruMap<string, Kept>(ENTRIES_MAX);
  const listed = readAddressList(options.access.whiteList, options.observer);
  const { origin } = options.cors;
  // What depends on more of the request than its target goes the long way.
  const isPossible =
    options.keepAnswers &&
    options.enabled &&
    !options.trustProxy &&
    typeof origin === 'string' &&
    options.limits.delayAfter === 0;
  let tipId: string | undefined;
  /** Forgets everything when the chain has changed. */
  const refresh = (): void => {
    const id = api.chain.tip()?.id;
    if (id === tipId) return;
    answers.clear();
    tipId = id;
  };
  return {
    keep(target, body) {
      if (!isPossible || body.length > BODY_BYTES_MAX || target.length > TARGET_CHARACTERS_MAX) return;
      refresh();
      answers.set(target, { plain: body, packed: undefined });
    },
    answer(request, response) {
      if (!isPossible || request.method !== 'GET' || hasBody(request)) return false;
      refresh();
      const kept = answers.get(request.url ?? '');
      const encoding = request.headers['accept-encoding'];
      const isPacked = encoding !== undefined && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(encoding);
      // Other encodings are the long way's business.
      if (kept === undefined || (encoding !== undefined && !isPacked && encoding !== 'identity')) return false;
      const client = request.socket.remoteAddress;
      if (!options.access.public && !listed.includes(client)) return false;
      const { max, remaining, isRefused } = limit.peek(client);
      if (isRefused) return false;
      limit.take(client);
      options.observer.count('http_kept_answers_total');
      const packs = isPacked && kept.plain.length >= COMPRESSED_FROM_BYTES;
      if (packs) kept.packed ??= gzipSync(kept.plain, { level: 9 });
      const body = packs && kept.packed !== undefined ? kept.packed : kept.plain;
      response.writeHead(200, [
        'X-Frame-Options',
        'DENY',
        'Content-Security-Policy',
        "frame-ancestors 'none'",
        'X-RateLimit-Limit',
        String(max),
        'X-RateLimit-Remaining',
        String(remaining),
        'Access-Control-Allow-Origin',
        String(origin),
        'Vary',
        origin === '*' ? 'Accept-Encoding' : 'Origin, Accept-Encoding',
        'Content-Type',
        'application/json',
        ...(packs ? ['Content-Encoding', 'gzip'] : []),
        'Content-Length',
        String(body.length),
      ]);
      response.end(body);
      return true;
    },
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
