/**
 * Runs the processes that answer HTTP beside the node (readers). All readers accept connections from the same listening
 * sockets. The first reader opens the sockets. The node also holds the sockets, but accepts no connections. While no
 * reader runs, new connections therefore wait in the accept queues of the sockets and are not refused. The pool
 * replaces a reader that ends, hangs or uses too much memory. If a reader hangs, the pool first starts a replacement,
 * and kills the hanging reader only later, because this reader can recover.
 */

import type { HttpServer } from '../../http/http-server.ts';
import type { ListeningSocket } from '../../http/listening-socket.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { LocalNodeApi, ReadersStatus, ReceivedTime } from '../../ports/node-api.ts';
import type { LogFields, Observer } from '../../ports/observer.ts';
import type { IndexUsers } from '../../ports/store.ts';
import { messageOf } from '../../primitives/errors.ts';
import { errorOf, type FromReader, type ReaderSettings, type SocketName, type ToReader } from './messages.ts';
import { closeHandle, readMessage } from './reader-message.ts';
import { noteReader } from './leftover-readers.ts';
import { indexUsersAmong } from './index-users.ts';
import { LimitServer } from './limit-server.ts';
import { NodeRpcServer } from './node-rpc-server.ts';
import { closeReader, freeNumber, statusOf, type Reader } from './reader.ts';
import { forkReader, type ReaderChild } from './reader-child.ts';
import { notStarted, wasKilled } from './reader-errors.ts';
import { ReaderGauges } from './reader-observer.ts';

const PING_MS = 250;
/**
 * If a reader sends no message after this number of pings in a row, the pool treats it as hanging, and starts another
 * reader. The pool counts pings instead of measuring time. If the node itself was slow, it also sent fewer pings, so
 * the count does not blame the reader.
 */
const SILENT_PINGS_MAX = 3;
/**
 * Number of pings in a row after which the pool kills a hanging reader that still sends no message. If the hanging
 * reader answers a ping before the pool kills it, this reader serves clients until enough other readers
 * (`ReaderPoolOptions.processes`) are ready. Then the pool drains this reader (`drainOne`).
 */
const HANGING_PINGS_MAX = 20;
/**
 * If a reader ends within this time after its start, the pool pauses before it starts a replacement, because a lasting
 * fault would probably end the replacement, too. The pause doubles with each such reader in a row, up to
 * `REPLACED_AFTER_MS_MAX`.
 */
const SHORT_LIFE_MS = 2_000;
const REPLACED_AFTER_MS_MIN = 200;
const REPLACED_AFTER_MS_MAX = 5_000;
/**
 * Time, in milliseconds, in which a replaced reader must exit after the message `drain`. `HttpServer.drain` takes less
 * time.
 */
const DRAIN_MS_MAX = 20_000;
/**
 * Time, in milliseconds, in which the first reader must be ready. If the reader ends before it is ready, its
 * replacement gets only the rest of this time.
 */
const START_MS_MAX = 60_000;
/**
 * The pool kills a starting reader that sends no message for this number of ping intervals (20 s). A reader normally
 * starts in about one second. After each such kill in a row, the pool doubles this time for the next reader, because
 * the machine is possibly slow.
 */
const STARTING_PINGS_MAX = 80;
/**
 * Maximum number of attempts to start the first reader. The pool makes another attempt only if the reader was killed
 * (`wasKilled`): by a person, by the system, or by the pool because the reader sent no message for too long
 * (`STARTING_PINGS_MAX`). Any other failure would probably happen at each attempt.
 */
const FIRST_READERS_MAX = 3;
/**
 * If the memory of a reader (`ownMemoryBytes`) exceeds this maximum, the pool starts another reader, and then drains
 * the old reader (`drainOne`). A reader normally needs less than 200 MB.
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
  /** Path of the program that readers run; default: `reader-program` of this package. */
  readonly program?: string;
  /** Process that the node has already started for the first reader; default: a new process. */
  readonly firstChild?: ReaderChild | undefined;
  /**
   * If a reader uses more memory than this number of bytes, the pool replaces the reader; default: `MEMORY_BYTES_MAX`.
   */
  readonly memoryBytesMax?: number;
  /**
   * Number of ping intervals without a message after which the pool kills a starting reader; default:
   * `STARTING_PINGS_MAX`.
   */
  readonly startingPingsMax?: number;
}

export interface ReaderPool extends Pick<HttpServer, 'start' | 'close'> {
  status(): ReadersStatus;
  /** Tells the store whether the readers need complete indexes, and tells the readers when the indexes are complete. */
  readonly indexUsers: IndexUsers;
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
  startingPingsMax = STARTING_PINGS_MAX,
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
  /** Number of readers in a row that were killed because they did not become ready. */
  let lateStarts = 0;
  let restarts = 0;
  let pinging: Timer | undefined;
  const timers = new Set<Timer>();

  const begin = (started?: ReaderChild): Promise<Ports> => {
    let reading: ReaderChild;
    try {
      reading = started?.hasEnded() === false ? started : forkReader(program);
    } catch (error) {
      // `fork` throws, for example, if the system has no memory for a new process.
      if (ports !== undefined) replaceLater(REPLACED_AFTER_MS_MAX);
      return Promise.reject(notStarted(messageOf(error)));
    }
    const { process: child, whenLoaded } = reading;
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
      ...{ silentPings: 0, isReady: false, isReplaced: false, isDraining: false, isRefused: false },
    };
    readers.set(id, reader);
    return new Promise((resolve, reject) => {
      child.on('message', (plain: unknown, handle: unknown) => {
        // More messages can arrive after the node has killed the reader.
        if (reader.isRefused) return closeHandle(handle);
        const read = readMessage(plain, handle);
        if ('wrong' in read) {
          closeHandle(handle);
          return refuse(reader, read.wrong);
        }
        const { message, socket } = read;
        reader.silentPings = 0;
        switch (message.kind) {
          case 'loaded':
          case 'waiting':
            return;
          case 'socket':
            if (held.has(message.name)) closeHandle(socket);
            else if (socket !== undefined) held.set(message.name, socket);
            return;
          case 'ready': {
            const { kind: _kind, ...found } = message;
            reader.isReady = true;
            lateStarts = 0;
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
            // The messages of a reader that has ended can arrive after its end. Its connections must not count then.
            if (!readers.has(id)) return;
            return send({ kind: 'limits', answers: limits.take(id, message.report) });
          case 'taken':
            return reader.end.taken();
          case 'report':
            gauges.add(id, message.report);
            if (!readers.has(id)) gauges.forget(id);
            return send({ kind: 'reportTaken' });
          case 'pong':
            return onPong(reader, message);
        }
      });
      whenLoaded(() => {
        for (const [name, each] of held) send({ kind: 'socket', name }, each);
        send({ kind: 'open', settings, times: api.confirmedTimes() });
      });
      const gone = (why: string, how: string, signal: NodeJS.Signals | null = null): void => {
        removeNote?.();
        readers.delete(id);
        gauges.forget(id);
        limits.forget(id);
        reject(notStarted(why, signal));
        lost(reader, how);
      };
      child.on('exit', (code, signal) =>
        gone(`it ended (${signal ?? `exit code ${code}`})`, signal ?? String(code), signal),
      );
      // If the system could not start the process, `child` emits `error` but no `exit`.
      if (child.pid === undefined) child.once('error', (error) => gone(messageOf(error), messageOf(error)));
    });
  };

  /**
   * Kills a reader that has sent a message which a correct reader does not send. An attacker possibly controls this
   * reader. The handler of `exit` starts a replacement.
   *
   * @param member path to the wrong member of the message
   */
  const refuse = (reader: Reader, member: string): void => {
    reader.isRefused = true;
    reader.process.kill('SIGKILL');
    const text = 'A process that answers HTTP sent a wrong message, and is replaced';
    observer.log('warn', 'HTTP_READER_LOST', text, { pid: reader.process.pid, member });
  };

  const lost = (reader: Reader, how: string): void => {
    if (isClosed || ports === undefined) return;
    // The pool does not log that a drained reader has ended with exit code 0, because the replacement already runs.
    // `refuse` has already logged why the pool killed a refused reader.
    if (!reader.isRefused && (!reader.isDraining || reader.process.exitCode !== 0)) {
      const { pid } = reader.process;
      observer.log('warn', 'HTTP_READER_LOST', 'A process that answers HTTP ended, and is replaced', { pid, how });
    }
    const [other] = [...readers.values()].filter(({ isReady }) => isReady);
    other?.send({ kind: 'sweep' });
    if (reader.isReplaced) return;
    const isShort = clock.nowMs() - reader.beganMs < SHORT_LIFE_MS;
    shortLives = isShort ? shortLives + 1 : 0;
    const waitMs = Math.min(REPLACED_AFTER_MS_MAX, REPLACED_AFTER_MS_MIN * 2 ** (shortLives - 1));
    if (!isShort) return void replace();
    replaceLater(waitMs);
  };

  const replaceLater = (waitMs: number): void => {
    const timer = clock.after(waitMs, () => {
      timers.delete(timer);
      replace();
    });
    timers.add(timer);
  };

  /** The first reader opens all sockets. If it is killed during its start, the next reader takes its place. */
  const beginFirst = async (): Promise<Ports> => {
    for (let others = 0; ; others += 1) {
      try {
        return await begin(others === 0 ? firstChild : undefined);
      } catch (error) {
        if (isClosed || others + 1 >= FIRST_READERS_MAX || !wasKilled(error)) throw error;
        const fields = { why: messageOf(error) };
        observer.log(
          'warn',
          'HTTP_READER_LOST',
          'A process that answers HTTP ended at its start, and is replaced',
          fields,
        );
        countRestart();
        await new Promise<void>((resolve) => timers.add(clock.after(REPLACED_AFTER_MS_MIN * 2 ** others, resolve)));
      }
    }
  };

  const replace = (): void => {
    if (isClosed) return;
    countRestart();
    beginBeside();
  };

  const countRestart = (): void => {
    restarts += 1;
    observer.count('http_reader_restarts_total');
  };

  const beginBeside = (): void => {
    // If the reader ends before it is ready, the handler of `exit` replaces it.
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

  /**
   * True if three conditions hold: the reader is ready, it was not replaced yet, and fewer than twice the wanted number
   * of readers run.
   */
  const isReplaceable = ({ isReady, isReplaced }: Reader): boolean =>
    isReady && !isReplaced && readers.size < 2 * processes;

  /** Starts a replacement while the old reader still runs. `ping` drains or kills the old reader later. */
  const replaceLiving = (reader: Reader, code: string, message: string, fields: LogFields = {}): void => {
    reader.isReplaced = true;
    observer.log('warn', code, message, { pid: reader.process.pid, ...fields });
    replace();
  };

  const answering = (): number =>
    [...readers.values()].filter(({ isReady, isReplaced }) => isReady && !isReplaced).length;

  const ping = (): void => {
    for (const reader of readers.values()) {
      const { silentPings } = reader;
      reader.silentPings += 1;
      if (!reader.isReady) {
        if (silentPings >= startingPingsMax * 2 ** lateStarts) endStarting(reader);
        continue;
      }
      if (silentPings >= HANGING_PINGS_MAX) {
        reader.process.kill('SIGKILL');
        continue;
      }
      if (silentPings >= SILENT_PINGS_MAX && isReplaceable(reader)) {
        replaceLiving(reader, 'HTTP_READER_HANGS', 'A process that answers HTTP does not react, and is replaced');
      }
      // A replaced reader that answers pings serves clients until `processes` other readers are ready.
      if (silentPings === 0 && reader.isReplaced && answering() >= processes) drainOne(reader);
      reader.send({ kind: 'ping' });
    }
    pinging = clock.after(PING_MS, ping);
  };

  /**
   * Kills a reader that does not become ready. A draining reader is not ready either, but has its own time limit
   * (`DRAIN_MS_MAX`).
   */
  const endStarting = (reader: Reader): void => {
    if (reader.isDraining) return;
    lateStarts += 1;
    const text = 'A process that answers HTTP does not become ready, and is replaced';
    observer.log('warn', 'HTTP_READER_HANGS', text, { pid: reader.process.pid });
    reader.process.kill('SIGKILL');
  };

  /** Sends `drain` to a replaced reader. Kills the reader if it has not ended after `DRAIN_MS_MAX`. */
  const drainOne = (reader: Reader): void => {
    if (!reader.process.connected) return;
    reader.isReady = false;
    reader.isDraining = true;
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
    // The pool starts no new reader from here on, so new connections must not wait in the accept queues.
    for (const socket of held.values()) socket.close();
    held.clear();
    const ends = [...readers.values()].map((reader) => closeReader(reader, clock));
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
        pinging = clock.after(PING_MS, ping);
        const first = await Promise.race([beginFirst(), tooLate]);
        for (const timer of timers) timer.cancel();
        timers.clear();
        ports = first;
        for (let others = 1; others < processes; others += 1) beginBeside();
        return first;
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
    indexUsers: indexUsersAmong(() => readers.values()),
    status: () => ({
      wanted: processes,
      restarts,
      each: [...readers.values()].map(statusOf).toSorted((a, b) => a.reader - b.reader),
    }),
  };
}
