/** Makes the status and the body of each refusal, and maps the codes of rejections to statuses. */

import { ProtocolError } from '../primitives/errors.ts';
import { TransactionRejected, transactionError, type TransactionError } from '../protocol/verdict.ts';
import type { Generation } from '../protocol/params.ts';
import type { SubmitResult } from '../ports/node-api.ts';
import type { SchemaError } from './schema.ts';

/** A refusal of a request, with the status and the body of the answer. */
export class Problem extends Error {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(`HTTP ${status}`);
    this.name = 'Problem';
    this.status = status;
    this.body = body;
  }
}

/** Part of a request that contains a parameter. */
export type ParameterLocation = 'query' | 'path' | 'body';

/** Element of a 400 answer for a parameter or body that does not fit its declaration. */
export interface ParameterError {
  readonly code: 'INVALID_REQUEST_PARAMETER';
  readonly message: string;
  readonly in: ParameterLocation;
  readonly name: string;
  readonly errors: readonly SchemaError[];
}

/** Element of a 400 answer for a body with an unsupported content type. */
export interface ContentTypeError {
  readonly code: 'INVALID_CONTENT_TYPE';
  readonly message: string;
  readonly errors: readonly [];
}

/** Element of a 400 answer for an unknown or missing parameter, or for a valid value that the route cannot use. */
export interface MeaningError {
  readonly name: string;
  readonly message: string;
  readonly in: ParameterLocation;
  readonly code: 'UNKNOWN_PARAM' | 'INVALID_PARAM';
}

export type RequestError = ParameterError | ContentTypeError | MeaningError;

/** @param reason text after the name of the parameter */
export function parameterError(
  location: ParameterLocation,
  name: string,
  errors: readonly SchemaError[],
  reason = 'Value failed JSON Schema validation',
): ParameterError {
  const message = `Invalid parameter (${name}): ${reason}`;
  return { code: 'INVALID_REQUEST_PARAMETER', message, in: location, name, errors };
}

export function unknownParameter(name: string): MeaningError {
  return { name, message: 'Unknown request parameter', in: 'query', code: 'UNKNOWN_PARAM' };
}

export function contentTypeError(contentType: string): ContentTypeError {
  // Two spaces follow the full stop, because clients know the text in this form.
  const message = `Invalid Content-Type (${contentType}).  These are supported: application/json`;
  return { code: 'INVALID_CONTENT_TYPE', message, errors: [] };
}

export function invalidRequest(errors: readonly RequestError[]): Problem {
  return new Problem(400, { message: 'Validation errors', errors });
}

/** @param detail name and message of the parser's error */
export function malformedBody(detail: string): Problem {
  const error = { code: 'INVALID_REQUEST_PAYLOAD', name: 'payload', in: 'query', message: detail };
  return new Problem(400, { message: 'Parse errors', errors: [error] });
}

/** Makes the 400 for an invalid cursor. */
export function cursorInvalid(message: string): Problem {
  return invalidRequest([{ name: 'after', message, in: 'query', code: 'INVALID_PARAM' }]);
}

/**
 * Makes the 400 for an event stream whose first height is too high. The block below this height must exist. With
 * finality `final`, that block must also be final.
 */
export function heightAhead(height: number, finality: 'any' | 'final'): Problem {
  const message = `The chain has no ${finality === 'final' ? 'final ' : ''}block of height ${height - 1} yet.`;
  return invalidRequest([{ name: 'fromHeight', message, in: 'query', code: 'INVALID_PARAM' }]);
}

export function notFound(message: string): Problem {
  return new Problem(404, { message });
}

/** The only problem without `message`. Clients recognise this problem by `description`. */
export function pageNotFound(): Problem {
  return new Problem(404, { description: 'Page not found' });
}

export function accessDenied(): Problem {
  return new Problem(403, { message: 'Access Denied' });
}

export function internalError(): Problem {
  return new Problem(500, { message: 'An unexpected error occurred while handling this request' });
}

/**
 * HTTP statuses of thrown rejections, by code. `problemOf` also knows the code `CURSOR_INVALID`. A
 * `TransactionRejected` is always a refusal, whatever its code. Any other error with an unknown code is a failure of
 * the node, so the answer is a 500.
 */
export const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  TRANSACTION_TYPE_UNKNOWN: 409,
  TRANSACTION_TYPE_NOT_ALLOWED: 409,
  TRANSACTION_INVALID: 409,
  TRANSACTION_KNOWN: 409,
  TRANSACTION_IN_FUTURE: 409,
  TRANSACTION_NOT_APPLICABLE: 409,
  MEMBER_SIGNATURE_FALSE: 409,
  POOL_FULL: 409,
  VERIFICATION_LIMIT: 429,
  TRANSACTION_NOT_KEPT: 503,
  FORGING_DELEGATE_UNKNOWN: 404,
  FORGING_PASSWORD_WRONG: 404,
  FORGING_NOT_A_DELEGATE: 404,
  FORGING_MOVED: 422,
  NODE_BUSY: 503,
  NODE_SILENT: 503,
  QUERIES_BUSY: 503,
  STORE_CLOSED: 503,
};

/**
 * Codes that the body of the refusal contains as `reason`, because programs use them. For example, `bloomery doctor`
 * uses the code to distinguish a node that hangs from a busy node.
 */
const REASONS: ReadonlySet<string> = new Set(['NODE_SILENT']);

/** Description of the 503 on routes that promise to keep accepted transactions. */
export const NOT_KEPT =
  'The node did not accept the request, because the node could not write to its disk. Send the request again.';

/** Description of the 429 on routes whose requests may cost signature checks. */
export const CHECKS_EXCEEDED =
  'The client, or all remote clients outside `http.accessWhitelist` together, exceeded the rate limit or the limit on signature checks.';

/**
 * Second part of the description of the 403 on routes with an access rule. It describes the refusals by `guardRoutes`.
 */
export const OR_NOT_ITSELF =
  'Or the request comes from a page of another site, comes through an untrusted proxy, or names an unknown host.';

/** Codes of rejections that concern the whole transaction and not a single field of it. */
const PLAIN_CODES: ReadonlySet<string> = new Set(['TRANSACTION_TYPE_UNKNOWN', 'POOL_FULL']);

type Refusal = Extract<SubmitResult, { accepted: false }>;

/**
 * Makes the answer to a refused transaction. The status is 429 if the client or its group of addresses has used up its
 * time for signature checks. The status is 503 if the node could not store the transaction, and otherwise 409. The
 * `message` of a 409 is usually a fixed text. In generation 2, `message` is the reason of the refusal if the type is
 * unknown, if the pool is full, or if `refusal.errors` is empty. `errors` in the body of a 409 is never empty.
 */
export function transactionRefused(refusal: Refusal, generation: Generation): Problem {
  if (refusal.code === 'VERIFICATION_LIMIT') return verificationLimit(refusal);
  if (refusal.code === 'TRANSACTION_NOT_KEPT') return new Problem(503, { message: refusal.message });
  const isPlain = refusal.errors.length === 0 || PLAIN_CODES.has(refusal.code);
  const plain = refusal.errors[0]?.message ?? refusal.message;
  const message = isPlain && generation === 2 ? plain : 'Transaction was rejected with errors';
  return new Problem(409, { message, code: 409, errors: errorElements(refusal) });
}

/**
 * Makes the answer to a refused member signature: 400 if the signature is malformed, 429 and 503 as for a transaction,
 * otherwise 409.
 */
export function signatureRefused(refusal: Refusal): Problem {
  if (refusal.code === 'VERIFICATION_LIMIT') return verificationLimit(refusal);
  if (refusal.code === 'SIGNATURE_MALFORMED')
    return new Problem(400, { message: 'Invalid signature body', code: 400, errors: errorElements(refusal) });
  if (refusal.code === 'TRANSACTION_NOT_KEPT') return new Problem(503, { message: refusal.message });
  return new Problem(409, { message: 'Error processing signature', code: 409, errors: errorElements(refusal) });
}

/** Makes the 429 for a client if the client or its group of addresses has used up its time for signature checks. */
function verificationLimit(refusal: Refusal): Problem {
  return new Problem(429, { message: refusal.errors[0]?.message ?? refusal.message });
}

/**
 * Returns the answer for a thrown refusal or rejection; undefined for any other error, which is a failure of the node.
 */
export function problemOf(error: unknown, generation: Generation): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof TransactionRejected)
    return transactionRefused(
      { accepted: false, code: error.code, message: error.message, errors: error.errors },
      generation,
    );
  if (!(error instanceof ProtocolError)) return undefined;
  if (error.code === 'CURSOR_INVALID') return cursorInvalid('after is not a cursor of this list.');
  const status = STATUS_BY_CODE[error.code];
  if (status === undefined) return undefined;
  return new Problem(status, { message: error.message, ...(REASONS.has(error.code) ? { reason: error.code } : {}) });
}

function errorElements(refusal: Refusal): readonly object[] {
  const errors = refusal.errors.length > 0 ? refusal.errors : [transactionError('', refusal.message, '')];
  return errors.map(errorElement);
}

function errorElement(error: TransactionError): object {
  return {
    message: error.message,
    name: error.name,
    id: error.id,
    dataPath: error.dataPath,
    ...(error.actual === undefined ? {} : { actual: error.actual }),
    ...(error.expected === undefined ? {} : { expected: error.expected }),
  };
}
