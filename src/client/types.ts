/** Types of the client, by generation: what `generated.ts` tells, made easy to ask for. */

import type { Events2, Events3, Operations2, Operations3 } from './generated.ts';

export type Generation = 2 | 3;

export type Operations<G extends Generation> = G extends 2 ? Operations2 : Operations3;
export type Events<G extends Generation> = G extends 2 ? Events2 : Events3;
export type Method = 'GET' | 'POST' | 'PUT';

/** Paths of a method, with `{name}` for what is part of them. */
export type PathOf<G extends Generation, M extends Method> = {
  [K in keyof Operations<G>]: K extends `${M} ${infer P}` ? P : never;
}[keyof Operations<G>];

type Operation<G extends Generation, M extends Method, P extends string> = `${M} ${P}` extends keyof Operations<G>
  ? Operations<G>[`${M} ${P}`]
  : never;

/** What may or must be said with a request: members of the path and the query. */
export type ParametersOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly parameters: infer T } ? T : never;

export type AnswerOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly answer: infer T } ? T : never;

export type BodyOf<G extends Generation, M extends Method, P extends string> =
  Operation<G, M, P> extends { readonly body: infer T } ? T : never;

/** Paths whose lists are read on by cursors, and what they list. */
export type ListPathOf<G extends Generation> = {
  [P in PathOf<G, 'GET'>]: 'after' extends keyof ParametersOf<G, 'GET', P> ? P : never;
}[PathOf<G, 'GET'>];
/** Cursors read a list, from its first item on. */
export type ListParametersOf<G extends Generation, P extends string> = Omit<
  ParametersOf<G, 'GET', P>,
  'offset' | 'after'
> & { readonly offset?: never; readonly after?: never };
export type ItemOf<G extends Generation, P extends string> =
  AnswerOf<G, 'GET', P> extends { readonly data: readonly (infer T)[] } ? T : never;

/** Parameters may be left out where none is of the path. */
export type Arguments<T> = Record<never, never> extends T ? [parameters?: T] : [parameters: T];

export type NodeEvent<G extends Generation> = {
  [K in keyof Events<G>]: {
    readonly type: K;
    /** Place in the log of the node; undefined for events of the moment. */
    readonly id: string | undefined;
    readonly data: Events<G>[K];
  };
}[keyof Events<G>];

export interface EventOptions<K extends PropertyKey> {
  /** Names of events; all unless given. */
  readonly types?: readonly K[];
  /** Of blocks and transactions only those of this account. */
  readonly address?: string;
  /** Of blocks, transactions and forging only those of this delegate, by public key. */
  readonly delegate?: string;
  /** `final` tells of blocks and their transactions when they can no longer be reverted. */
  readonly finality?: 'any' | 'final';
  /** Begins with the block of this height and tells of all blocks since, then of what happens. */
  readonly fromHeight?: number;
  /** Goes on after this event; `0.0` begins with the oldest that the node keeps. */
  readonly lastEventId?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
  /** Before a lost connection is opened again; default 1000. */
  readonly retryMs?: number;
}

export interface WaitOptions {
  /** Blocks that hold or follow the transaction; default 1. */
  readonly confirmations?: number;
  /** Waits until the block can no longer be reverted (generation 3). */
  readonly final?: boolean;
  /** Default 60,000. */
  readonly timeoutMs?: number;
  /** Between two questions; default 250. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

export interface ClientOptions<G extends Generation> {
  /** Whose words the node speaks; default 3. */
  readonly generation?: G;
  /** In the place of the global one. */
  readonly fetch?: typeof fetch;
  /** Time that an answer may take; default 30,000. */
  readonly timeoutMs?: number;
}

export interface Client<G extends Generation> {
  readonly generation: G;
  /** @throws ClientError for an answer that is none; so do all here */
  get<P extends PathOf<G, 'GET'>>(
    path: P,
    ...args: Arguments<ParametersOf<G, 'GET', P>>
  ): Promise<AnswerOf<G, 'GET', P>>;
  post<P extends PathOf<G, 'POST'>>(path: P, body: BodyOf<G, 'POST', P>): Promise<AnswerOf<G, 'POST', P>>;
  put<P extends PathOf<G, 'PUT'>>(path: P, body: BodyOf<G, 'PUT', P>): Promise<AnswerOf<G, 'PUT', P>>;
  /** All items of a list, page by page. What comes or goes meanwhile shifts nothing. @throws TypeError for an `offset` or `after` */
  items<P extends ListPathOf<G>>(
    path: P,
    ...args: Arguments<ListParametersOf<G, P>>
  ): AsyncGenerator<ItemOf<G, P>, void, undefined>;
  /**
   * Follows what happens: `{ type, id, data }`, where an `id` goes into `lastEventId` to go on behind that event. A connection that
   * is lost is opened again where it ended.
   */
  events<K extends keyof Events<G>>(
    options?: EventOptions<K>,
  ): AsyncGenerator<Extract<NodeEvent<G>, { readonly type: K }>, void, undefined>;
  /**
   * Resolves with the height of the transaction's block.
   *
   * @throws ClientError `TIMEOUT` when it is not there in time
   */
  waitFor(transactionId: string, options?: WaitOptions): Promise<{ readonly height: number; readonly blockId: string }>;
}
