/**
 * The HTTP server on the control port of a devnet's supervisor, which is the process of `bloomery devnet`. The commands
 * that control a running devnet use this port. The server listens only on the loopback address. The server accepts a
 * request under three conditions. First, the request has the bearer token from `control.json` in the devnet's folder.
 * Second, the `Host` header of the request is `127.0.0.1` or `localhost` with this port. Third, the request has no
 * `Origin` header. The second and the third condition exclude the POST requests of web pages in a browser on this
 * machine. A cross-origin POST request has an `Origin` header. After DNS rebinding, the `Host` header names the host of
 * the page.
 */

import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sha256 } from '../../crypto/hash.ts';
import { utf8 } from '../../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { DEVNET_HOST } from './plan.ts';

/** Parameters and results of operations (`operations.ts`) are JSON objects. */
export type ControlParameters = Readonly<Record<string, unknown>>;
export type ControlOperation = (parameters: ControlParameters) => Promise<object>;

export interface ControlServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Maximum size of the parameters of a request, in bytes. Parameters are short, for example names and numbers. */
const BODY_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 32;
const HEADERS_TIMEOUT_MS = 5_000;

/**
 * Starts the server on a free port of `DEVNET_HOST`.
 *
 * @param operations operations by name: a request is `POST /<name>` with the parameters as a JSON object
 */
export async function startControlServer(
  operations: ReadonlyMap<string, ControlOperation>,
  token: string,
): Promise<ControlServer> {
  const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS }, (request, response) => {
    void respond(request, response, { server, operations, token });
  });
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: DEVNET_HOST, port: 0 }, resolve);
  });
  return {
    port: portOf(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Serving {
  readonly server: Server;
  readonly operations: ReadonlyMap<string, ControlOperation>;
  readonly token: string;
}

async function respond(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  try {
    const operation = admitted(request, serving);
    const result = await operation(await parametersOf(request));
    send(response, 200, result);
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : 'DEVNET_FAILED';
    send(response, STATUSES[code] ?? 409, { code, message: messageOf(error) });
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  USAGE: 400,
  CONTROL_TOKEN_WRONG: 401,
  CONTROL_FOREIGN: 403,
  CONTROL_UNKNOWN: 404,
  CONTROL_BODY_TOO_LARGE: 413,
  DEVNET_FAILED: 500,
};

/**
 * Checks the permission of a request by its headers, and returns the requested operation. The caller reads the body of
 * the request only after this check.
 *
 * @throws ProtocolError `CONTROL_FOREIGN` for a wrong `Host` header or an `Origin` header; `CONTROL_TOKEN_WRONG` for a
 *   missing or wrong token; `CONTROL_UNKNOWN` for an unknown operation or a method other than POST
 */
function admitted(request: IncomingMessage, { server, operations, token }: Serving): ControlOperation {
  const { host, origin, authorization = '' } = request.headers;
  const port = portOf(server);
  if (origin !== undefined || (host !== `${DEVNET_HOST}:${port}` && host !== `localhost:${port}`)) {
    throw new ProtocolError(
      'CONTROL_FOREIGN',
      {},
      'the control port answers to this machine alone, and to no web page',
    );
  }
  // `timingSafeEqual` needs two values of equal length, so the function compares digests. The duration of the
  // comparison therefore reveals nothing about the token.
  if (!timingSafeEqual(sha256(utf8(authorization)), sha256(utf8(`Bearer ${token}`)))) {
    throw new ProtocolError(
      'CONTROL_TOKEN_WRONG',
      {},
      'the request needs the token of the devnet, which is in control.json in its folder',
    );
  }
  const operation = request.method === 'POST' ? operations.get((request.url ?? '').slice(1)) : undefined;
  if (operation === undefined) throw new ProtocolError('CONTROL_UNKNOWN', {}, 'the devnet knows no such operation');
  return operation;
}

async function parametersOf(request: IncomingMessage): Promise<ControlParameters> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part = chunk as Buffer;
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new ProtocolError('CONTROL_BODY_TOO_LARGE', {}, 'the request is too large');
    chunks.push(part);
  }
  if (bytes === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ControlParameters;
  } catch {
    // If the body is not valid JSON, the `throw` statement below reports the error.
  }
  throw new ProtocolError('USAGE', {}, 'the parameters must be a JSON object');
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}
