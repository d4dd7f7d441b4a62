/**
 * Checks the messages of a reader (a process that answers HTTP for the node). An attacker who controls a reader can
 * send any message. The node must then neither throw, nor run a long loop, nor keep data without a limit. A reader that
 * runs the program of this package sends no message that this check refuses.
 */

import type { ListeningSocket } from '../../http/listening-socket.ts';
import { READ_CALLS, WRITE_CALL } from './call-shapes.ts';
import { LIMITS } from './limit-shapes.ts';
import type { FromReader, Outcome } from './messages.ts';
import { REPORT } from './report-shapes.ts';
import { flatRecord, integer, isRecord, oneOf, optional, record, text, type Shape } from './shapes.ts';

const COUNT = integer(0, Number.MAX_SAFE_INTEGER);
const PORT = integer(1, 65_535);
/**
 * Maximum length of each text of an error. The errors of a start contain paths and texts of the system, which have at
 * most a few thousand characters.
 */
const ERROR_CHARS_MAX = 100_000;

const FAILED = record<Extract<Outcome, { readonly error: unknown }>>({
  error: record<Extract<Outcome, { readonly error: unknown }>['error']>({
    code: optional(text(ERROR_CHARS_MAX)),
    data: flatRecord(ERROR_CHARS_MAX),
    message: text(ERROR_CHARS_MAX),
  }),
});

const SHAPES: { readonly [Kind in FromReader['kind']]: Shape } = {
  loaded: message<'loaded'>({}),
  waiting: message<'waiting'>({}),
  socket: message<'socket'>({ name: oneOf(['plain', 'tls']) }),
  ready: message<'ready'>({ port: PORT, tlsPort: optional(PORT) }),
  failed: message<'failed'>({ outcome: FAILED }),
  reads: message<'reads'>({ calls: READ_CALLS }),
  write: message<'write'>({ id: COUNT, call: WRITE_CALL }),
  limits: message<'limits'>({ report: LIMITS }),
  taken: message<'taken'>({}),
  pong: message<'pong'>({ memoryBytes: COUNT, requests: COUNT }),
  report: message<'report'>({ report: REPORT }),
};

/** A checked message, and the listening socket that came with it. */
interface Checked {
  readonly message: FromReader;
  readonly socket: ListeningSocket | undefined;
}

/**
 * Reads a message of a reader. The function never throws, and its time is proportional to the size of the message.
 *
 * @param handle handle that came with the message; undefined if there was none. Only a message of the kind `socket` has
 *   a handle. The handle of such a message can be missing if the operating system has lost it
 * @returns the message, or in `wrong` the path to the first member that a reader would not send, such as
 *   `limits.report.left[3][1]`. The caller must then close the handle
 */
export function readMessage(plain: unknown, handle?: unknown): Checked | { readonly wrong: string } {
  if (!isRecord(plain)) return { wrong: 'message' };
  const { kind } = plain;
  if (!isKind(kind)) return { wrong: 'kind' };
  const wrong = SHAPES[kind](plain);
  if (wrong !== undefined) return { wrong: `${kind}${wrong}` };
  // The check of the shape has shown that the message has the type `FromReader`.
  const message = plain as FromReader;
  if (handle === undefined || handle === null) return { message, socket: undefined };
  return kind === 'socket' && isListeningSocket(handle)
    ? { message, socket: handle }
    : { wrong: `${kind} with a handle` };
}

/** Closes a handle of any type that a reader has sent although the node does not need it. */
export function closeHandle(handle: unknown): void {
  const close = handleMember(handle, 'destroy') ?? handleMember(handle, 'close');
  if (typeof close === 'function') Reflect.apply(close, handle, []);
}

/** True for the handle of a listening socket, as `listeningSocketOf` returns it. */
function isListeningSocket(handle: unknown): handle is ListeningSocket {
  const isMethod = (name: string): boolean => typeof handleMember(handle, name) === 'function';
  // The handle of a listening socket has all three methods. The objects `Server` and `Socket` of node:net, which a
  // message can carry instead, have no method `getsockname`.
  return ['listen', 'getsockname', 'close'].every(isMethod);
}

function handleMember(handle: unknown, name: string): unknown {
  return typeof handle === 'object' && handle !== null ? Reflect.get(handle, name) : undefined;
}

function isKind(kind: unknown): kind is FromReader['kind'] {
  return typeof kind === 'string' && Object.hasOwn(SHAPES, kind);
}

/** `readMessage` has read the kind. */
function message<Kind extends FromReader['kind']>(members: {
  readonly [Name in Exclude<keyof Extract<FromReader, { readonly kind: Kind }>, 'kind'>]-?: Shape;
}): Shape {
  return record<Readonly<Record<string, unknown>>>({ ...members, kind: () => undefined });
}
