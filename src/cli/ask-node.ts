/**
 * Sends requests to the HTTP interface of a node, and checks the answers. Error codes:
 *
 * - `NODE_UNREACHABLE`: the node does not answer, or its answer is incomplete or too long. The member `why` of the
 *   error's data contains the reason. The member `isLate` is true if the time limit passed without an answer. The
 *   member `isUnsent` is true if the node has not received the request.
 * - `NODE_REFUSED`: the node refuses a request of `NodeAsker.send`, and gives a reason.
 * - `NODE_ANSWER_UNEXPECTED`: the answer has an error status but is not a refusal (`NODE_REFUSED`), an answer to `ask`
 *   or `send` contains no data, or an answer to `stream` is not an event stream. The member `said` of the error's data
 *   contains the message of the answer.
 * - `NODE_ANSWER_MALFORMED`: the data in an answer to `ask` has a wrong shape.
 */

import { unescape } from 'node:querystring';
import { isPortBlocked } from '../primitives/blocked-ports.ts';
import { ProtocolError, messageOf } from '../primitives/errors.ts';
import { shapeOf, type Shape } from './answer-shapes.ts';
import { usageError } from './error-lines.ts';
import { printable } from './printable.ts';

export interface NodeAsker {
  /** Address of the node, without `/api`, and without the user and the password that the given address can contain. */
  readonly base: string;
  /**
   * @param path path without the prefix `/api/`
   * @param shape a second shape that the command requires, in addition to the shape for `path` in `answer-shapes.ts`
   * @throws ProtocolError `NODE_UNREACHABLE`; `NODE_ANSWER_UNEXPECTED` for an error status or an answer without data;
   *   `NODE_ANSWER_MALFORMED` for data of a wrong shape
   */
  ask<T>(path: string, shape?: Shape): Promise<T>;
  /**
   * Opens a stream of server-sent events (`text/event-stream`). The stream ends when the node closes it, when the
   * caller closes it, or when the connection is lost. The time limit `timeoutMs` of `AskerOptions` applies only until
   * the headers of the stream have arrived. If the node sends an answer that is not a stream, the whole answer must
   * arrive within the time limit.
   *
   * @param path as for `ask`
   * @throws ProtocolError `NODE_UNREACHABLE`; `NODE_ANSWER_UNEXPECTED` for any answer that is not an event stream
   */
  stream(path: string): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Sends a request with a JSON body, and returns the data of the answer.
   *
   * @throws ProtocolError `NODE_UNREACHABLE`; `NODE_REFUSED` with the reasons of the node, for an answer that has
   *   status 400, 403, 404, 409 or 422 and a member `message`; `NODE_ANSWER_UNEXPECTED` for any other error answer, or
   *   for an answer without data
   */
  send<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T>;
}

interface Answer {
  readonly data?: unknown;
  /**
   * Text of the member `message` of an error answer. A long text is shortened, because the sender can be a program that
   * is not a node.
   */
  readonly message?: string;
  /**
   * Code in the member `reason` of an error answer. For example, the answer contains the code `NODE_SILENT` if it comes
   * from a reading process (an extra process of the node that answers HTTP requests), and if the node's own process
   * does not answer the reading process.
   */
  readonly code?: string;
  readonly reasons: readonly string[];
}

interface Exchange {
  readonly response: Response;
  readonly answer: Answer;
}

/**
 * Matches any address. Its three groups are the scheme, the text `USER:PASSWORD` or `USER`, and the rest of the
 * address.
 */
const ADDRESS = /^([a-z]+:\/\/)?(?:(.*)@)?([^@]*)$/is;
/**
 * Matches an address without scheme. The address begins with an IPv6 address in brackets, an IPv4 address, `localhost`
 * or a name with a dot. A port and a path can follow.
 */
const BARE_ADDRESS = /^(\[[0-9a-fA-F:.]+\]|localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(:[0-9]{1,5})?(\/\S*)?$/;
/**
 * Port of a node address that has no scheme and no port. The networks `devnet` and `devnet-gen2`, which are part of the
 * Bloomery package, use this HTTP port.
 */
const DEFAULT_PORT = 4000;
const TIMEOUT_MS = 5000;
/** HTTP status with which a node answers a request that arrived too slowly. */
const REQUEST_TIMEOUT = 408;
/**
 * Environment variable with the time limit for an answer, in seconds. The variable is for users whose node is distant
 * or whose machine is busy.
 */
const TIMEOUT_VARIABLE = 'BLOOMERY_NODE_TIMEOUT_S';
/**
 * Minimum time limit for `send`, in milliseconds. For a request that enables forging, the node decrypts a passphrase.
 * The decryption takes one or two seconds, and longer on a busy machine.
 */
const SEND_TIMEOUT_MS = 30_000;
/**
 * Maximum size of an answer, in bytes. The longest answer that a command usually needs is a list of 500 entries from
 * `node/diagnostics`. This answer is several times smaller than the maximum.
 */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const REASON_CHARACTERS_MAX = 500;
const REASONS_MAX = 10;

export interface AskerOptions {
  /**
   * Time limit for an answer, in milliseconds. The default is the time in `BLOOMERY_NODE_TIMEOUT_S`, or 5 s if this
   * variable is not set. For `send`, the limit is at least 30 s.
   */
  readonly timeoutMs?: number;
  /**
   * True to use the paths without the prefix `/api`. Only Bloomery nodes serve these paths. The node's option
   * `http.strictDialect` removes no members from answers at these paths. False to use the paths with the prefix `/api`,
   * which every Lisk node serves.
   */
  readonly isOwnKind?: boolean;
}

/** Code of OpenSSL for an answer that is not TLS, for example an HTTP answer. */
const NO_TLS_CODE = 'ERR_SSL_WRONG_VERSION_NUMBER';
const NO_TLS = 'the port has no TLS: write http:// instead of https://';
const BLOCKED = 'fetch and browsers refuse to ask this port: give the node another http.port';

/**
 * @param url base address, with or without `http://` and `/api`. If the address has no scheme and no port, the port is
 *   4000. A user and a password in the address are for a proxy in front of the node. No message contains the user or
 *   the password.
 * @throws ProtocolError `USAGE` if `url` is not an http(s) address, or if its user or its password contains `/`, `?` or
 *   `#`. Also `USAGE` if `timeoutMs` is not set and `BLOOMERY_NODE_TIMEOUT_S` is invalid
 */
export function nodeAsker(url: string, options: AskerOptions = {}): NodeAsker {
  const { timeoutMs = usualTimeoutMs(process.env), isOwnKind = false } = options;
  const prefix = isOwnKind ? '' : '/api';
  const { base, authorization } = addressOf(url);
  const isBlocked = isPortBlocked(Number(new URL(base).port));

  async function exchange(path: string, init: RequestInit, allowedMs: number): Promise<Exchange> {
    const once = (): Promise<Exchange> =>
      within(allowedMs, async (signal) => {
        const headers = { ...authorization, ...init.headers };
        const response = await fetch(`${base}${prefix}/${path}`, { ...init, headers, signal });
        return { response, answer: answerIn(await boundedText(response)) };
      });
    try {
      const answer = await once().catch((error: unknown) => {
        // It is possible that `fetch` sent the request over an idle connection that the node closed just before the
        // request arrived. A GET request changes nothing, so `exchange` sends the request again.
        if (init.method !== undefined || !isConnectionLost(error)) throw error;
        return once();
      });
      // A node answers 408 if a request arrives too slowly, for example from a process that gets no processor time. In
      // this case, `exchange` sends a GET request again.
      const isLate = answer.response.status === REQUEST_TIMEOUT && init.method === undefined;
      return isLate ? await once() : answer;
    } catch (error) {
      throw unreachable(error);
    }
  }

  function unreachable(error: unknown): ProtocolError {
    const why = isBlocked ? BLOCKED : reasonOf(error);
    const isLate = error instanceof NoAnswerInTime;
    const remedy = isLate
      ? `start one, name another with --node, or let the command wait longer with ${TIMEOUT_VARIABLE}`
      : 'start one or name another with --node';
    return new ProtocolError(
      'NODE_UNREACHABLE',
      {
        url: base,
        why,
        ...(isLate ? { isLate } : {}),
        ...(isBlocked || isUnsent(error) ? { isUnsent: true } : {}),
      },
      `no node answers at ${base} (${why}): ${remedy}`,
      { cause: error },
    );
  }

  function unexpected(path: string, response: Response, { message, code, reasons }: Answer): ProtocolError {
    const { status } = response;
    const refusal = [message ?? `status ${status}`, ...reasons].map((text) => text.replace(/\.$/, '')).join(': ');
    // Two kinds of answers come from a node that allows requests from this machine: an answer with a message and
    // reasons, and an answer with a message and a status of at least 500. Any other answer can come from a program that
    // is not a node, or from a node that refuses this machine. For such an answer, the error ends with a question to
    // the user.
    const isOfNode = message !== undefined && (status >= 500 || reasons.length > 0);
    const doubt = isOfNode ? '' : '; is it a node that lets this machine ask?';
    const text =
      code === 'NODE_SILENT'
        ? `the node at ${base} does not answer its reading processes: if this lasts, read the end of its log, and restart the node`
        : `${base}${prefix}/${path} answered: ${refusal}${doubt}`;
    return new ProtocolError(
      'NODE_ANSWER_UNEXPECTED',
      {
        url: base,
        path,
        status,
        ...(code === undefined ? {} : { reason: code }),
        ...(message === undefined ? {} : { said: message }),
        ...retryAfterOf(response),
      },
      text,
    );
  }

  return {
    base,
    async ask<T>(path: string, shape?: Shape) {
      const { response, answer } = await exchange(path, {}, timeoutMs);
      if (!response.ok || answer.data === undefined) throw unexpected(path, response, answer);
      const wrong = shapeOf(path)(answer.data) ?? shape?.(answer.data);
      if (wrong === undefined) return answer.data as T;
      throw new ProtocolError(
        'NODE_ANSWER_MALFORMED',
        { url: base, path, wrong },
        `${base}${prefix}/${path} sent an answer that no node sends: data${wrong}; name the address of a node with --node`,
      );
    },
    async stream(path) {
      const opened = await within(timeoutMs, async (signal) => {
        const response = await fetch(`${base}${prefix}/${path}`, { headers: authorization, signal });
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
        if (response.ok && response.body !== null && isStream) return response.body as AsyncIterable<Uint8Array>;
        return { response, answer: answerIn(await boundedText(response)) };
      }).catch((error: unknown) => {
        throw unreachable(error);
      });
      if ('answer' in opened) throw unexpected(path, opened.response, opened.answer);
      return opened;
    },
    async send<T>(method: 'POST' | 'PUT', path: string, body: unknown) {
      const headers = { 'content-type': 'application/json' };
      // `fetch` refuses redirects, because the body can contain a password, and this password must not reach another
      // server.
      const init: RequestInit = { method, headers, body: JSON.stringify(body), redirect: 'error' };
      const { response, answer } = await exchange(path, init, Math.max(timeoutMs, SEND_TIMEOUT_MS));
      if (response.ok && answer.data !== undefined) return answer.data as T;
      const isRefusal = [400, 403, 404, 409, 422].includes(response.status) && answer.message !== undefined;
      if (!isRefusal) throw unexpected(path, response, answer);
      const reason = answer.reasons.length === 0 ? answer.message : answer.reasons.join('; ');
      throw new ProtocolError(
        'NODE_REFUSED',
        { url: base, path, status: response.status },
        `${base} refused: ${reason}`,
      );
    },
  };
}

/** @throws ProtocolError `USAGE` for an invalid `BLOOMERY_NODE_TIMEOUT_S` */
function usualTimeoutMs({ [TIMEOUT_VARIABLE]: text }: NodeJS.ProcessEnv): number {
  if (text === undefined || text === '') return TIMEOUT_MS;
  if (/^[1-9][0-9]{0,3}$/.test(text)) return Number(text) * 1000;
  throw usageError(`${TIMEOUT_VARIABLE} must be a whole number of seconds from 1 to 9999, not \`${printable(text)}\``);
}

/** Reads the number of seconds to wait from the header `Retry-After`. Returns `{}` if the header has no such number. */
function retryAfterOf({ headers }: Response): { readonly retryAfterS?: number } {
  const text = headers.get('retry-after') ?? '';
  return /^[0-9]{1,6}$/.test(text) ? { retryAfterS: Number(text) } : {};
}

/** Parses the text of an answer. If the text is not a JSON object, the result has only an empty list of reasons. */
function answerIn(json: string): Answer {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { reasons: [] };
  }
  if (typeof value !== 'object' || value === null) return { reasons: [] };
  const { data, message, reason, errors } = value as Readonly<Record<string, unknown>>;
  const given: readonly unknown[] = Array.isArray(errors) ? errors.slice(0, REASONS_MAX) : [];
  const reasons = given.map(reasonIn).filter((reason) => reason !== '');
  return {
    reasons,
    ...(data === undefined || data === null ? {} : { data }),
    ...(typeof message === 'string' ? { message: shortened(message) } : {}),
    ...(typeof reason === 'string' ? { code: shortened(reason) } : {}),
  };
}

/**
 * Returns the message of an entry of `errors`, and the message of the first error inside this entry. A message that is
 * missing or empty is left out.
 */
function reasonIn(error: unknown): string {
  const { message, errors } = (error ?? {}) as { readonly message?: unknown; readonly errors?: unknown };
  const inner = Array.isArray(errors) ? (errors[0] as { readonly message?: unknown } | null)?.message : undefined;
  const texts = [message, inner].filter((text) => typeof text === 'string' && text !== '');
  return texts.map((text) => shortened(String(text))).join(': ');
}

function shortened(text: string): string {
  return text.length > REASON_CHARACTERS_MAX ? `${text.slice(0, REASON_CHARACTERS_MAX)}…` : text;
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

class NoAnswerInTime extends Error {}

/**
 * Runs `work` with a time limit. Aborting the `AbortSignal` is not enough: in a process that was suspended, `fetch`
 * sometimes does not end after the abort. Therefore `within` does not wait for `work` beyond the time limit.
 */
async function within<T>(allowedMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new NoAnswerInTime(`no answer in ${allowedMs / 1000} s`));
      controller.abort();
    }, allowedMs);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns an address for output, without its user and password. */
export function shownAddress(address: string): string {
  return address.replace(ADDRESS, '$1$3');
}

interface NodeAddress {
  readonly base: string;
  /** Header `authorization` for each request; empty if the address has no user. */
  readonly authorization: Readonly<Record<string, string>>;
}

/**
 * Computes the base URL and the header `authorization` from an address of a node. An address that matches
 * `BARE_ADDRESS` needs no scheme.
 *
 * @throws ProtocolError `USAGE` as described at `nodeAsker`
 */
function addressOf(text: string): NodeAddress {
  const [, , userInfo = ''] = ADDRESS.exec(text) ?? [];
  const shown = shownAddress(text);
  if (/[/?#]/.test(userInfo)) {
    throw new ProtocolError(
      'USAGE',
      { url: shown },
      `the user or the password before ${shown} contains /, ? or #: write %2F, %3F or %23 instead`,
    );
  }
  const url = withScheme(shown);
  if (url === undefined || !/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url)) {
    throw new ProtocolError(
      'USAGE',
      { url: shown },
      `\`${shown}\` is not an address of a node: give one such as http://127.0.0.1:4000 or 127.0.0.1:4000`,
    );
  }
  const base = url.replace(/\/+$/, '').replace(/\/api$/, '');
  return { base, authorization: userInfo === '' ? {} : { authorization: basicOf(userInfo) } };
}

/** Returns the value of the header `Authorization` for percent-encoded text `USER:PASSWORD` or `USER`. */
function basicOf(userInfo: string): string {
  const credentials = unescape(userInfo.includes(':') ? userInfo : `${userInfo}:`);
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function withScheme(text: string): string | undefined {
  if (text.includes('://')) return text;
  const [, host, port = `:${DEFAULT_PORT}`, path = ''] = BARE_ADDRESS.exec(text) ?? [];
  return host === undefined ? undefined : `http://${host}${port}${path}`;
}

/** True if the connection ended before the answer was complete. */
function isConnectionLost(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { readonly code?: unknown } | undefined) : undefined;
  const code = cause?.code;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET';
}

/**
 * True if the node has not received the request: `fetch` opened no connection, or refused a redirect. For a host with
 * several addresses, `cause` has one error for each attempt to connect.
 */
function isUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.every((each) => {
    const { code, syscall, message } = (each ?? {}) as Partial<NodeJS.ErrnoException>;
    if (syscall === 'connect' || syscall === 'getaddrinfo' || message === 'unexpected redirect') return true;
    return code === 'UND_ERR_CONNECT_TIMEOUT' || code === NO_TLS_CODE;
  });
}

/**
 * Returns the reason why a request failed. `fetch` reports each network failure as "fetch failed", and puts the reason
 * into `cause`.
 */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if ((cause as NodeJS.ErrnoException | undefined)?.code === NO_TLS_CODE) return NO_TLS;
  if (cause instanceof AggregateError) return messageOf(cause.errors[0]);
  return shortened(messageOf(cause ?? error));
}
