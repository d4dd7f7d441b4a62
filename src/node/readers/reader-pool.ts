/**
 * Runs the processes that answer HTTP beside the node (readers). All readers accept connections from the same listening
 * sockets. The first reader opens the sockets. The node also holds the sockets, but accepts no connections. While no
 * reader runs, new connections therefore wait in the queue of the socket, and no client is refused. The pool replaces a
 * reader that ends, hangs or uses too much memory. A hanging reader is killed only after a longer time, because it may
 * recover.
 */

import type { ChildProcess } from 'node:child_process';

import type { HttpServer } from '../../http/http-server.ts';
import type { ListeningSocket } from '../../http/listening-socket.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { LocalNodeApi, ReadersStatus, ReceivedTime } from '../../ports/node-api.ts';
import type { LogFields, Observer } from '../../ports/observer.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { errorOf, type FromReader, type ReaderSettings, type SocketName, type ToReader } from './messages.ts';
import { noteReader } from './leftover-readers.ts';
import { LimitServer } from './limit-server.ts';
import { NodeRpcServer } from './node-rpc-server.ts';
import { forkReader, type ReaderChild } from './reader-child.ts';
import { ReaderGauges } from './reader-observer.ts';

const PING_MS = 250;
/**
 * A reader that leaves this number of pings in a row unanswered counts as hanging, and another reader is started beside
 * it. Pings are counted instead of time, because the node itself may have been slow.
 */
const SILENT_PINGS_MAX = 3;
/**
 * Number of unanswered pings after which a hanging reader is killed. If a replaced reader answers a ping before this
 * number is reached, the pool lets the reader finish its open requests and end.
 */
const HANGING_PINGS_MAX = 20;
/**
 * A reader that ends after less time is replaced only after a pause, because a lasting fault probably ends each new
 * reader, too.
 */
const SHORT_LIFE_MS = 2_000;
const REPLACED_AFTER_MS_MIN = 200;
const REPLACED_AFTER_MS_MAX = 5_000;
/** Time for open answers when the pool closes; `HttpServer.close` ends open answers after half a second. */
const CLOSE_MS_MAX = 3_000;
/** Time in which a replaced reader must exit. `HttpServer.drain` takes less time. */
const DRAIN_MS_MAX = 20_000;
/** Time limit for the start of the first reader, including the readers that replace it. */
const START_MS_MAX = 60_000;
/** A reader that is not ready after this time counts as hanging, and is killed. A start takes about one second. */
const READY_MS_MAX = 20_000;
/**
 * If a reader uses more memory than this, the pool starts another reader. The old reader then answers its open requests
 * and ends. A reader needs less than 200 MB.
 */
const MEMORY_BYTES_MAX = 500_000_000;

export interface ReaderPoolOptions {
  readonly processes: number;
  /** Folder of the node's data, in which the pool writes a file for each reader. */
  readonly dataDirectory: string;
  readonly settings: ReaderSettings;
  readonly api: LocalNodeApi;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Program that readers run; default: the program of the package. */
  readonly program?: string;
  /** Process that becomes the first reader, started before the store was open; default: a new process. */
  readonly firstChild?: ReaderChild | undefined;
  /** Memory beyond which a reader is replaced; default `MEMORY_BYTES_MAX`. */
  readonly memoryBytesMax?: number;
  /** Time limit in milliseconds for the start of one reader; default `READY_MS_MAX`. */
  readonly readyMsMax?: number;
}

interface Reader {
  readonly process: ChildProcess;
  /** Id that no later reader gets. The `number` of a reader is not unique: a later reader can get the same `number`. */
  readonly id: number;
  readonly end: NodeRpcServer;
  readonly send: (message: ToReader) => void;
  readonly beganMs: number;
  /** Number of the reader, as in `ReaderStatus`. */
  readonly number: number;
  memoryBytes: number;
  requests: number;
  /** Number of pings since the reader's last answer. */
  silentPings: number;
  isReady: boolean;
  /** True if another reader was started to replace this reader. */
  isReplaced: boolean;
}

export interface ReaderPool extends Pick<HttpServer, 'start' | 'close'> {
  status(): ReadersStatus;
}

type Ports = Awaited<ReturnType<HttpServer['start']>>;

export function createReaderPool({
  processes,
  dataDirectory,
  settings,
  api,
  clock,
  observer,
  program,
  firstChild,
  memoryBytesMax = MEMORY_BYTES_MAX,
  readyMsMax = READY_MS_MAX,
}: ReaderPoolOptions): ReaderPool {
  const readers = new Map<number, Reader>();
  const gauges = new ReaderGauges(observer);
  const limits = new LimitServer(
    settings.http,
    (id, message) => readers.get(id)?.send(message),
    (message) => {
      for (const { send } of readers.values()) send(message);
    },
  );
  const held = new Map<SocketName, ListeningSocket>();
  let ports: Ports | undefined;
  let isClosed = false;
  let lastId = 0;
  let shortLives = 0;
  let restarts = 0;
  let pinging: Timer | undefined;
  const timers = new Set<Timer>();

  const begin = (started?: ReaderChild): Promise<Ports> => {
    const { process: child, whenLoaded } = started?.hasEnded() === false ? started : forkReader(program);
    const removeNote = child.pid === undefined ? undefined : noteReader(dataDirectory, child.pid, process.pid);
    const id = (lastId += 1);
    const send = (message: ToReader, socket?: ListeningSocket): void => {
      if (child.connected) child.send(message, socket, undefined, () => undefined);
    };
    const reader: Reader = {
      ...{ process: child, id },
      end: new NodeRpcServer(api, send),
      send,
      ...{ beganMs: clock.nowMs(), number: freeNumber([...readers.values()]), memoryBytes: 0, requests: 0 },
      ...{ silentPings: 0, isReady: false, isReplaced: false },
    };
    readers.set(id, reader);
    // The pool pings only readers that are ready.
    const tooLate = clock.after(readyMsMax, () => child.kill('SIGKILL'));
    return new Promise((resolve, reject) => {
      child.on('message', (plain, socket) => {
        const message = plain as FromReader;
        reader.silentPings = 0;
        switch (message.kind) {
          case 'loaded':
            return;
          case 'socket':
            if (socket !== undefined && !held.has(message.name)) held.set(message.name, socket as ListeningSocket);
            return;
          case 'ready': {
            const { kind: _kind, ...found } = message;
            tooLate.cancel();
            reader.isReady = true;
            reader.end.taken();
            if (limits.isFull) send({ kind: 'full', isFull: true });
            return resolve(found);
          }
          case 'failed':
            reject(errorOf(message.outcome) ?? new Error('without a reason'));
            return void child.kill('SIGKILL');
          case 'reads':
            return void reader.end.reads(message.calls);
          case 'write':
            return void reader.end.write(message.id, message.call);
          case 'limits':
            return send({ kind: 'limits', answers: limits.take(id, message.report) });
          case 'taken':
            return reader.end.taken();
          case 'report':
            gauges.add(id, message.report);
            return send({ kind: 'reportTaken' });
          case 'pong':
            return onPong(reader, message);
        }
      });
      whenLoaded(() => {
        for (const [name, each] of held) send({ kind: 'socket', name }, each);
        send({ kind: 'open', settings, times: api.confirmedTimes() });
      });
      child.on('exit', (code, signal) => {
        tooLate.cancel();
        removeNote?.();
        readers.delete(id);
        gauges.forget(id);
        limits.forget(id);
        reject(notStarted(`it ended (${signal ?? `exit code ${code}`})`, signal));
        lost(reader, signal ?? String(code));
      });
    });
  };

  const lost = (reader: Reader, how: string): void => {
    if (isClosed || ports === undefined) return;
    observer.log('warn', 'HTTP_READER_LOST', 'A process that answers HTTP ended, and is replaced', {
      pid: reader.process.pid,
      how,
    });
    const [other] = [...readers.values()].filter(({ isReady }) => isReady);
    other?.send({ kind: 'sweep' });
    if (reader.isReplaced) return;
    const isShort = clock.nowMs() - reader.beganMs < SHORT_LIFE_MS;
    shortLives = isShort ? shortLives + 1 : 0;
    const waitMs = Math.min(REPLACED_AFTER_MS_MAX, REPLACED_AFTER_MS_MIN * 2 ** (shortLives - 1));
    if (!isShort) return void replace();
    const timer = clock.after(waitMs, () => {
      timers.delete(timer);
      replace();
    });
    timers.add(timer);
  };

  /** The first reader opens all sockets. If it is killed during its start, the next reader takes its place. */
  const beginFirst = async (): Promise<Ports> => {
    for (let started = firstChild; ; started = undefined) {
      try {
        return await begin(started);
      } catch (error) {
        const how = signalThatEnded(error);
        if (isClosed || how === undefined) throw error;
        observer.log('warn', 'HTTP_READER_LOST', 'A process that answers HTTP ended, and is replaced', { how });
      }
    }
  };

  const replace = (): void => {
    if (isClosed) return;
    restarts += 1;
    observer.count('http_reader_restarts_total');
    beginBeside();
  };

  const beginBeside = (): void => {
    // If the reader ends, the handler of `exit` tries again.
    begin().catch(() => undefined);
  };

  const onPong = (reader: Reader, { memoryBytes, requests }: Extract<FromReader, { kind: 'pong' }>): void => {
    observer.count('http_reader_requests_total', requests - reader.requests, { reader: String(reader.number) });
    reader.memoryBytes = memoryBytes;
    reader.requests = requests;
    if (memoryBytes <= memoryBytesMax || !isReplaceable(reader)) return;
    replaceLiving(reader, 'HTTP_READER_MEMORY', 'A process that answers HTTP uses too much memory, and is replaced', {
      memoryBytes,
      memoryBytesMax,
    });
  };

  /** False if the reader is not ready, if it was already replaced, or if too many readers run. */
  const isReplaceable = ({ isReady, isReplaced }: Reader): boolean =>
    isReady && !isReplaced && readers.size < 2 * processes;

  /**
   * Starts a replacement while the old reader still runs. The old reader continues to answer until the new reader is
   * ready.
   */
  const replaceLiving = (reader: Reader, code: string, message: string, fields: LogFields = {}): void => {
    reader.isReplaced = true;
    observer.log('warn', code, message, { pid: reader.process.pid, ...fields });
    replace();
  };

  const answering = (): number =>
    [...readers.values()].filter(({ isReady, isReplaced }) => isReady && !isReplaced).length;

  const ping = (): void => {
    for (const reader of readers.values()) {
      if (!reader.isReady) continue;
      const { silentPings } = reader;
      reader.silentPings += 1;
      if (silentPings >= HANGING_PINGS_MAX) {
        reader.process.kill('SIGKILL');
        continue;
      }
      if (silentPings >= SILENT_PINGS_MAX && isReplaceable(reader)) {
        replaceLiving(reader, 'HTTP_READER_HANGS', 'A process that answers HTTP does not react, and is replaced');
      }
      // A replaced reader that answers pings continues to answer until enough other readers answer.
      if (silentPings === 0 && reader.isReplaced && answering() >= processes) drainOne(reader);
      reader.send({ kind: 'ping' });
    }
    pinging = clock.after(PING_MS, ping);
  };

  /** Ends a replaced reader that has recovered. */
  const drainOne = (reader: Reader): void => {
    if (!reader.process.connected) return;
    reader.isReady = false;
    reader.send({ kind: 'drain' });
    const timer = clock.after(DRAIN_MS_MAX, () => reader.process.kill('SIGKILL'));
    timers.add(timer);
    reader.process.on('exit', () => {
      timer.cancel();
      timers.delete(timer);
    });
  };

  const timeOf = (id: string): readonly ReceivedTime[] => {
    const timeMs = api.receivedAtOf(id);
    return timeMs === undefined ? [] : [[id, timeMs]];
  };

  const stopListening = api.listen({
    chainChanged: (applied = []) => {
      const times = applied.flatMap(({ transactions }) => transactions.flatMap(({ id }) => timeOf(id)));
      for (const { end } of readers.values()) end.chainChanged(times);
    },
    transactionReceived: (transaction) => {
      for (const { end } of readers.values()) end.received(transaction);
    },
  });

  const close = async (): Promise<void> => {
    isClosed = true;
    stopListening();
    pinging?.cancel();
    for (const timer of timers) timer.cancel();
    // No new reader will come, so new connections must not wait in the queues of the sockets.
    for (const socket of held.values()) socket.close();
    held.clear();
    const ends = [...readers.values()].map((reader) => ended(reader, clock));
    await Promise.all(ends);
  };

  return {
    async start() {
      const tooLate = new Promise<never>((_resolve, reject) => {
        const timer = clock.after(START_MS_MAX, () =>
          reject(notStarted(`it is not ready after ${START_MS_MAX / 1000} s`)),
        );
        timers.add(timer);
      });
      tooLate.catch(() => undefined);
      try {
        const first = await Promise.race([beginFirst(), tooLate]);
        ports = first;
        for (let others = 1; others < processes; others += 1) beginBeside();
        for (const timer of timers) timer.cancel();
        timers.clear();
        pinging = clock.after(PING_MS, ping);
        return first;
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
    status: () => ({
      wanted: processes,
      restarts,
      each: [...readers.values()]
        .map(({ number, beganMs, memoryBytes, requests, isReady, isReplaced }) => {
          const state = isReplaced ? ('silent' as const) : isReady ? ('up' as const) : ('starting' as const);
          return { reader: number, state, sinceMs: beganMs, memoryBytes, requests };
        })
        .toSorted((a, b) => a.reader - b.reader),
    }),
  };
}

/**
 * Returns the lowest number that no reader uses. The numbers therefore stay small even after many replacements, so the
 * metrics have few labels.
 */
function freeNumber(readers: readonly Reader[]): number {
  const taken = new Set(readers.map(({ number }) => number));
  for (let number = 1; ; number += 1) if (!taken.has(number)) return number;
}

/** @param signal signal that ended the reader; null if the reader ended itself */
function notStarted(why: string, signal: NodeJS.Signals | null = null): ProtocolError {
  return new ProtocolError(
    'HTTP_READER_FAILED',
    { why, signal },
    `A process that answers HTTP beside the node did not start: ${why}. Start the node again, or with http.processes 0.`,
  );
}

/** Signal that ended a reader before it was ready; undefined if it ended itself, as its replacement would, too. */
function signalThatEnded(error: unknown): string | undefined {
  const signal = error instanceof ProtocolError ? error.data['signal'] : undefined;
  return typeof signal === 'string' ? signal : undefined;
}

async function ended({ process: child, send }: Reader, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    const timer = clock.after(CLOSE_MS_MAX, () => child.kill('SIGKILL'));
    child.on('exit', () => {
      timer.cancel();
      resolve();
    });
    send({ kind: 'close' });
  });
}
