/** Questions to a node's HTTP interface, and what a wrong address, no answer or a refusal amounts to. */

import { isPortBlocked } from '../primitives/blocked-ports.ts';
import { ProtocolError, messageOf } from '../primitives/errors.ts';
import { shapeOf, type Shape } from './answer-shapes.ts';

export interface NodeAsker {
  /** Address without `/api`. */
  readonly base: string;
  /**
   * @param path without the prefix `/api/`
   * @param shape what the answer must be, beside what every node answers there
   * @throws ProtocolError `NODE_UNREACHABLE`, `NODE_ANSWER_UNEXPECTED` or, for data that no node answers with,
   *   `NODE_ANSWER_MALFORMED`
   */
  ask<T>(path: string, shape?: Shape): Promise<T>;
  /**
   * Text that comes as long as the node sends. Only its beginning has to come in time.
   *
   * @param path as for `ask`
   * @throws ProtocolError `NODE_UNREACHABLE` or `NODE_ANSWER_UNEXPECTED`
   */
  stream(path: string): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Hands something in.
   *
   * @throws ProtocolError `NODE_UNREACHABLE`, `NODE_REFUSED` with the reasons that the node gives, or
   *   `NODE_ANSWER_UNEXPECTED`
   */
  send<T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<T>;
}

interface Answer {
  readonly data?: unknown;
  /** Shortened: anybody may have written it. */
  readonly message?: string;
  readonly reasons: readonly string[];
}

/** An IPv6 address in brackets, an IPv4 address, or a name; a port; a path. */
const BARE_ADDRESS = /^(\[[0-9a-fA-F:.]+\]|localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(:[0-9]{1,5})?(\/\S*)?$/;
/** Of networks of the family. */
const DEFAULT_PORT = 4000;
const TIMEOUT_MS = 5000;
/** Unlocking a passphrase takes a second or two of the node's time. */
const SEND_TIMEOUT_MS = 30_000;
/** Several times the longest answer that a command asks for, 500 diagnostics. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const REASON_CHARACTERS_MAX = 500;
const REASONS_MAX = 10;

export interface AskerOptions {
  /** Time that an answer to a question may take. */
  readonly timeoutMs?: number;
  /**
   * True asks where only nodes of this kind answer: all that they say, also with `http.strictDialect`. False asks where every
   * node of the family does.
   */
  readonly isOwnKind?: boolean;
}

const BLOCKED = 'fetch and browsers refuse to ask this port: give the node another http.port';

/**
 * @param url base address, with or without `http://` and `/api`; port 4000 unless it says another or has a scheme
 * @throws ProtocolError `USAGE` when it is no http(s) address
 */
export function nodeAsker(url: string, options: AskerOptions = {}): NodeAsker {
  const { timeoutMs = TIMEOUT_MS, isOwnKind = false } = options;
  const prefix = isOwnKind ? '' : '/api';
  const base = baseOf(url);
  const isBlocked = isPortBlocked(Number(new URL(base).port));

  async function exchange(
    path: string,
    init: RequestInit,
    allowedMs: number,
  ): Promise<{ readonly response: Response; readonly answer: Answer }> {
    try {
      return await within(allowedMs, async (signal) => {
        const response = await fetch(`${base}${prefix}/${path}`, { ...init, signal });
        return { response, answer: answerIn(await boundedText(response)) };
      });
    } catch (error) {
      throw unreachable(error);
    }
  }

  function unreachable(error: unknown): ProtocolError {
    return new ProtocolError(
      'NODE_UNREACHABLE',
      { url: base },
      `no node answers at ${base} (${isBlocked ? BLOCKED : reasonOf(error)}): start one or name another with --node`,
      { cause: error },
    );
  }

  function unexpected(path: string, response: Response, { message }: Answer): ProtocolError {
    const { status } = response;
    const said = message?.replace(/\.$/, '') ?? `status ${status}`;
    // An answer with a fault of its own comes from a node, and from one that lets this machine ask.
    const doubt = message === undefined || status < 500 ? '; is it a node that lets this machine ask?' : '';
    return new ProtocolError(
      'NODE_ANSWER_UNEXPECTED',
      { url: base, path, status, ...retryAfterOf(response) },
      `${base}${prefix}/${path} answered: ${said}${doubt}`,
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
        `${base}${prefix}/${path} answered what no node does: data${wrong}; name the address of a node with --node`,
      );
    },
    async stream(path) {
      let response: Response;
      try {
        response = await within(timeoutMs, (signal) => fetch(`${base}${prefix}/${path}`, { signal }));
      } catch (error) {
        throw unreachable(error);
      }
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      if (response.ok && response.body !== null && isStream) return response.body as AsyncIterable<Uint8Array>;
      throw unexpected(path, response, answerIn(await boundedText(response)));
    },
    async send<T>(method: 'POST' | 'PUT', path: string, body: unknown) {
      const headers = { 'content-type': 'application/json' };
      // A password must not follow to where an answer points.
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

/** When to ask again, where the answer says so in seconds. */
function retryAfterOf({ headers }: Response): { readonly retryAfterS?: number } {
  const text = headers.get('retry-after') ?? '';
  return /^[0-9]{1,6}$/.test(text) ? { retryAfterS: Number(text) } : {};
}

/** An answer that is no JSON says nothing. */
function answerIn(json: string): Answer {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { reasons: [] };
  }
  if (typeof value !== 'object' || value === null) return { reasons: [] };
  const { data, message, errors } = value as { data?: unknown; message?: unknown; errors?: unknown };
  const given: readonly unknown[] = Array.isArray(errors) ? errors.slice(0, REASONS_MAX) : [];
  const reasons = given
    .map((error) => (error as { message?: unknown } | null)?.message)
    .filter((reason) => typeof reason === 'string' && reason !== '')
    .map((reason) => shortened(String(reason)));
  return {
    reasons,
    ...(data === undefined || data === null ? {} : { data }),
    ...(typeof message === 'string' ? { message: shortened(message) } : {}),
  };
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

/**
 * The result of an exchange, or an error once its time is over. The signal alone is not relied on: an exchange that was under
 * way while its process was suspended has been seen to end neither way.
 */
async function within<T>(allowedMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer in ${allowedMs / 1000} s`));
      controller.abort();
    }, allowedMs);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `HOST`, `HOST:PORT` and `[IPV6]:PORT` are enough of an address. */
function baseOf(text: string): string {
  const url = withScheme(text);
  if (url === undefined || !/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url)) {
    throw new ProtocolError(
      'USAGE',
      { url: text },
      `\`${text}\` is no address of a node: give one such as http://127.0.0.1:4000 or 127.0.0.1:4000`,
    );
  }
  return url.replace(/\/+$/, '').replace(/\/api$/, '');
}

function withScheme(text: string): string | undefined {
  if (text.includes('://')) return text;
  const [, host, port = `:${DEFAULT_PORT}`, path = ''] = BARE_ADDRESS.exec(text) ?? [];
  return host === undefined ? undefined : `http://${host}${port}${path}`;
}

/** What `fetch` hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AggregateError) return messageOf(cause.errors[0]);
  return shortened(messageOf(cause ?? error));
}
