/** Clients that write raw bytes to an HTTP server of the API, from any address of the loopback network. */

import { connect, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { MonotonicClock } from '../../src/http/monotonic-clock.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import type { Fake } from './fake-node.ts';

/**
 * A loopback address that is not in `access.whiteList`. Clients at this address are therefore strangers, in contrast to
 * clients at 127.0.0.1.
 */
export const STRANGER = '127.0.0.2';

export class BareClient {
  readonly socket: Socket;
  received = '';
  isEnded = false;
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    socket.on('end', () => (this.isEnded = true));
    socket.on('close', () => (this.isClosed = true));
  }

  /** Statuses of the answers so far. */
  get statuses(): readonly number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 ([0-9]{3}) /g)].map(([, status]) => Number(status));
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Resolves when the condition holds. @throws Error after a minute */
  async until(condition: (client: BareClient) => boolean): Promise<void> {
    for (let waitedMs = 0; !condition(this); waitedMs += 10) {
      if (waitedMs > 60_000) throw new Error(`still ${JSON.stringify(this.received.slice(0, 300))}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Resolves with the statuses when the server has ended the connection. */
  async ended(): Promise<readonly number[]> {
    await this.until(({ isEnded, isClosed }) => isEnded || isClosed);
    return this.statuses;
  }
}

/** @param first bytes that are sent as soon as the connection is open */
export type Dial = (from?: string, first?: string) => Promise<BareClient>;

/**
 * Serves a node until the test ends.
 *
 * @param clock clock of the limits; by default the clock of the process
 * @returns a function that opens a connection, by default from `STRANGER`
 */
export async function serveBytes(
  t: ExecutionContext,
  fake: Fake,
  options: Partial<HttpOptions> = {},
  clock?: MonotonicClock,
): Promise<Dial> {
  const server = createHttpServer(
    fake.api,
    { port: 0, address: '127.0.0.1', cacheResponses: false, ...options },
    clock,
  );
  const { port } = await server.start();
  const clients: BareClient[] = [];
  t.teardown(async () => {
    for (const { socket } of clients) socket.destroy();
    await server.close();
  });
  return async (from = STRANGER, first = '') => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    if (first !== '') socket.write(first);
    const client = new BareClient(socket);
    clients.push(client);
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
      socket.once('close', () => resolve());
    });
    return client;
  };
}

/** Builds a request as bytes. A request with a body gets the headers `Content-Type` and `Content-Length`. */
export function requestBytes(line: string, body?: string, headers: readonly string[] = []): string {
  const ofBody = body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
  return `${[`${line} HTTP/1.1`, 'Host: 127.0.0.1', ...ofBody, ...headers].join('\r\n')}\r\n\r\n${body ?? ''}`;
}
