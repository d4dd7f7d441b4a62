/**
 * What the node and a process that answers HTTP for it say to each other. All of it is plain data. The node believes nothing of a
 * reader but that it is one: a reader parses what strangers send.
 */

import type { ErrorData } from '../../primitives/errors.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { SharedObstacle } from '../../http/admission/shared-limits.ts';
import type { Allowance } from '../../http/admission/allowance.ts';
import type { HttpOptions } from '../../http/options.ts';
import type { LogFields, LogLevel } from '../../ports/observer.ts';
import type { NodeIdentity } from '../../ports/node-api.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { Transaction } from '../../protocol/types.ts';

/** Questions of the moment, which change nothing: the same ones of a reader are asked once. */
export const READS = [
  'status',
  'poolEntries',
  'signersOf',
  'peers',
  'peerVerdicts',
  'forgers',
  'forgingDelegates',
  'history',
  'diagnostics',
  'slotReport',
  'metricsText',
] as const;
export type Read = (typeof READS)[number];

/** What clients hand in. */
export const WRITES = ['submitTransaction', 'submitSignature', 'registerSecondSignature', 'setForging'] as const;
export type Write = (typeof WRITES)[number];

/** Reads of a message, of which a reader has one unanswered: more wait there. */
export const READS_AT_ONCE = 16;
/** Reads that wait at a reader, each with its requests. */
export const READS_WAITING_MAX = 500;
/** Writes of a reader that are unanswered. */
export const WRITES_AT_ONCE = 100;
/** Transactions of which a reader has not been told yet; the oldest are dropped. */
export const NEWS_WAITING_MAX = 10_000;

/** Questions about shared limits in a message, of which a reader has one unanswered. */
export const LIMIT_ASKS_AT_ONCE = 500;
/** Such questions that wait at a reader: more than the connections that it may have by default, each with one. */
export const LIMIT_ASKS_WAITING_MAX = 20_000;
/**
 * A node that has not answered such a question by then is busy with something else, in milliseconds. Clients are told so: to count
 * here meanwhile would let a client have the limit once at each process, just while the node is hard pressed.
 */
export const LIMIT_ANSWER_MS_MAX = 2_000;
/** The same of a read. The largest ones take a busy node a second. */
export const READ_ANSWER_MS_MAX = 10_000;

/** Addresses in a message that were refused something, or are shut out: more than are answered between two messages. */
export const LIMIT_TOLD_MAX = 1_000;

/** A request of a client, or a connection under its key. */
export type LimitAsk = { readonly client: string; readonly cost: number } | { readonly key: string };
/** As the question: what the client may ask, or why the connection must go. */
export type LimitAnswer = Allowance | SharedObstacle | null;

export interface LimitTelling {
  readonly asks: readonly LimitAsk[];
  /** Numbers by key: connections that are gone, and refusals. */
  readonly left: readonly (readonly [string, number])[];
  readonly refused: readonly (readonly [string, number])[];
  readonly shutOut: readonly string[];
}

export interface Call<Method> {
  readonly method: Method;
  readonly args: readonly unknown[];
}

export type Outcome =
  | { readonly value: unknown }
  | { readonly error: { readonly code: string | undefined; readonly data: ErrorData; readonly message: string } };

/** A transaction that the pool took in. */
export interface Received {
  readonly transaction: Transaction;
  readonly receivedAtMs: number | undefined;
}

/** All that a reader needs to answer. */
export interface ReaderSettings {
  /** Folder of the chain store. */
  readonly directory: string;
  readonly params: ChainParams;
  readonly identity: NodeIdentity;
  readonly http: Partial<Omit<HttpOptions, 'observer' | 'workShare' | 'shared'>>;
}

export type ToReader =
  | { readonly kind: 'open'; readonly settings: ReaderSettings }
  /** The chain changed, or transactions came: the next news wait until the reader has taken these. */
  | { readonly kind: 'news'; readonly chain: boolean; readonly received: readonly Received[] }
  | { readonly kind: 'answers'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'done'; readonly id: number; readonly outcome: Outcome }
  | { readonly kind: 'limits'; readonly answers: readonly LimitAnswer[] }
  | { readonly kind: 'shutOut'; readonly key: string }
  | { readonly kind: 'ping' }
  /** What the reader told was taken. */
  | { readonly kind: 'heard' }
  /** A reader is gone: free its place in the store. */
  | { readonly kind: 'sweep' }
  /** Another one answers in its place: end when the connections that stand have their answers. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'close' };

export type FromReader =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'ready'; readonly port: number; readonly tlsPort?: number }
  | { readonly kind: 'failed'; readonly outcome: Outcome }
  | { readonly kind: 'reads'; readonly calls: readonly Call<string>[] }
  | { readonly kind: 'write'; readonly id: number; readonly call: Call<string> }
  | { readonly kind: 'limits'; readonly telling: LimitTelling }
  | { readonly kind: 'taken' }
  /** @see ReaderStatus */
  | { readonly kind: 'pong'; readonly memoryBytes: number; readonly requests: number }
  | { readonly kind: 'tells'; readonly telling: Telling };

/** Log lines and metrics since the reader told last. */
export interface Telling {
  readonly logs: readonly LogLine[];
  readonly counts: readonly MetricValue[];
  readonly gauges: readonly MetricValue[];
  readonly observations: readonly (Omit<MetricValue, 'value'> & { readonly values: readonly number[] })[];
}

export interface LogLine {
  readonly level: LogLevel;
  readonly code: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export interface MetricValue {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly value: number;
}

export async function outcomeOf(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    return failedOutcome(error);
  }
}

export function failedOutcome(error: unknown): Outcome {
  if (error instanceof ProtocolError) {
    return { error: { code: error.code, data: plain(error.data), message: error.message } };
  }
  return { error: { code: undefined, data: {}, message: error instanceof Error ? error.message : String(error) } };
}

/** The error of an outcome that is one. */
export function errorOf(outcome: Outcome): Error | undefined {
  if ('value' in outcome) return undefined;
  const { code, data, message } = outcome.error;
  return code === undefined ? new Error(message) : new ProtocolError(code, data, message);
}

export function busy(): ProtocolError {
  return new ProtocolError(
    'NODE_BUSY',
    {},
    'The node has as many requests to answer as it may have at once: ask again later.',
  );
}

/** For a client whose question the node does not come to. */
export function silent(): ProtocolError {
  return new ProtocolError(
    'NODE_BUSY',
    {},
    'The node is busy with something else and does not answer: ask again later.',
  );
}

/** Only what can be sent. */
function plain(data: ErrorData): ErrorData {
  return Object.fromEntries(
    Object.entries(data).filter(([, value]) => typeof value !== 'object' && typeof value !== 'function'),
  );
}
