/**
 * Checks the head of a request, before the node reads the body or runs the handler of the route. The client must have
 * access and must be within the rate limit, and the path must exist. If the request has a body and the route takes a
 * body, the body must be neither compressed nor too large. All refusals of one kind have the same response body. The
 * module makes this response body only once, so a flood of refused requests costs the node less time.
 */

import { METHODS, type IncomingMessage, type ServerResponse } from 'node:http';
import { clientAddresses, createAccessRule } from './access.ts';
import type { Allowance } from './admission/allowance.ts';
import type { Admission } from './admission/admission.ts';
import { BODY_BYTES_MAX, BODY_BYTES_PER_REQUEST } from './admission/limits.ts';
import type { RefusalReason } from './admission/refusals.ts';
import { bringsBody } from './admission/request-gate.ts';
import { createCorsHeaders } from './cors-headers.ts';
import type { HttpDialect } from './dialect.ts';
import type { HttpOptions } from './options.ts';
import type { Live } from '../ports/node-api.ts';
import { pageNotFound, type Problem } from './problems.ts';
import type { LiveRateLimit } from './shared-rate-limit.ts';
import { createRouteTable } from './route-table.ts';
import { allRoutes } from './routes/all.ts';
import { withLive } from './with-live.ts';

export interface RequestChecks {
  /**
   * Checks that the client has access and is within the rate limit, and that the head of the request is valid.
   *
   * @param expectation meaning of the header `Expect`, if the request has it
   * @returns the allowance of the request; undefined if this function has answered the request with a refusal, or if
   *   the client has closed the connection. A returned promise rejects with the errors of `SharedLimits.take`
   */
  admitClient(
    request: IncomingMessage,
    response: ServerResponse,
    expectation?: Expectation,
  ): Live<Allowance | undefined>;
  /**
   * Checks that the path exists. If the request has a body and the route takes a body, the function also checks that
   * the body is neither compressed nor too large. In this case, `takesBody` is true. In all other cases, `takesBody` is
   * false.
   *
   * @returns undefined if this function has answered the request with a refusal
   */
  admitTarget(request: IncomingMessage, response: ServerResponse): { readonly takesBody: boolean } | undefined;
}

/**
 * Meaning of the header `Expect`. `continue`: the client waits for the status 100 (Continue) before it sends the body.
 * `unknown`: the header has any other value.
 */
export type Expectation = 'continue' | 'unknown';

export interface RequestCheckParts {
  readonly admission: Admission;
  readonly dialect: HttpDialect;
  readonly limit: LiveRateLimit;
  /**
   * True for the paths that can belong to a file of the dashboard or of the interactive API documentation: `/` and all
   * paths below `/assets/`. The function does not check whether the file exists. If the server has neither the
   * dashboard nor this documentation, the function returns false for every path.
   */
  readonly isOtherPath: (path: string) => boolean;
}

export function createRequestChecks(options: HttpOptions, parts: RequestCheckParts): RequestChecks {
  const { admission, dialect, limit, isOtherPath } = parts;
  const accessRule = createAccessRule(options);
  const corsHeaders = createCorsHeaders(options);
  const table = createRouteTable(allRoutes(dialect, options), dialect.generation === 3);

  const refuse = (request: IncomingMessage, response: ServerResponse, refusal: Refusal, extra: string[] = []): void => {
    const { status, headers, body } = refusal;
    response.writeHead(status, [...headers, ...corsHeaders(request), ...extra]);
    response.end(body);
    admission.refuse(request, refusal.reason);
  };

  const admitCounted = (
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    expectation: Expectation | undefined,
  ): Allowance | undefined => {
    // The client has possibly closed the connection while the node waited for the result of the rate limit.
    if (response.destroyed) return undefined;
    if (!allowance.isRefused) {
      const refusal = malformedHead(request, expectation);
      if (refusal === undefined) return allowance;
      refuse(request, response, refusal);
      return undefined;
    }
    const { max, remaining, resetMs = 0 } = allowance;
    const headers = ['X-RateLimit-Limit', String(max), 'X-RateLimit-Remaining', String(remaining)];
    headers.push('Retry-After', String(Math.max(1, Math.ceil(resetMs / 1000))));
    refuse(request, response, wantsJson(request) ? TOO_MANY_JSON : TOO_MANY_HTML, headers);
    return undefined;
  };

  return {
    admitClient(request, response, expectation) {
      const denied = accessRule(request);
      if (denied !== undefined) {
        refuse(request, response, refusalOf(denied, 'access'));
        return undefined;
      }
      const counted = limit.take(clientAddresses(request, options.trustProxy)[0], costOf(request));
      return withLive(counted, (allowance) => admitCounted(request, response, allowance, expectation));
    },
    admitTarget(request, response) {
      const { url = '', headers } = request;
      const end = url.search(/[?#]/);
      const path = end < 0 ? url : url.slice(0, end);
      const known = table.find(path);
      if (known === undefined && !isOtherPath(path)) return void refuse(request, response, PAGE_NOT_FOUND);
      if (!bringsBody(request)) return WITHOUT_BODY;
      // The request has a body, but the route takes no body. The route answers as if the request had no body. The node
      // does not read the body, so the connection ends after the answer.
      if (known?.takesBody(methodOf(request)) !== true) return WITHOUT_BODY;
      const encoding = headers['content-encoding'];
      if (encoding && encoding.toLowerCase() !== 'identity') {
        return void refuse(request, response, COMPRESSED);
      }
      if (Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX) return void refuse(request, response, TOO_LARGE);
      return WITH_BODY;
    },
  };
}

const WITH_BODY = { takesBody: true };
const WITHOUT_BODY = { takesBody: false };

/**
 * Returns the method of a request. If a client can only send GET and POST, it can send a POST request that names a
 * different method in the header `X-HTTP-Method-Override`. If the header contains several methods, the first one
 * counts. The function ignores a method that node:http does not know.
 */
export function methodOf({ method = '', headers }: IncomingMessage): string {
  const override = headers['x-http-method-override'];
  if (method !== 'POST' || typeof override !== 'string') return method;
  const [first = ''] = override.split(',', 1);
  const announced = first.trim().toUpperCase();
  return METHODS.includes(announced) ? announced : method;
}

/**
 * Returns the number of requests that the rate limit counts for a request. The number is the size of the body divided
 * by `BODY_BYTES_PER_REQUEST`, rounded up, but at least one. If the body is too large, or if its length is unknown, it
 * counts like the largest allowed body.
 */
function costOf(request: IncomingMessage): number {
  if (!bringsBody(request)) return 1;
  const stated = request.headers['content-length'];
  const bytes = Math.min(stated === undefined ? BODY_BYTES_MAX : Number(stated), BODY_BYTES_MAX);
  return Math.max(1, Math.ceil(bytes / BODY_BYTES_PER_REQUEST));
}

interface Refusal {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly reason: RefusalReason;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const SECURITY_HEADERS = ['X-Frame-Options', 'DENY', 'Content-Security-Policy', "frame-ancestors 'none'"];

function refusal(reason: RefusalReason, status: number, type: string, text: string, more: string[] = []): Refusal {
  const body = Buffer.from(text, 'utf8');
  const headers = [...more, 'Content-Type', type, 'Content-Length', String(body.length)];
  return { status, headers, body, reason };
}

/**
 * Returns the refusal of a request with a malformed head. There are three such requests: an HTTP/1.1 request without
 * `Host`, a request with several `Host` headers (RFC 9112 section 3.2), and a request with an unknown value of
 * `Expect`. For any other request, the result is undefined. These refusals have no body, as in node:http, and end the
 * connection.
 */
function malformedHead(
  { rawHeaders, httpVersion }: IncomingMessage,
  expectation: Expectation | undefined,
): Refusal | undefined {
  if (expectation === 'unknown') return EXPECTATION_FAILED;
  let hosts = 0;
  // The list has the name of each header, followed by its value.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? HOST_WRONG : undefined;
}

const made = new WeakMap<Problem, Refusal>();

/**
 * Returns the refusal with the status and body of a problem. A second call with the same problem object returns the
 * same refusal.
 */
function refusalOf(problem: Problem, reason: RefusalReason): Refusal {
  let known = made.get(problem);
  if (known === undefined)
    made.set(problem, (known = refusal(reason, problem.status, JSON_TYPE, JSON.stringify(problem.body))));
  return known;
}

const HOST_WRONG = malformed(400);
const EXPECTATION_FAILED = malformed(417);

function malformed(status: number): Refusal {
  const headers = ['Connection', 'close', 'Content-Length', '0'];
  return { status, headers, body: Buffer.alloc(0), reason: 'malformed' };
}

const TOO_MANY = 'Too many requests, please try again later.';
const TOO_MANY_JSON = refusal('rate', 429, JSON_TYPE, JSON.stringify({ message: TOO_MANY }), SECURITY_HEADERS);
const TOO_MANY_HTML = refusal('rate', 429, 'text/html; charset=utf-8', TOO_MANY, SECURITY_HEADERS);
const PAGE_NOT_FOUND = refusal('route', 404, JSON_TYPE, JSON.stringify(pageNotFound().body), SECURITY_HEADERS);
const COMPRESSED = refusedBody(415, 'UnsupportedMediaTypeError: content encoding unsupported');
const TOO_LARGE = refusedBody(413, 'PayloadTooLargeError: request entity too large');

/** Makes the refusal of a body, with the same text as the refusal by the body parser of Express. */
function refusedBody(status: number, error: string): Refusal {
  const sentence = `API error: ${error}`;
  return refusal('body', status, JSON_TYPE, JSON.stringify({ success: false, error: sentence, message: sentence }), [
    ...SECURITY_HEADERS,
    'Connection',
    'close',
  ]);
}

/** True if the header `Accept` names JSON and does not name HTML. */
function wantsJson({ headers }: IncomingMessage): boolean {
  const { accept = '' } = headers;
  return accept.includes('json') && !accept.includes('html');
}
