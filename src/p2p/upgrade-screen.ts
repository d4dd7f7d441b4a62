/**
 * Checks a connection before the HTTP parser gets it. The only allowed input is one request for a WebSocket. Without
 * this check, the parser would handle all requests in a packet (perhaps thousands) before the node could stop the
 * parser.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../ports/clock.ts';

/**
 * Maximum number of bytes of the request. The request contains the headers, and a query with the percent-encoded info
 * of the peer. Before the encoding, the info has at most `INFO_BYTES_MAX` bytes. `HEAD_BYTES_MAX` is also the limit of
 * the HTTP parser.
 */
export const HEAD_BYTES_MAX = 65_536;
/**
 * The whole request must arrive within this number of reads. The maximum limits the work for a connection that sends
 * one byte at a time.
 */
const HEAD_READS_MAX = 64;
const HEAD_END = Buffer.from('\r\n\r\n');
const METHOD = 'GET ';

export type UpgradeVerdict = 'incomplete' | 'upgrade' | 'refused';

/**
 * Decides whether the first bytes of a connection are a complete request for a WebSocket (`upgrade`), the beginning of
 * such a request (`incomplete`), or anything else (`refused`).
 *
 * @param head all bytes that have arrived so far
 * @param path path of the upgrade request, without its query
 * @param seenBytes number of bytes of `head` that an earlier call judged `incomplete`. The end of the headers is not
 *   within these bytes
 */
export function judgeUpgrade(head: Buffer, path: string, seenBytes = 0): UpgradeVerdict {
  const expected = METHOD + path;
  const begun = head.toString('latin1', 0, expected.length);
  if (!expected.startsWith(begun)) return 'refused';
  if (head.length <= expected.length) return 'incomplete';
  const next = head[expected.length];
  if (next !== QUESTION_MARK && next !== SPACE) return 'refused';
  const end = head.indexOf(HEAD_END, Math.max(0, seenBytes - HEAD_END.length + 1));
  if (end < 0) return head.length < HEAD_BYTES_MAX ? 'incomplete' : 'refused';
  // A client of the protocol waits for the answer before it sends more bytes, so the headers must be the last bytes.
  if (end + HEAD_END.length !== head.length || head.length > HEAD_BYTES_MAX) return 'refused';
  return isUpgrade(head.toString('latin1', expected.length)) ? 'upgrade' : 'refused';
}

const QUESTION_MARK = 0x3f;
const SPACE = 0x20;

/**
 * Checks the rest of the request (the text after the path). Returns true if the HTTP version is 1.1, and if the headers
 * ask for a WebSocket and announce no body.
 */
function isUpgrade(rest: string): boolean {
  const [line = '', ...headers] = rest.split('\r\n');
  if (!/^(?:\?[\x21-\x7e]*)? HTTP\/1\.1$/.test(line)) return false;
  const values = new Map<string, string>();
  for (const header of headers) {
    const colon = header.indexOf(':');
    if (colon < 0) continue;
    const name = header.slice(0, colon).toLowerCase();
    if (values.has(name) && SINGLE.has(name)) return false;
    values.set(
      name,
      header
        .slice(colon + 1)
        .trim()
        .toLowerCase(),
    );
  }
  const isUpgraded = /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/.test(values.get('connection') ?? '');
  const hasBody = values.has('transfer-encoding') || (values.get('content-length') ?? '0') !== '0';
  return isUpgraded && values.get('upgrade') === 'websocket' && !hasBody;
}

/**
 * A request is allowed to contain each of these headers only once. If one of these headers occurred twice, its value
 * would be ambiguous.
 */
const SINGLE: ReadonlySet<string> = new Set(['upgrade', 'connection', 'content-length', 'transfer-encoding']);

export interface ScreenOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Time in milliseconds within which the whole request must arrive. */
  readonly timeoutMs: number;
  /**
   * Called when a valid request has arrived. `screenUpgrade` has already paused the connection, and has put the bytes
   * of the request back into the socket for the next reader.
   */
  passed(): void;
}

/**
 * Reads from a new connection until the connection has asked for a WebSocket. Destroys the connection in three cases:
 * `judgeUpgrade` refuses its bytes, the client ends the connection, or the request is still incomplete after
 * `timeoutMs` milliseconds or after `HEAD_READS_MAX` reads.
 */
export function screenUpgrade(socket: Socket, { path, clock, timeoutMs, passed }: ScreenOptions): void {
  let head: Buffer = Buffer.alloc(0);
  let reads = 0;
  const timer = clock.after(timeoutMs, give);
  const stop = (): void => {
    timer.cancel();
    socket.off('data', read);
    socket.off('end', give);
    socket.off('close', stop);
    socket.off('error', ignore);
  };
  function give(): void {
    stop();
    socket.on('error', ignore);
    socket.destroy();
  }
  function read(bytes: Buffer): void {
    const seenBytes = head.length;
    head = seenBytes === 0 ? bytes : Buffer.concat([head, bytes]);
    reads += 1;
    const verdict = judgeUpgrade(head, path, seenBytes);
    if (verdict === 'incomplete' && reads < HEAD_READS_MAX) return;
    if (verdict !== 'upgrade') return give();
    stop();
    socket.pause();
    socket.unshift(head);
    passed();
  }
  socket.on('data', read);
  socket.on('end', give);
  socket.on('close', stop);
  socket.on('error', ignore);
}

function ignore(): void {
  // After an error, the socket closes by itself.
}
