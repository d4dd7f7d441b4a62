/** Types of the client for each generation, derived from `generated.ts`. */

import type { Events2, Events3, Operations2, Operations3 } from './generated.ts';

export type Generation = 2 | 3;

export type Operations<G extends Generation> = G extends 2 ? Operations2 : Operations3;
export type Events<G extends Generation> = G extends 2 ? Events2 : Events3;
export type Method = 'GET' | 'POST' | 'PUT';

/** Paths that accept the HTTP method `M`; `{name}` in a path stands for a parameter. */
export type PathOf<G extends Generation, M extends Method> = {
  [K in keyof Operations<G>]: K extends `${M} ${infer P}` ? P : never;
}[keyof Operations<G>];

type Operation<G extends Generation, M extends Method, P extends string> = `${M} ${P}` extends keyof Operations<G>
  ? Operations<G>[`${M} ${P}`]
  : never;

/** All parameters of a request: the parameters in the path and the parameters in the query. */
export type ParametersOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly parameters: infer T } ? T : never;

export type AnswerOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly answer: infer T } ? T : never;

export type BodyOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly body: infer T } ? T : never;

/**
 * Paths of lists that can be read page by page with a cursor. The type excludes `/voters` and `/votes`, because the
 * member `data` in the answers at these two paths is an object that contains the list of items.
 */
export type ListPathOf<G extends Generation> = {
  [P in PathOf<G, 'GET'>]: 'after' extends keyof ParametersOf<G, 'GET', P>
    ? AnswerOf<G, 'GET', P> extends { readonly data: readonly unknown[] }
      ? P
      : never
    : never;
}[PathOf<G, 'GET'>];
/**
 * Parameters of `items`: all parameters of the request except `offset` and the cursor `after`, because `items` always
 * begins with the first item.
 */
export type ListParametersOf<G extends Generation, P extends string> = Omit<
  ParametersOf<G, 'GET', P>,
  'offset' | 'after'
> & { readonly offset?: never; readonly after?: never };
export type ItemOf<G extends Generation, P extends string> =
  AnswerOf<G, 'GET', P> extends { readonly data: readonly (infer T)[] } ? T : never;

/**
 * Argument of `get` and `items` after the path: the parameters of the request. The caller can omit this argument if the
 * path needs no parameters.
 */
export type Arguments<T> = Record<never, never> extends T ? [parameters?: T] : [parameters: T];

export type NodeEvent<G extends Generation> = {
  [K in keyof Events<G>]: {
    readonly type: K;
    /** Position in the event log of the node; undefined for an event that is not in the log. */
    readonly id: string | undefined;
    readonly data: Events<G>[K];
  };
}[keyof Events<G>];

export interface EventOptions<K extends PropertyKey> {
  /**
   * Names of the wanted events; default: all. The node also sends `log/gap` in place of events that it no longer has,
   * even if this list does not contain `log/gap`.
   */
  readonly types?: readonly K[];
  /**
   * Address of an account. The node then sends the events of blocks only for the blocks that this account forged. The
   * node sends the events of transactions only for the transactions that this account sent or received. The address
   * does not affect any other event, such as `forging/change` or `rounds/change`.
   */
  readonly address?: string;
  /**
   * Public key of a delegate. The node then sends the events of blocks only for the blocks that this delegate forged.
   * The node sends the events of transactions only for the transactions that the delegate sent, and for the
   * transactions that add or remove a vote for the delegate. The node sends `forging/change` only for this delegate.
   * The public key does not affect events that concern no single delegate, such as `rounds/change`.
   */
  readonly delegate?: string;
  /**
   * With `final`, the node sends three events later: `blocks/new` when the block becomes final, `transactions/included`
   * when the block of the transaction becomes final, and `rounds/change` when the last block of the ended round becomes
   * final. The node then never sends `blocks/delete` or `transactions/reverted`. In generation 2, no block becomes
   * final, so with `final` the node sends none of these events. Default: `any`.
   */
  readonly finality?: 'any' | 'final';
  /**
   * Height of the first block of the stream. The stream sends the events of the stored blocks from this height on, and
   * then live events. The node ignores `fromHeight` if `lastEventId` is given.
   */
  readonly fromHeight?: number;
  /**
   * Id of an event. The stream continues after this event. With the id `0.0`, the stream starts with the oldest event
   * that the node keeps.
   */
  readonly lastEventId?: string;
  /** When this signal is aborted, the stream ends. */
  readonly signal?: AbortSignal;
  /** Time in milliseconds that the client waits before it opens a lost or ended stream again; default 1000. */
  readonly retryMs?: number;
}

export interface WaitOptions {
  /**
   * Number of confirmations to wait for. The block of the transaction is the first confirmation, and each later block
   * of the chain adds one confirmation. Default 1.
   */
  readonly confirmations?: number;
  /**
   * If true, `waitFor` also waits until the block of the transaction is final. Default false. In generation 2, blocks
   * never become final, so with `final` the wait ends with the error `TIMEOUT`.
   */
  readonly final?: boolean;
  /**
   * Time limit of the whole wait in milliseconds; default 60,000. `waitFor` checks this limit after each request for
   * the transaction. If a request fails before this limit, `waitFor` asks again in three cases: the node sends no
   * complete answer, the answer has status 429, or the answer has status 500 or higher.
   */
  readonly timeoutMs?: number;
  /** Pause in milliseconds before `waitFor` requests the transaction again; default 250. */
  readonly pollMs?: number;
  /** When the signal is aborted, `waitFor` ends its running request, and throws the abort reason of the signal. */
  readonly signal?: AbortSignal;
}

/** The clock of a client. The caller can replace the clock of the runtime by another clock, for example in tests. */
export interface ClientClock {
  /** Returns the time in milliseconds since a moment that never changes, for example the start of the process. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now. */
  after(delayMs: number, work: () => void): { cancel(): void };
}

export interface ClientOptions<G extends Generation> {
  /** Generation of the node; default 3. */
  readonly generation?: G;
  /** Function that the client calls in place of the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Time limit for an answer in milliseconds; default 30,000. Event streams have no time limit. */
  readonly timeoutMs?: number;
  /** Clock for the pauses between requests and for the time limit of `waitFor`; default: the clock of the runtime. */
  readonly clock?: ClientClock;
}

export interface Client<G extends Generation> {
  /** Generation of the node, from the options of `createClient`. */
  readonly generation: G;
  /**
   * Sends a GET request, and returns the body of the answer.
   *
   * @throws ClientError if the node refuses the request, does not answer within the time limit, cannot be reached, or
   *   sends an invalid answer
   */
  get<P extends PathOf<G, 'GET'>>(
    path: P,
    ...args: Arguments<ParametersOf<G, 'GET', P>>
  ): Promise<AnswerOf<G, 'GET', P>>;
  /**
   * Sends `body` as JSON in a POST request, and returns the body of the answer.
   *
   * @throws ClientError like `get`
   */
  post<P extends PathOf<G, 'POST'>>(path: P, body: BodyOf<G, 'POST', P>): Promise<AnswerOf<G, 'POST', P>>;
  /**
   * Sends `body` as JSON in a PUT request, and returns the body of the answer.
   *
   * @throws ClientError like `get`
   */
  put<P extends PathOf<G, 'PUT'>>(path: P, body: BodyOf<G, 'PUT', P>): Promise<AnswerOf<G, 'PUT', P>>;
  /**
   * Reads all items of a list, page by page. Between the requests for two pages, items can be added to the list or
   * removed from the list. If an item stays in the list from the first request to the last, `items` still yields this
   * item exactly once. A node with `http.strictDialect` accepts no cursor, and therefore refuses the requests of
   * `items`.
   *
   * @throws TypeError for the paths `/voters` and `/votes`, and if `offset` or `after` is given
   * @throws ClientError like `get`
   */
  items<P extends ListPathOf<G>>(
    path: P,
    ...args: Arguments<ListParametersOf<G, P>>
  ): AsyncGenerator<ItemOf<G, P>, void, undefined>;
  /**
   * Yields the events of the node as `{ type, id, data }`, until `signal` is aborted. Pass the `id` of an event as
   * `lastEventId` to continue after this event. The client opens the stream again in three cases: the node cannot be
   * reached, the node or a lost connection ends the stream, or the node answers with status 500 or higher. The client
   * then continues after the last event with an id. The client misses all events without an id that the node sends
   * while the stream is closed. The client also misses the events with an id if two conditions hold: the stream closes
   * before the client has received an id, and neither `lastEventId` nor `fromHeight` is given.
   *
   * @throws ClientError if the node refuses the stream with a status from 400 to 499
   * @throws ClientError `INVALID_ANSWER` if the answer is not an event stream, if an event is not JSON, or if an event
   *   does not end
   */
  events<K extends keyof Events<G>>(
    options?: EventOptions<K>,
  ): AsyncGenerator<Extract<NodeEvent<G>, { readonly type: K }>, void, undefined>;
  /**
   * Waits until the transaction is in a block and has the wanted number of confirmations. With `final`, the function
   * also waits until the block is final. The function returns the height and the id of the block.
   *
   * @throws ClientError `TIMEOUT` if `timeoutMs` passes first
   * @throws ClientError like `get`
   * @throws the abort reason of `signal` when `signal` is aborted
   */
  waitFor(transactionId: string, options?: WaitOptions): Promise<{ readonly height: number; readonly blockId: string }>;
}
