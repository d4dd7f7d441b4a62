/** Makes the problems. A problem is a refusal of a request: the HTTP status and the JSON body of the answer. */

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

/** The part of the request to which a parameter belongs. */
export type ParameterLocation = 'query' | 'path' | 'body';

/** Element of `errors` in a 400 answer, for a parameter or body that does not fit its declaration. */
export interface ParameterError {
  readonly code: 'INVALID_REQUEST_PARAMETER';
  readonly message: string;
  readonly in: ParameterLocation;
  readonly name: string;
  readonly errors: readonly SchemaError[];
}

/** Element of `errors` in a 400 answer, for a body with an unsupported content type. */
export interface ContentTypeError {
  readonly code: 'INVALID_CONTENT_TYPE';
  readonly message: string;
  readonly errors: readonly [];
}

/**
 * Element of `errors` in a 400 answer, for three kinds of parameters: a parameter that is unknown, a parameter that is
 * missing, and a parameter whose value fits its declaration but cannot be used by the route.
 */
export interface MeaningError {
  readonly name: string;
  readonly message: string;
  readonly in: ParameterLocation;
  readonly code: 'UNKNOWN_PARAM' | 'INVALID_PARAM';
}

export type RequestError = ParameterError | ContentTypeError | MeaningError;

/** @param reason the part of the message after the name of the parameter */
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
  // Two spaces follow the full stop, because a real lisk-sdk node sends this text with two spaces.
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

/** Makes the 400 answer for an invalid cursor in the parameter `after`. */
export function cursorInvalid(message: string): Problem {
  return invalidRequest([{ name: 'after', message, in: 'query', code: 'INVALID_PARAM' }]);
}

/**
 * Makes the 400 answer for a parameter `fromHeight` that is too high. `fromHeight` is too high if the chain does not
 * contain the block at `fromHeight` minus 1 yet. If `finality` is `final`, `fromHeight` is also too high while this
 * block is not final.
 */
export function heightAhead(height: number, finality: 'any' | 'final'): Problem {
  const message = `The chain has no ${finality === 'final' ? 'final ' : ''}block of height ${height - 1} yet.`;
  return invalidRequest([{ name: 'fromHeight', message, in: 'query', code: 'INVALID_PARAM' }]);
}

export function notFound(message: string): Problem {
  return new Problem(404, { message });
}

/**
 * Makes the 404 answer for a path that has no route. This is the only problem whose body has no member `message`.
 * Clients recognise this problem by the member `description` of its body.
 */
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
 * HTTP statuses for the codes of `ProtocolError`. `problemOf` treats two kinds of errors before it uses this table:
 * each `TransactionRejected`, and the code `CURSOR_INVALID`. Any other code that is missing in this table means a
 * failure of the node, so the answer has status 500.
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
 * Codes that `problemOf` also writes into the body of the answer, as the member `reason`. A reading process answers
 * with status 503 for several reasons, for example because the node hangs (`NODE_SILENT`) or because the node is busy
 * (`NODE_BUSY`). Only the answer for `NODE_SILENT` has the member `reason`, so that `bloomery doctor` can distinguish a
 * node that hangs from a node that refuses a request.
 */
const REASONS: ReadonlySet<string> = new Set(['NODE_SILENT']);

/**
 * Description of the status 503 in the API specification, for routes that accept transactions, or signatures of members
 * of multisignature accounts (accounts that several members sign for).
 */
export const NOT_KEPT =
  'The node did not accept the request, because the node could not write to its disk. Send the request again.';

/**
 * Description of the status 429 in the API specification, for routes whose requests can make the node check signatures.
 */
export const CHECKS_EXCEEDED =
  'The client exceeded its rate limit, or all remote clients outside `http.accessWhitelist` together exceeded their common rate limit. Or: A limit on signature checks is reached: the limit of this client, the common limit of all remote clients, or the common limit of all clients on the machine of the node.';

/**
 * Last part of the 403's description in the API specification, for routes with an access rule. The text before this
 * part names the clients that the access rule refuses. This part describes the other requests that `guardRoutes`
 * refuses.
 */
export const OR_NOT_ITSELF =
  'The node also refuses a request that comes from a page of another site, comes through an untrusted proxy, or names an unknown host in the header `Host`.';

/**
 * If a refusal has one of these codes, the member `message` of the answer in generation 2 is the reason for the
 * refusal, not a fixed text.
 */
const PLAIN_CODES: ReadonlySet<string> = new Set(['TRANSACTION_TYPE_UNKNOWN', 'POOL_FULL']);

type Refusal = Extract<SubmitResult, { accepted: false }>;

/**
 * Makes the answer to a refused transaction. The status is 429 if a verification budget is used up: the budget of the
 * client's address, or the common budget of all addresses in the client's group (`BudgetGroup`). The status is 503 if
 * the node could not store the transaction. For all other refusals, the status is 409. The member `message` of a 409 is
 * usually a fixed text. In three cases of generation 2, `message` is the reason for the refusal instead: the type of
 * the transaction is unknown, the pool is full, or `refusal.errors` is empty. If `refusal.errors` is empty, `errors` in
 * the body of a 409 contains one element, with the message of the refusal.
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
 * Makes the answer to a member's refused signature for a multisignature transaction. The status is 400 if the signature
 * is malformed. The conditions for 429 and 503 are the same as in `transactionRefused`. In all other cases, the status
 * is 409.
 */
export function signatureRefused(refusal: Refusal): Problem {
  if (refusal.code === 'VERIFICATION_LIMIT') return verificationLimit(refusal);
  if (refusal.code === 'SIGNATURE_MALFORMED')
    return new Problem(400, { message: 'Invalid signature body', code: 400, errors: errorElements(refusal) });
  if (refusal.code === 'TRANSACTION_NOT_KEPT') return new Problem(503, { message: refusal.message });
  return new Problem(409, { message: 'Error processing signature', code: 409, errors: errorElements(refusal) });
}

/**
 * Makes the answer with status 429. The node sends this answer if one of two verification budgets is used up: the
 * budget of the client's address, or the common budget of the client's group of addresses (`BudgetGroup`). HTTP clients
 * on this machine form one group, and all other HTTP clients form another group.
 */
function verificationLimit(refusal: Refusal): Problem {
  return new Problem(429, { message: refusal.errors[0]?.message ?? refusal.message });
}

/**
 * Returns the problem with which the node answers a request whose handling threw `error`. The result is undefined if
 * `error` is a failure of the node, not a refusal of the request.
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
