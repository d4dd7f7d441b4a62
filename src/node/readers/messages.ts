/**
 * Messages between the node and a process that answers HTTP for the node (a reader). All messages are plain data. A
 * message of the kind `socket` also carries a listening socket. A client could exploit a fault of a reader and control
 * what this reader sends. The node therefore checks each message (`readMessage`): its members, and the limits on the
 * size of each number, text and list. The node kills a reader that sends a message outside these limits. The node lets
 * a reader call only the methods in `READS` and `WRITES`, and limits the number of unanswered calls. The node does not
 * limit how many messages a reader sends in a second. The node also does not limit how much memory a message takes,
 * because Node.js has already read the whole message into memory when the check begins.
 */

import type { ErrorData } from '../../primitives/errors.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { SharedRefusalReason } from '../../http/admission/shared-limits.ts';
import type { Allowance } from '../../http/admission/allowance.ts';
import type { ListeningSockets } from '../../http/listening-socket.ts';
import type { HttpOptions } from '../../http/options.ts';
import type { LogFields, LogLevel } from '../../ports/observer.ts';
import type { NodeIdentity, ReceivedTime } from '../../ports/node-api.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { Transaction } from '../../protocol/types.ts';

/**
 * Methods of the node that change nothing. A reader calls these methods to answer HTTP requests. Each call is a read.
 * If several HTTP requests need the same read, and the reader has not yet sent this read, the reader sends one read for
 * all these requests.
 */
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

/** Methods of the node that change data. A reader calls these methods to answer HTTP requests. Each call is a write. */
export const WRITES = ['submitTransaction', 'submitSignature', 'registerSecondSignature', 'setForging'] as const;
export type Write = (typeof WRITES)[number];

/**
 * Maximum number of reads in one message. A reader has at most one unanswered message with reads. Further reads wait in
 * the reader.
 */
export const READS_AT_ONCE = 16;
/** Maximum number of reads that wait in a reader. */
export const READS_WAITING_MAX = 500;
/** Maximum number of unanswered writes of a reader. */
export const WRITES_AT_ONCE = 100;
/**
 * Maximum number of transactions that wait in the node for the next update (`NodeUpdate`) of a reader. With each
 * update, the node sends the reader the transactions that the pool has accepted. If more than this number of
 * transactions wait, the node drops the oldest waiting transaction.
 */
export const UPDATES_WAITING_MAX = 10_000;

/**
 * Maximum number of checks of shared limits (limit checks) in one message. A reader has at most one unanswered message
 * with limit checks.
 */
export const LIMIT_ASKS_AT_ONCE = 500;
/**
 * Maximum number of limit checks that wait in a reader. By default, a reader has fewer connections than this maximum,
 * and each connection waits for at most one limit check.
 */
export const LIMIT_ASKS_WAITING_MAX = 20_000;
/**
 * Milliseconds after which a limit check without an answer fails. The reader then refuses the request, the connection
 * or the replay. The reader does not decide without the node, because each reader alone would grant the full limit to
 * each client.
 */
export const LIMIT_ANSWER_MS_MAX = 2_000;
/** Milliseconds after which a read without an answer fails. A busy node needs about a second for the largest reads. */
export const READ_ANSWER_MS_MAX = 10_000;

/**
 * Maximum number of clients in each of the lists `refused` and `shutOut` of a `LimitReport`. Between two reports, a
 * reader normally serves fewer clients than this maximum.
 */
export const LIMIT_REPORTED_MAX = 1_000;

/**
 * Maximum length of the address or key of a client. An address has less than 100 characters. If a client writes a
 * longer text into `X-Forwarded-For`, the reader uses only the beginning of the text.
 */
export const CLIENT_CHARS_MAX = 256;

/** Maximum number of log lines in one report; the reader drops further lines. */
export const REPORT_LINES_MAX = 500;
/** Maximum number of histogram values in one report; the reader drops further values. */
export const REPORT_VALUES_MAX = 10_000;
/**
 * Maximum length of each text in the fields of a log line that a reader sends to the node. The reader cuts longer
 * texts. When the node writes the line to its log, the node cuts each text again, to 2,000 characters (`printable.ts`).
 */
export const LOG_TEXT_CHARS_MAX = 10_000;

/**
 * A limit check of a reader. There are three kinds:
 * - A client sends a request. `client` is the IP address of the client, and `cost` is the number of requests that the
 *   rate limit counts for this request.
 * - A client opens a connection. `key` is the key (`clientKey`) of the client.
 * - A client asks for a replay of old events of the event stream. `replay` is the key of the client.
 */
export type LimitAsk =
  { readonly client: string; readonly cost: number } | { readonly key: string } | { readonly replay: string };
/**
 * The answer to a limit check. If a client sends a request, the answer is the allowance of this client. If a client
 * opens a connection or asks for a replay (old events of the event stream), the answer is null when the node admits the
 * connection or the replay. If the node refuses the connection or the replay, the answer is the reason for the refusal.
 */
export type LimitAnswer = Allowance | SharedRefusalReason | 'replays' | null;

export interface LimitReport {
  readonly asks: readonly LimitAsk[];
  /**
   * Change of the number of connections of trusted clients since the last report. A client is trusted if it runs on
   * this machine, or if its address is in `http.accessWhitelist` (see `createTrust`).
   * Networks in this list that are wider than /8 (IPv4) or /32 (IPv6) make no client trusted.
   */
  readonly trusted: number;
  /**
   * The members below describe the time since the last report. In the first three lists, each entry has the key of a
   * client and a number. In `left`, which has no entries of trusted clients, the number counts the closed connections
   * of the client. In `replaysEnded`, the number counts the ended replays (streams of old events) of the client. In
   * `refused`, the number counts the connections and requests of the client that the reader refused. The list `shutOut`
   * has the keys of the clients whose connections the reader now refuses for some time.
   */
  readonly left: readonly (readonly [string, number])[];
  readonly replaysEnded: readonly (readonly [string, number])[];
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

/** Settings that a reader needs for answering requests. */
export interface ReaderSettings {
  /** Folder of the chain store. */
  readonly directory: string;
  readonly params: ChainParams;
  readonly identity: NodeIdentity;
  readonly http: Partial<Omit<HttpOptions, 'observer' | 'workShare' | 'shared' | 'listenOn'>>;
}

/** With an update, the node tells a reader what has changed in the chain and in the pool since the last update. */
export interface NodeUpdate {
  /** True if the chain has changed since the last update. */
  readonly chain: boolean;
  /** Times at which the node received the transactions of the newly applied blocks. */
  readonly times: readonly ReceivedTime[];
  /** Transactions that the pool has accepted since the last update. */
  readonly received: readonly Transaction[];
}

/** Names of the listening sockets of the HTTP interface: `plain` is without TLS, `tls` is with TLS. */
export type SocketName = keyof ListeningSockets;

export type ToReader =
  /**
   * Carries a listening socket of the node. The reader accepts connections from this socket, so the reader itself opens
   * no port.
   */
  | { readonly kind: 'socket'; readonly name: SocketName }
  | { readonly kind: 'open'; readonly settings: ReaderSettings; readonly times: readonly ReceivedTime[] }
  /**
   * Tells the reader what has changed in the chain and in the pool. The node sends the next update only after the
   * reader has confirmed this update with the message `taken`.
   */
  | ({ readonly kind: 'update' } & NodeUpdate)
  | { readonly kind: 'answers'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'done'; readonly id: number; readonly outcome: Outcome }
  | { readonly kind: 'limits'; readonly answers: readonly LimitAnswer[] }
  | { readonly kind: 'shutOut'; readonly key: string }
  | { readonly kind: 'full'; readonly isFull: boolean }
  /** The reader must close an idle connection of the client with this key. */
  | { readonly kind: 'makeRoom'; readonly key: string }
  | { readonly kind: 'ping' }
  /** Confirms the last `report` of the reader. The reader sends no further `report` before this message. */
  | { readonly kind: 'reportTaken' }
  /**
   * Another reader has ended. The reader that gets this message frees the entry of the ended reader in the reader table
   * of LMDB.
   */
  | { readonly kind: 'sweep' }
  /**
   * Another reader has replaced the reader that gets this message. The replaced reader accepts no new connections, and
   * ends when its open connections are closed (`HttpServer.drain`).
   */
  | { readonly kind: 'drain' }
  | { readonly kind: 'close' };

export type FromReader =
  | { readonly kind: 'loaded' }
  /** The reader waits for complete indexes before it can open the store. */
  | { readonly kind: 'waiting' }
  /** Carries a listening socket that the first reader has opened. The node keeps the socket for later readers. */
  | { readonly kind: 'socket'; readonly name: SocketName }
  | { readonly kind: 'ready'; readonly port: number; readonly tlsPort?: number }
  | { readonly kind: 'failed'; readonly outcome: Outcome }
  | { readonly kind: 'reads'; readonly calls: readonly Call<string>[] }
  | { readonly kind: 'write'; readonly id: number; readonly call: Call<string> }
  | { readonly kind: 'limits'; readonly report: LimitReport }
  /** Confirms the last update. */
  | { readonly kind: 'taken' }
  /** Answers a `ping`. The members have the same meaning as in `ReaderStatus`. */
  | { readonly kind: 'pong'; readonly memoryBytes: number; readonly requests: number }
  | { readonly kind: 'report'; readonly report: ReaderReport };

/** Contains the log lines that a reader has written and the metrics that it has changed since its last report. */
export interface ReaderReport {
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

/** Returns the error in an outcome; undefined for a success. */
export function errorOf(outcome: Outcome): Error | undefined {
  if ('value' in outcome) return undefined;
  const { code, data, message } = outcome.error;
  return code === undefined ? new Error(message) : new ProtocolError(code, data, message);
}

export function busy(): ProtocolError {
  return new ProtocolError('NODE_BUSY', {}, 'Too many requests wait for the node: send the request again later.');
}

/**
 * Returns the error for a limit check or a read that the node does not answer in time, possibly because the node hangs.
 */
export function silent(): ProtocolError {
  return new ProtocolError(
    'NODE_SILENT',
    {},
    'The node does not answer its reading processes: send the request again later.',
  );
}

/**
 * Returns the members whose values are neither objects nor functions, so that the result can be sent to another
 * process.
 */
function plain(data: ErrorData): ErrorData {
  return Object.fromEntries(
    Object.entries(data).filter(([, value]) => typeof value !== 'object' && typeof value !== 'function'),
  );
}
