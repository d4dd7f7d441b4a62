/** Opens one WebSocket to a peer, and waits for the answer to the handshake of the SocketCluster protocol. */

import type { Clock } from '../ports/clock.ts';
import type { CloseReason, NodeInfo, PeerAddress } from '../ports/transport.ts';
import { CLOSE, type WireDialect } from './dialect.ts';
import { arrivalOf, FrameFilter, type FrameFilterEvents } from './frame-filter.ts';
import { Link, type LinkEvents } from './link.ts';
import { ReceivePause } from './receive-pause.ts';
import { connectClient } from './socket-cluster.ts';
import { UnsolicitedBytesBudget, type SharedUnsolicitedBytesBudget } from './unsolicited-bytes.ts';

export interface DialOptions {
  readonly address: PeerAddress;
  readonly dialect: WireDialect;
  readonly info: NodeInfo;
  readonly clock: Clock;
  /**
   * Time limit in milliseconds for the TCP handshake and the WebSocket upgrade together. The SocketCluster handshake
   * has a separate time limit of the same length.
   */
  readonly timeoutMs: number;
  readonly shared: SharedUnsolicitedBytesBudget;
  readonly on: LinkEvents & FrameFilterEvents;
}

export interface Dialled {
  readonly link: Link;
  /** Resolves with undefined when the peer answers the handshake, or with a close reason when the dial fails. */
  readonly outcome: Promise<CloseReason | undefined>;
}

/**
 * Starts to dial. The peer sends its info before it answers the handshake: in a call (generation 2), or in an event
 * (generation 3). The handlers `on` must therefore be able to handle calls and events before `outcome` resolves.
 */
export function dial(options: DialOptions): Dialled {
  const { address, dialect, info, clock, timeoutMs, on } = options;
  const filterEvents: FrameFilterEvents = {
    overused: on.overused,
    flooded: (detail) => {
      link.terminate({ code: 1006, reason: 'Peer floods' });
      on.flooded(detail);
    },
    overflowed: (detail) => {
      link.close(CLOSE.overflow);
      on.overflowed(detail);
    },
  };
  const unsolicited = new UnsolicitedBytesBudget(options.shared, true);
  const filter = new FrameFilter('dialer', dialect, clock, filterEvents, unsolicited);
  const { socket, webSocket, opened } = connectClient({
    hostname: address.ip,
    port: address.wsPort,
    path: dialect.path,
    query: dialect.query(info),
    timeoutMs,
    decode: (frame) => {
      try {
        return filter.admit(frame);
      } catch (error) {
        on.failed(error);
        link.terminate({ code: 1006, reason: 'Internal error' });
        return null;
      }
    },
  });
  const link = new Link(socket, webSocket, filter);
  const pause = new ReceivePause(webSocket, clock);
  webSocket.prependListener('message', (data) => {
    pause.waitFor(filter.count(arrivalOf(data)));
  });
  webSocket.once('close', () => {
    pause.end();
  });
  for (const control of ['ping', 'pong'] as const) {
    webSocket.on(control, () => {
      link.terminate({ code: 1006, reason: 'Peer sent a control frame' });
    });
  }
  webSocket.once('unexpected-response', (_request, response) => {
    const status = response.statusCode ?? 0;
    // A node of generation 2 refuses a banned address with HTTP 401. At this moment, no WebSocket is open yet, so the
    // peer cannot send the close code for a ban (`CLOSE.forbidden`).
    link.terminate({ code: status === 401 ? CLOSE.forbidden.code : 1006, reason: `HTTP ${String(status)}` });
  });
  link.listen(on, dialect.events);
  const over = link.over.then((reason) => namingTimeout(reason, timeoutMs));
  const outcome = Promise.race([opened.then(() => undefined), over]);
  return { link, outcome };
}

/** Code with which the library ends a connection whose peer does not answer the handshake in time. */
const UNANSWERED_CODE = 4000;
/**
 * Texts of the close reasons if the WebSocket does not open within the time limit. Both texts come from `ws`. The
 * library `ws` gives the first text if the timer of `socketcluster-client` ends first and closes the WebSocket. The
 * library `ws` gives the second text if the timer of `ws` ends first.
 */
const LATE_REASONS: ReadonlySet<string> = new Set([
  'WebSocket was closed before the connection was established',
  'Opening handshake has timed out',
]);

/**
 * If a dial failed because of a time limit, returns a close reason whose text contains this time limit. The texts of
 * the libraries do not contain the time limit. The function returns any other close reason unchanged.
 */
function namingTimeout({ code, reason }: CloseReason, timeoutMs: number): CloseReason {
  if (code === UNANSWERED_CODE) return { code, reason: `The peer did not answer the handshake within ${timeoutMs} ms` };
  return LATE_REASONS.has(reason)
    ? { code, reason: `The peer did not accept a WebSocket within ${timeoutMs} ms` }
    : { code, reason };
}
