/** `bloomery/client`: queries a node over HTTP, in browsers and in Node.js. See docs/guides/client.md. */

import { readAmounts } from './amounts.ts';
import { eventsOf, EventTooLong } from './event-stream.ts';
import { AMOUNTS, TEXT_PATHS } from './generated.ts';
import { systemClock } from './system.ts';
import type { Client, ClientClock, ClientOptions, EventOptions, Generation, Method, WaitOptions } from './types.ts';

export type * from './generated.ts';
export type * from './types.ts';

const TIMEOUT_MS = 30_000;
const TOO_MANY_REQUESTS = 429;
/** The longest time in milliseconds that `setTimeout` can wait. A longer time would end at once. */
const PAUSE_MS_MAX = 2 ** 31 - 1;
const WAIT_MS = 60_000;
const POLL_MS = 250;
const RETRY_MS = 1000;
const PAGE_ITEMS = 100;

/**
 * Error of a failed request: the node refused the request, did not answer within the time limit, could not be reached,
 * or sent an invalid answer. `waitFor` also throws this error when its own time limit has passed.
 */
export class ClientError extends Error {
  /**
   * - `REFUSED`: the node answered with an error status.
   * - `TIMEOUT`: the node did not answer within the time limit, or the time limit of `waitFor` has passed.
   * - `UNREACHABLE`: the node could not be reached, or sent no complete answer. In Node.js, if the connection of a GET
   *   request is lost before the answer begins, the client sends the request a second time. In this case, the client
   *   throws this error only if the second request also fails.
   * - `INVALID_ANSWER`: the answer at `/events` is not an event stream, an event is invalid, a complete answer is not
   *   JSON, a complete answer has no valid value for a member that the client needs, or `waitFor` gets another
   *   transaction than the one that it requested. Members that the client needs are the list `data`, the cursor
   *   `meta.next`, and the member `data` of the path `/node/status`. One possible cause is a proxy between the client
   *   and the node that changed or replaced the answer.
   */
  readonly code: string;
  /** HTTP status of the answer if the code is `REFUSED`; undefined for all other codes. */
  readonly status: number | undefined;
  /**
   * Body of the answer if the code is `REFUSED`: the parsed value of a JSON body, or the text of any other body.
   * Undefined if the body could not be read or parsed, and for all other codes.
   */
  readonly body: unknown;

  constructor(code: string, message: string, status?: number, body?: unknown, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ClientError';
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Creates a client for one node. The client sends nothing until one of its functions is called.
 *
 * @param url URL of the node, with or without `/api`; in a web page, an empty text or a path names the host of the page
 * @throws TypeError if `url` is not such a URL and `options.fetch` is not given. Without this error, `events` would try
 *   to open its stream again and again without end
 * @throws TypeError if `options.timeoutMs` is not a number of milliseconds
 */
export function createClient<G extends Generation = 3>(url: string, options: ClientOptions<G> = {}): Client<G> {
  // The methods are the same for both generations; only the generated types of paths and answers differ.
  return new HttpClient(url, options as ClientOptions<3>) as unknown as Client<G>;
}

class HttpClient {
  readonly generation: Generation;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #clock: ClientClock;

  constructor(url: string, { generation = 3, fetch: own, timeoutMs = TIMEOUT_MS, clock }: ClientOptions<3>) {
    this.generation = generation;
    if (own === undefined && !isNodeUrl(url))
      throw new TypeError(`${shownUrl(url)} is not the URL of a node: give one such as http://127.0.0.1:4000`);
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0 && timeoutMs <= PAUSE_MS_MAX))
      throw new TypeError(`timeoutMs must be a number of milliseconds from 0 to ${PAUSE_MS_MAX}`);
    this.#base = `${url.replace(/\/+$/, '').replace(/\/api$/, '')}/api`;
    // The arrow function is needed because browsers refuse a call of `fetch` as a method of an object that is not the
    // global object.
    this.#fetch = own ?? ((input, init) => fetch(input, init));
    this.#timeoutMs = timeoutMs;
    this.#clock = clock ?? systemClock;
  }

  get(path: string, parameters: Values = {}): Promise<unknown> {
    return this.#ask('GET', path, parameters);
  }

  post(path: string, body: unknown): Promise<unknown> {
    return this.#ask('POST', path, {}, { body });
  }

  put(path: string, body: unknown): Promise<unknown> {
    return this.#ask('PUT', path, {}, { body });
  }

  async *items(path: string, parameters: Values = {}): AsyncGenerator<unknown, void, undefined> {
    // `items` sends its own cursor `after` with each request, so the caller must not give `after`. The caller must not
    // give `offset` either: the node would refuse the request, and the error would name `after`, a parameter that the
    // caller did not give.
    for (const name of ['offset', 'after']) {
      if (parameters[name] !== undefined) throw new TypeError(`items() takes no ${name}: it reads the whole list`);
    }
    if (path === '/voters' || path === '/votes')
      throw new TypeError(
        `items() does not read ${path}: its list is a member of data, so read it with get() and after`,
      );
    let after: string | null | undefined = '';
    while (after !== null) {
      const { data, meta } = await this.#list(path, { limit: PAGE_ITEMS, ...parameters, after });
      yield* data;
      after = meta?.next;
      // Without this check, the next request would have no cursor, so `items` would repeat the first page without end.
      if (after === undefined) throw this.#invalid(`${path} without a cursor; has the node http.strictDialect?`);
    }
  }

  async *events(options: EventOptions<string> = {}): AsyncGenerator<unknown, void, undefined> {
    const { types, signal, retryMs = RETRY_MS, lastEventId, ...filter } = options;
    let last = lastEventId;
    while (signal?.aborted !== true) {
      try {
        const asked = { ...filter, ...(types === undefined ? {} : { types: types.join(',') }) };
        const place = this.#placeOf('/events', last === undefined ? asked : { ...asked, lastEventId: last });
        const response = await this.#send(place, signal === undefined ? {} : { signal });
        if (response.headers.get('content-type')?.includes('text/event-stream') !== true)
          throw this.#invalid('/events with something else than an event stream');
        for await (const { type, id, data } of eventsOf(response.body ?? new ReadableStream())) {
          const parsed = this.#dataOf(type, data);
          readAmounts(parsed, AMOUNTS[`event ${type}`] ?? []);
          last = id ?? last;
          yield { type, id, data: parsed };
        }
      } catch (error) {
        if (isAborted(signal)) return;
        // After a 4xx answer, the caller must change the request, or wait, so the client throws the error. The client
        // also throws the error of an invalid event, because the node would send this event again in a new stream.
        // After a 5xx answer or a lost connection, the client opens the stream again.
        if (error instanceof EventTooLong) throw this.#invalid('/events with an event that does not end');
        if (error instanceof ClientError && isLasting(error)) throw error;
      }
      if (!isAborted(signal)) await pause(Math.min(retryMs, PAUSE_MS_MAX), signal, this.#clock);
    }
  }

  async waitFor(id: string, options: WaitOptions = {}): Promise<{ height: number; blockId: string }> {
    const { confirmations = 1, final = false, timeoutMs = WAIT_MS, pollMs = POLL_MS, signal } = options;
    // Without an id, the node would answer with the list of all transactions.
    if (typeof id !== 'string' || !/^[0-9]{1,20}$/.test(id)) throw new TypeError('waitFor() needs a transaction id');
    for (const [name, value] of Object.entries({ confirmations, timeoutMs, pollMs })) {
      if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`waitFor() needs a number as ${name}`);
    }
    for (const endMs = this.#clock.nowMs() + timeoutMs; ;) {
      signal?.throwIfAborted();
      let state = 'in no block';
      let failure: ClientError | undefined;
      try {
        // The final height is read first. In the other order, a reorg between the two requests could revert the block
        // that contains the transaction, and `waitFor` would count the reverted block as final.
        const finalHeight = final ? await this.#finalHeight(signal) : Number.POSITIVE_INFINITY;
        const found = await this.#confirmed(id, signal);
        if (found !== undefined && found.confirmations >= confirmations && found.height <= finalHeight) {
          const { height, blockId } = found;
          return { height, blockId };
        }
        if (found !== undefined) state = `in block ${found.height} with ${found.confirmations} confirmations`;
      } catch (error) {
        signal?.throwIfAborted();
        // `waitFor` sends the request again later in four cases: the connection fails, the answer does not arrive
        // within the time limit of the request, the status of the answer is 429, or the status is 500 or above. Such an
        // error can have a temporary cause: the node is starting again, a proxy refuses the request, or the node limits
        // the rate of requests. In all other cases, `waitFor` throws the error at once.
        if (!(error instanceof ClientError) || (isLasting(error) && error.status !== TOO_MANY_REQUESTS)) throw error;
        failure = error;
      }
      const leftMs = endMs - this.#clock.nowMs();
      if (leftMs <= 0) {
        const message =
          failure === undefined
            ? `after ${timeoutMs} ms the transaction ${id} is ${state}`
            : `after ${timeoutMs} ms nothing is known of the transaction ${id}: ${failure.message}`;
        throw new ClientError('TIMEOUT', message, undefined, undefined, failure);
      }
      await pause(Math.min(pollMs, leftMs, PAUSE_MS_MAX), signal, this.#clock);
    }
  }

  /** @throws ClientError if the request fails, or if the answer contains another transaction */
  async #confirmed(id: string, signal: AbortSignal | undefined): Promise<Confirmed | undefined> {
    const { data } = await this.#list('/transactions', { id }, signal);
    const found = (data as readonly Confirmed[]).find((one) => one.id === id);
    if (found === undefined && data.length > 0) throw this.#invalid(`/transactions?id=${id} with other transactions`);
    return found;
  }

  /** @throws ClientError if the request fails, or if the answer has no list */
  async #list(path: string, parameters: Values, signal?: AbortSignal): Promise<ListAnswer> {
    const answer = (await this.#ask('GET', path, parameters, { signal })) as Partial<ListAnswer> | null;
    if (!Array.isArray(answer?.data)) throw this.#invalid(`${path} without a list`);
    return { ...answer, data: answer.data };
  }

  async #finalHeight(signal: AbortSignal | undefined): Promise<number> {
    const answer = (await this.#ask('GET', '/node/status', {}, { signal })) as {
      readonly data?: FinalState | null;
    } | null;
    if (typeof answer?.data !== 'object' || answer.data === null) throw this.#invalid('/node/status without a status');
    const height = answer.data.chainMaxHeightFinalized ?? 0;
    if (typeof height !== 'number') throw this.#invalid('/node/status with a final height that is not a number');
    return height;
  }

  /** @param signal when this signal is aborted, the request ends immediately, even before its time limit */
  async #ask(
    method: Method,
    path: string,
    parameters: Values,
    { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const response = await this.#send(this.#placeOf(path, parameters), {
      method,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body, digits) }),
    });
    const isText = !isJson(response);
    const answer: unknown = await (isText ? response.text() : response.json()).catch((error: unknown) => {
      throw this.#failure(error, 'sends no complete answer');
    });
    if (isText) {
      if (TEXT_PATHS.includes(path)) return answer;
      throw this.#invalid(`${path} with something that is not JSON`);
    }
    readAmounts(answer, AMOUNTS[`${method} ${path}`] ?? []);
    return answer;
  }

  /**
   * @throws ClientError if the node refuses the request, cannot be reached, or does not answer before the signal of
   *   `init` aborts the request
   */
  async #send(place: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await this.#fetch(place, init).catch((error: unknown) => {
        // It is possible that `fetch` sent the request over an idle connection that the node closed just before the
        // request arrived. A GET request changes nothing, so the client sends the same request again.
        if ((init.method ?? 'GET') !== 'GET' || !isConnectionLost(error)) throw error;
        return this.#fetch(place, init);
      });
    } catch (error) {
      throw this.#failure(error, 'cannot be reached');
    }
    if (response.ok) return response;
    const body: unknown = await (isJson(response) ? response.json() : response.text()).catch(() => undefined);
    throw new ClientError('REFUSED', `${response.status}: ${reasonOf(body)}`, response.status, body);
  }

  /** @throws ClientError `INVALID_ANSWER` if the data of the event is not JSON */
  #dataOf(type: string, data: string): unknown {
    try {
      return JSON.parse(data);
    } catch {
      throw this.#invalid(`/events with a ${type} that is not JSON`);
    }
  }

  #invalid(what: string): ClientError {
    return new ClientError('INVALID_ANSWER', `${this.#base} answers ${what}`);
  }

  /** Creates the error for a request that got no answer, an incomplete answer or an invalid answer. */
  #failure(error: unknown, otherReason: string): ClientError {
    if (error instanceof SyntaxError)
      return new ClientError('INVALID_ANSWER', `${this.#base} sends invalid JSON`, undefined, undefined, error);
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    const message = `${this.#base} ${isLate ? 'does not answer in time' : otherReason}`;
    return new ClientError(isLate ? 'TIMEOUT' : 'UNREACHABLE', message, undefined, undefined, error);
  }

  /**
   * Replaces each placeholder `{name}` in the path by the parameter with this name, and puts all other parameters into
   * the query.
   */
  #placeOf(path: string, parameters: Values): string {
    const query = new URLSearchParams();
    let filled = path;
    for (const [name, value] of Object.entries(parameters)) {
      if (value === undefined) continue;
      const text = String(value);
      if (filled.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(text));
      else query.set(name, text);
    }
    const asked = query.toString();
    return `${this.#base}${filled}${asked === '' ? '' : `?${asked}`}`;
  }
}

/** Returns the URL for a message. A URL with `@` can contain a password, so the result does not contain such a URL. */
function shownUrl(url: unknown): string {
  const text = String(url);
  return text.includes('@') ? 'a text with @' : `\`${text}\``;
}

/**
 * True if `fetch` can send requests to paths below the URL. In a web page, an empty text or a path names the host of
 * the page.
 */
function isNodeUrl(url: unknown): boolean {
  if (typeof url !== 'string' || url.trim() !== url || /[?#]/.test(url)) return false;
  const page = (globalThis as { readonly location?: { readonly href?: string } }).location?.href;
  try {
    const isOfPage = url === '' || url.startsWith('/');
    const { protocol, username, password } = isOfPage ? new URL(url, page) : new URL(url);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  } catch {
    return false;
  }
}

/** True for the errors with which the `fetch` of Node.js reports a connection that the other side closed. */
function isConnectionLost(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { readonly code?: unknown } | undefined) : undefined;
  return cause?.code === 'UND_ERR_SOCKET' || cause?.code === 'ECONNRESET';
}

/** True if the same request, sent again at once, would probably end with the same error. */
function isLasting({ code, status }: ClientError): boolean {
  return code === 'INVALID_ANSWER' || (status !== undefined && status < 500);
}

/** Member of the answer to `/node/status` that `waitFor` reads. */
interface FinalState {
  readonly chainMaxHeightFinalized?: number;
}

interface Confirmed {
  readonly id: string;
  readonly height: number;
  readonly blockId: string;
  readonly confirmations: number;
}

function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** Answer with a list; `next` is null on the last page. */
interface ListAnswer {
  readonly data: readonly unknown[];
  readonly meta?: { readonly next?: string | null };
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type')?.includes('json') === true;
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Maximum number of nested lists `errors` that `reasonOf` reads. */
const ERRORS_DEPTH_MAX = 3;

/**
 * Returns the reason in the body of a refusal. If the body is an object, the reason consists of the texts that the
 * function finds in the object. The first text is the member `message` of the body, or else the member `error` or
 * `description`. The second text is the first entry of the list `errors` of the body, or the member `message` of this
 * entry if the entry is an object. Such an entry can have a list `errors` of its own, whose first entry gives the third
 * text. If the body is a text, the reason is the first 200 characters of the text. If the function finds no text, the
 * reason is `no reason given`.
 */
function reasonOf(body: unknown): string {
  const texts: string[] = [];
  let from: unknown = body;
  for (let depth = 0; depth < ERRORS_DEPTH_MAX && typeof from === 'object' && from !== null; depth += 1) {
    const { message, error, description, errors } = from as Readonly<Record<string, unknown>>;
    const text = message ?? error ?? description;
    if (typeof text === 'string') texts.push(text);
    from = Array.isArray(errors) ? errors[0] : undefined;
  }
  if (typeof from === 'string' && from.trim() !== '') texts.push(from.slice(0, 200).trim());
  return texts.length === 0 ? 'no reason given' : texts.join(': ');
}

function pause(timeMs: number, signal: AbortSignal | undefined, clock: ClientClock): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(timeMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
