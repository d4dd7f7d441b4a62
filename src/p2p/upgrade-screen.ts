/**
 * Screens a connection before the HTTP parser has it: the only thing that may come is one request for a WebSocket. The parser
 * would take all requests of a packet in one go, thousands of them, before anybody could say no.
 */

import type { Socket } from 'node:net';
import type { Clock } from '../ports/clock.ts';

/** An info of the largest size, percent-encoded in the query, and the headers: as much as the HTTP parser takes. */
export const HEAD_BYTES_MAX = 65_536;
/** Reads in which the request may come. A sender that trickles is given up before its trickle costs much. */
const HEAD_READS_MAX = 64;
const HEAD_END = Buffer.from('\r\n\r\n');
const METHOD = 'GET ';

export type UpgradeVerdict = 'incomplete' | 'upgrade' | 'refused';

/**
 * Judges the first bytes of a connection.
 *
 * @param head all bytes so far
 * @param path of the upgrade, without its query
 * @param seenBytes bytes of `head` that were judged `incomplete` before and need no second look
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
  // A client of the protocol says nothing more before it is answered.
  if (end + HEAD_END.length !== head.length || head.length > HEAD_BYTES_MAX) return 'refused';
  return isUpgrade(head.toString('latin1', expected.length)) ? 'upgrade' : 'refused';
}

const QUESTION_MARK = 0x3f;
const SPACE = 0x20;

/** The rest of the request: a query, the version, and headers that ask for a WebSocket and announce no body. */
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

/** Headers of which a second would leave open which of them counts. */
const SINGLE: ReadonlySet<string> = new Set(['upgrade', 'connection', 'content-length', 'transfer-encoding']);

export interface ScreenOptions {
  readonly path: string;
  readonly clock: Clock;
  /** For the whole request. */
  readonly timeoutMs: number;
  /** Takes the connection, which has its request to read again and is paused. */
  passed(): void;
}

/** Reads of a new connection until it has asked for a WebSocket; destroys it at the first byte that shows anything else. */
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
  // The connection closes, which is all that an error here means.
}
