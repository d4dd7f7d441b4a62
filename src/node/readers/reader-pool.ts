/**
 * Runs the processes that answer HTTP beside the node, over one shared port. A process that ends or hangs is replaced
 * at once. A hanging process is killed only after a longer time, because it may recover.
 */

import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';

import type { HttpServer } from '../../http/app.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { LocalNodeApi, ReadersStatus } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { programBeside } from '../../workers/job-threads.ts';
import { errorOf, type FromReader, type ReaderSettings, type ToReader } from './messages.ts';
import { LimitEnd } from './limit-end.ts';
import { NodeEnd } from './node-end.ts';
import { ReaderGauges } from './reader-observer.ts';

const PING_MS = 250;
/**
 * A reader that leaves this number of pings in a row unanswered counts as hanging, and another reader is started beside
 * it. Pings are counted instead of time, because the node itself may have been slow.
 */
const SILENT_PINGS_MAX = 3;
/**
 * Number of unanswered pings after which a hanging reader is killed. A replaced reader that answers again before then
 * ends by itself.
 */
const HANGING_PINGS_MAX = 20;
/** A reader that ends after less time is not replaced at once, because something keeps it from running. */
const SHORT_LIFE_MS = 2_000;
const REPLACED_AFTER_MS_MIN = 200;
const REPLACED_AFTER_MS_MAX = 5_000;
/** Time for open answers when the pool closes; `HttpServer.close` ends them after half a second. */
const CLOSE_MS_MAX = 3_000;
/** Time in which a replaced reader must end by itself: longer than `HttpServer.drain` takes. */
const DRAIN_MS_MAX = 20_000;
/** Time limit for the first start of a reader. */
const START_MS_MAX = 60_000;
/** Maximum heap of a reader. A reader with a larger heap ends and is replaced. */
const HEAP_MB_MAX = 512;

export interface ReaderPoolOptions {
  readonly processes: number;
  readonly settings: ReaderSettings;
  readonly api: LocalNodeApi;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Program that readers run; default: the program of the package. */
  readonly program?: string;
}

interface Reader {
  readonly worker: Worker;
  readonly end: NodeEnd;
  readonly tell: (message: ToReader) => void;
  readonly beganMs: number;
  /** Number of the reader, as in `ReaderStatus`. */
  readonly number: number;
  memoryBytes: number;
  requests: number;
  /** Pings since its last answer. */
  silentPings: number;
  isReady: boolean;
  /** True when another reader was started in its place. */
  isReplaced: boolean;
}

export interface ReaderPool extends Pick<HttpServer, 'start' | 'close'> {
  status(): ReadersStatus;
}

type Ports = Awaited<ReturnType<HttpServer['start']>>;

export function createReaderPool({
  processes,
  settings,
  api,
  clock,
  observer,
  program,
}: ReaderPoolOptions): ReaderPool {
  const readers = new Map<number, Reader>();
  const gauges = new ReaderGauges(observer);
  const limits = new LimitEnd(settings.http, (key) => {
    for (const { tell } of readers.values()) tell({ kind: 'shutOut', key });
  });
  let ports: Ports | undefined;
  let isClosed = false;
  let shortLives = 0;
  let restarts = 0;
  let pinging: Timer | undefined;
  const timers = new Set<Timer>();

  const begin = (): Promise<Ports> => {
    const worker = cluster.fork();
    const send = (message: ToReader): void => {
      if (worker.isConnected()) worker.send(message, undefined, () => undefined);
    };
    const reader: Reader = {
      worker,
      end: new NodeEnd(api, send),
      tell: send,
      ...{ beganMs: clock.nowMs(), number: freeNumber([...readers.values()]), memoryBytes: 0, requests: 0 },
      ...{ silentPings: 0, isReady: false, isReplaced: false },
    };
    readers.set(worker.id, reader);
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromReader) => {
        reader.silentPings = 0;
        switch (message.kind) {
          case 'loaded': {
            // All readers listen on the ports of the first reader.
            const { http, ...rest } = settings;
            const { tls } = http;
            const given = ports === undefined ? http : { ...http, port: ports.port };
            const tlsPort = ports?.tlsPort;
            const secure = tls === undefined || tlsPort === undefined ? {} : { tls: { ...tls, port: tlsPort } };
            return send({ kind: 'open', settings: { ...rest, http: { ...given, ...secure } } });
          }
          case 'ready': {
            const { kind: _kind, ...found } = message;
            reader.isReady = true;
            reader.end.taken();
            return resolve(found);
          }
          case 'failed':
            reject(errorOf(message.outcome) ?? new Error('it does not say why'));
            return worker.process.kill('SIGKILL');
          case 'reads':
            return void reader.end.reads(message.calls);
          case 'write':
            return void reader.end.write(message.id, message.call);
          case 'limits':
            return send({ kind: 'limits', answers: limits.heard(worker.id, message.telling) });
          case 'taken':
            return reader.end.taken();
          case 'tells':
            gauges.tell(worker.id, message.telling);
            return send({ kind: 'heard' });
          case 'pong':
            return told(reader, message);
        }
      });
      worker.on('error', () => undefined);
      worker.on('exit', (code, signal) => {
        readers.delete(worker.id);
        gauges.forget(worker.id);
        limits.forget(worker.id);
        reject(notStarted(`it ended (${signal ?? `exit code ${code}`})`));
        lost(reader, signal ?? String(code));
      });
    });
  };

  const lost = (reader: Reader, how: string): void => {
    if (isClosed || ports === undefined) return;
    observer.log('warn', 'HTTP_READER_LOST', 'A process that answers HTTP ended, and is replaced', {
      pid: reader.worker.process.pid,
      how,
    });
    const [other] = [...readers.values()].filter(({ isReady }) => isReady);
    other?.worker.send({ kind: 'sweep' } satisfies ToReader, undefined, () => undefined);
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

  const told = (reader: Reader, { memoryBytes, requests }: Extract<FromReader, { kind: 'pong' }>): void => {
    observer.count('http_reader_requests_total', requests - reader.requests, { reader: String(reader.number) });
    reader.memoryBytes = memoryBytes;
    reader.requests = requests;
  };

  const answering = (): number =>
    [...readers.values()].filter(({ isReady, isReplaced }) => isReady && !isReplaced).length;

  const ping = (): void => {
    for (const reader of readers.values()) {
      if (!reader.isReady) continue;
      const { silentPings } = reader;
      reader.silentPings += 1;
      if (silentPings >= HANGING_PINGS_MAX) {
        reader.worker.process.kill('SIGKILL');
        continue;
      }
      if (silentPings >= SILENT_PINGS_MAX && !reader.isReplaced && readers.size < 2 * processes) {
        reader.isReplaced = true;
        observer.log('warn', 'HTTP_READER_HANGS', 'A process that answers HTTP does not react, and is replaced', {
          pid: reader.worker.process.pid,
        });
        replace();
      }
      // A replaced reader that has recovered continues to answer until enough other readers answer.
      if (silentPings === 0 && reader.isReplaced && answering() >= processes) drainOne(reader);
      reader.worker.send({ kind: 'ping' } satisfies ToReader, undefined, () => undefined);
    }
    pinging = clock.after(PING_MS, ping);
  };

  /** Ends a replaced reader that has recovered. */
  const drainOne = (reader: Reader): void => {
    if (!reader.worker.isConnected()) return;
    reader.isReady = false;
    reader.worker.send({ kind: 'drain' } satisfies ToReader, undefined, () => undefined);
    const timer = clock.after(DRAIN_MS_MAX, () => reader.worker.process.kill('SIGKILL'));
    timers.add(timer);
    reader.worker.on('exit', () => {
      timer.cancel();
      timers.delete(timer);
    });
  };

  const stopListening = api.listen({
    chainChanged: () => {
      for (const { end } of readers.values()) end.chainChanged();
    },
    transactionReceived: (transaction) => {
      const receivedAtMs = api.receivedAtOf(transaction.id);
      for (const { end } of readers.values()) end.received({ transaction, receivedAtMs });
    },
  });

  const close = async (): Promise<void> => {
    isClosed = true;
    stopListening();
    pinging?.cancel();
    for (const timer of timers) timer.cancel();
    const ends = [...readers.values()].map(({ worker }) => ended(worker, clock));
    await Promise.all(ends);
  };

  return {
    async start() {
      cluster.schedulingPolicy = cluster.SCHED_NONE;
      cluster.setupPrimary({
        exec: program ?? fileURLToPath(programBeside(import.meta.url, 'reader-program')),
        args: [],
        execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB_MAX}`],
        serialization: 'advanced',
        silent: false,
      });
      const tooLate = new Promise<never>((_resolve, reject) => {
        const timer = clock.after(START_MS_MAX, () =>
          reject(notStarted(`it is not ready after ${START_MS_MAX / 1000} s`)),
        );
        timers.add(timer);
      });
      tooLate.catch(() => undefined);
      try {
        // The first reader starts alone: with port 0 it chooses the port on which all others listen.
        const first = await Promise.race([begin(), tooLate]);
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

/** The lowest number that no reader uses. Therefore numbers stay small, however many readers are replaced. */
function freeNumber(readers: readonly Reader[]): number {
  const taken = new Set(readers.map(({ number }) => number));
  for (let number = 1; ; number += 1) if (!taken.has(number)) return number;
}

function notStarted(why: string): ProtocolError {
  return new ProtocolError(
    'HTTP_READER_FAILED',
    { why },
    `A process that answers HTTP beside the node did not start: ${why}. Start the node again, or with http.processes 0.`,
  );
}

async function ended(worker: Worker, clock: Clock): Promise<void> {
  if (worker.isDead()) return;
  await new Promise<void>((resolve) => {
    const timer = clock.after(CLOSE_MS_MAX, () => worker.process.kill('SIGKILL'));
    worker.on('exit', () => {
      timer.cancel();
      resolve();
    });
    if (worker.isConnected()) worker.send({ kind: 'close' } satisfies ToReader, undefined, () => undefined);
  });
}
