/**
 * Builds the answers to refused requests. The node builds one answer for each kind of refusal, and sends this answer
 * for every refusal of the kind. A refusal therefore costs less than a normal answer.
 */

import { STATUS_CODES } from 'node:http';

/**
 * Builds a complete answer, which also tells the client that the connection ends after this answer.
 *
 * @param headers further headers of the answer, as alternating names and values
 */
export function lastAnswer(
  status: number,
  body: object | undefined = undefined,
  headers: readonly string[] = [],
): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const further = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...(body === undefined ? [] : ['Content-Type: application/json; charset=utf-8']),
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...further,
    'Connection: close',
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`, 'utf8');
}

export const REQUEST_TIMEOUT_ANSWER = lastAnswer(408);

/**
 * Builds the answer to a connection that is refused because too many connections are open, or because the process that
 * counts the connections did not answer. The node sends the answer without reading a request.
 *
 * @param headers further headers of the answer, as alternating names and values
 */
export function tooManyConnectionsAnswer(message: string, headers: readonly string[]): Buffer {
  return lastAnswer(503, { message }, ['Retry-After', String(RETRY_AFTER_S), ...headers]);
}

/**
 * Number of seconds for which the client should wait before it connects again. Before the new attempt, the client
 * should close unused connections.
 */
const RETRY_AFTER_S = 5;

/** Returns the answer to a request for which the parser reports the error `code`. */
export function malformedAnswer(code: string | undefined): Buffer {
  if (code === 'HPE_HEADER_OVERFLOW') return HEADERS_TOO_LARGE;
  return code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW' ? TOO_LARGE : BAD_REQUEST;
}

const BAD_REQUEST = lastAnswer(400);
const TOO_LARGE = lastAnswer(413);
const HEADERS_TOO_LARGE = lastAnswer(431);
