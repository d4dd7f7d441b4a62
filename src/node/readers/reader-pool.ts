/**
 * Runs the processes that answer HTTP beside the node (readers). All readers accept connections from the same listening
 * sockets. The first reader opens the sockets. The node also holds the sockets, but accepts no connections. While no
 * reader runs, new connections therefore wait in the accept queues of the sockets and are not refused. The pool
 * replaces a reader that ends, hangs or uses too much memory (`reader-watch.ts`).
 */

import type { HttpServer } from '../../http/http-server.ts';
import type { ListeningSocket } from '../../http/listening-socket.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { LocalNodeApi, ReadersStatus, ReceivedTime } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
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
import { ReaderWatch } from './reader-watch.ts';

/**
 * If a reader ends within this time after its start, the pool pauses before it starts a replacement, because a lasting
 * fault would probably end the replacement, too. The pause doubles with each such reader in a row, up to
 * `REPLACED_AFTER_MS_MAX`.
 */
const SHORT_LIFE_MS = 2_000;
const REPLACED_AFTER_MS_MIN = 200;
const REPLACED_AFTER_MS_MAX = 5_000;
/**
 * Time, in milliseconds, in which the first reader must be ready. If the reader ends before it is ready, its
 * replacement gets only the rest of this time.
 */
const START_MS_MAX = 60_000;
/**
 * Maximum number of attempts to start the first reader. The pool makes another attempt only if the reader was killed
 * (`wasKilled`): by a person, by the system, or by the watch because the reader sent no message for too long
 * (`ReaderPoolOptions.startingPingsMax`). Any other failure would probably happen at each attempt.
 */
const FIRST_READERS_MAX = 3;

export interface ReaderPoolOptions {
  readonly processes: number;
  /** Folder of the node's data, in which the pool writes a file for each reader. */
  readonly dataDirectory: string;
  readonly settings: ReaderSettings;
  readonly api: LocalNodeApi;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Path of the program that readers run; default: `reader-program` of this package. */
  readonly program?: string | undefined;
  /** Process that the node has already started for the first reader; default: a new process. */
  readonly firstChild?: ReaderChild | undefined;
  /**
   * If a reader uses more memory than this number of bytes, the pool replaces the reader; default: 500 MB.
   */
  readonly memoryBytesMax?: number | undefined;
  /**
   * Number of ping intervals (of 250 ms) without a message after which the pool kills a starting reader; default: 80.
   */
  readonly startingPingsMax?: number | undefined;
}

/** How to end the promise that `#begin` returns. */
interface Starting {
  readonly resolve: (ports: Ports) => void;
  readonly reject: (error: Error) => void;
}

type Ports = Awaited<ReturnType<HttpServer['start']>>;

export class ReaderPool implements Pick<HttpServer, 'start' | 'close'> {
  readonly #options: ReaderPoolOptions;
  readonly #readers = new Map<number, Reader>();
  readonly #watch: ReaderWatch;
  readonly #gauges: ReaderGauges;
  readonly #limits: LimitServer;
  readonly #held = new Map<SocketName, ListeningSocket>();
  /** Timers of starts: of the next reader, and of the maximum time until the first reader is ready. */
  readonly #timers = new Set<Timer>();
  readonly #stopListening: () => void;
  /** The ports on which the first reader listens; undefined until this reader is ready. */
  #ports: Ports | undefined;
  #isClosed = false;
  #lastId = 0;
  /** Number of readers in a row that ended within `SHORT_LIFE_MS` after their start. */
  #shortLives = 0;
  #restarts = 0;
  /** Tells the store whether the readers need complete indexes, and tells the readers when the indexes are complete. */
  readonly indexUsers: IndexUsers;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    const { settings, observer } = options;
    const readers = this.#readers;
    this.indexUsers = indexUsersAmong(() => readers.values());
    this.#watch = new ReaderWatch({ ...options, readers, replace: () => this.#replace() });
    this.#gauges = new ReaderGauges(observer);
    this.#limits = new LimitServer(
      settings.http,
      (id, message) => readers.get(id)?.send(message),
      (message) => {
        for (const { send } of readers.values()) send(message);
      },
    );
    this.#stopListening = this.#listen();
  }

  async start(): Promise<Ports> {
    const { clock, processes } = this.#options;
    const tooLate = new Promise<never>((_resolve, reject) => {
      const late = (): void => reject(notStarted(`it is not ready after ${START_MS_MAX / 1000} s`));
      this.#timers.add(clock.after(START_MS_MAX, late));
    });
    tooLate.catch(() => undefined);
    try {
      this.#watch.start();
      const first = await Promise.race([this.#beginFirst(), tooLate]);
      for (const timer of this.#timers) timer.cancel();
      this.#timers.clear();
      this.#ports = first;
      for (let others = 1; others < processes; others += 1) this.#beginBeside();
      return first;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#watch.stop();
    for (const timer of this.#timers) timer.cancel();
    // The pool starts no new reader from here on, so new connections must not wait in the accept queues.
    for (const socket of this.#held.values()) socket.close();
    this.#held.clear();
    const ends = [...this.#readers.values()].map((reader) => closeReader(reader, this.#options.clock));
    await Promise.all(ends);
  }

  status(): ReadersStatus {
    return {
      wanted: this.#options.processes,
      restarts: this.#restarts,
      each: [...this.#readers.values()].map(statusOf).toSorted((a, b) => a.reader - b.reader),
    };
  }

  /** Passes news of the node to the readers. */
  #listen(): () => void {
    const { api } = this.#options;
    const timeOf = (id: string): readonly ReceivedTime[] => {
      const timeMs = api.receivedAtOf(id);
      return timeMs === undefined ? [] : [[id, timeMs]];
    };
    return api.listen({
      chainChanged: (applied = []) => {
        const times = applied.flatMap(({ transactions }) => transactions.flatMap(({ id }) => timeOf(id)));
        for (const { end } of this.#readers.values()) end.chainChanged(times);
      },
      transactionReceived: (transaction) => {
        for (const { end } of this.#readers.values()) end.received(transaction);
      },
    });
  }

  /**
   * Starts a reader.
   *
   * @param started the process of the reader, if it already runs
   * @returns the ports of the reader, after it is ready
   * @throws an error if the reader ends before it is ready, or cannot listen
   */
  #begin(started?: ReaderChild): Promise<Ports> {
    const { program, dataDirectory, settings, api } = this.#options;
    let reading: ReaderChild;
    try {
      reading = started?.hasEnded() === false ? started : forkReader(program);
    } catch (error) {
      // `fork` throws, for example, if the system has no memory for a new process.
      if (this.#ports !== undefined) this.#replaceLater(REPLACED_AFTER_MS_MAX);
      return Promise.reject(notStarted(messageOf(error)));
    }
    const { process: child, whenLoaded } = reading;
    const removeNote = child.pid === undefined ? undefined : noteReader(dataDirectory, child.pid, process.pid);
    const reader = this.#add(child);
    return new Promise((resolve, reject) => {
      child.on('message', (plain: unknown, handle: unknown) => {
        this.#receive(reader, plain, handle, { resolve, reject });
      });
      whenLoaded(() => {
        for (const [name, socket] of this.#held) reader.send({ kind: 'socket', name }, socket);
        reader.send({ kind: 'open', settings, times: api.confirmedTimes() });
      });
      const gone = (why: string, how: string, signal: NodeJS.Signals | null = null): void => {
        removeNote?.();
        reject(notStarted(why, signal));
        this.#lost(reader, how);
      };
      child.on('exit', (code, signal) =>
        gone(`it ended (${signal ?? `exit code ${code}`})`, signal ?? String(code), signal),
      );
      // If the system could not start the process, `child` emits `error` but no `exit`.
      if (child.pid === undefined) child.once('error', (error) => gone(messageOf(error), messageOf(error)));
    });
  }

  #add(child: ReaderChild['process']): Reader {
    const send = (message: ToReader, socket?: ListeningSocket): void => {
      if (child.connected) child.send(message, socket, undefined, () => undefined);
    };
    this.#lastId += 1;
    const reader: Reader = {
      process: child,
      id: this.#lastId,
      end: new NodeRpcServer(this.#options.api, send),
      send,
      beganMs: this.#options.clock.nowMs(),
      number: freeNumber([...this.#readers.values()]),
      ...{ memoryBytes: 0, requests: 0, silentPings: 0 },
      ...{ isReady: false, isReplaced: false, isDraining: false, isRefused: false },
    };
    this.#readers.set(reader.id, reader);
    return reader;
  }

  /** Checks a message of a reader, and handles it. */
  #receive(reader: Reader, plain: unknown, handle: unknown, starting: Starting): void {
    // More messages can arrive after the node has killed the reader.
    if (reader.isRefused) return closeHandle(handle);
    const read = readMessage(plain, handle);
    if ('wrong' in read) {
      closeHandle(handle);
      return this.#refuse(reader, read.wrong);
    }
    reader.silentPings = 0;
    this.#handle(reader, read.message, read.socket, starting);
  }

  #handle(reader: Reader, message: FromReader, socket: ListeningSocket | undefined, starting: Starting): void {
    const { id, end, send } = reader;
    switch (message.kind) {
      case 'loaded':
      case 'waiting':
        return;
      case 'socket':
        if (this.#held.has(message.name)) closeHandle(socket);
        else if (socket !== undefined) this.#held.set(message.name, socket);
        return;
      case 'ready': {
        const { kind: _kind, ...ports } = message;
        reader.isReady = true;
        this.#watch.noteReady();
        end.taken();
        if (this.#limits.isFull) send({ kind: 'full', isFull: true });
        return starting.resolve(ports);
      }
      case 'failed':
        starting.reject(errorOf(message.outcome) ?? new Error('without a reason'));
        return void reader.process.kill('SIGKILL');
      case 'reads':
        return void end.reads(message.calls);
      case 'write':
        return void end.write(message.id, message.call);
      case 'limits':
        // The messages of a reader that has ended can arrive after its end. Its connections must not count then.
        if (!this.#readers.has(id)) return;
        return send({ kind: 'limits', answers: this.#limits.take(id, message.report) });
      case 'taken':
        return end.taken();
      case 'report':
        this.#gauges.add(id, message.report);
        if (!this.#readers.has(id)) this.#gauges.forget(id);
        return send({ kind: 'reportTaken' });
      case 'pong':
        return this.#watch.notePong(reader, message);
    }
  }

  /**
   * Kills a reader that has sent a message which a correct reader does not send. An attacker possibly controls this
   * reader. The handler of `exit` starts a replacement.
   *
   * @param member path to the wrong member of the message
   */
  #refuse(reader: Reader, member: string): void {
    reader.isRefused = true;
    reader.process.kill('SIGKILL');
    const text = 'A process that answers HTTP sent a wrong message, and is replaced';
    this.#options.observer.log('warn', 'HTTP_READER_LOST', text, { pid: reader.process.pid, member });
  }

  /** Forgets a reader that has ended, and replaces it. */
  #lost(reader: Reader, how: string): void {
    const { clock, observer } = this.#options;
    this.#readers.delete(reader.id);
    this.#gauges.forget(reader.id);
    this.#limits.forget(reader.id);
    if (this.#isClosed || this.#ports === undefined) return;
    // The pool does not log that a drained reader has ended with exit code 0, because the replacement already runs.
    // `#refuse` has already logged why the pool killed a refused reader.
    if (!reader.isRefused && (!reader.isDraining || reader.process.exitCode !== 0)) {
      const { pid } = reader.process;
      observer.log('warn', 'HTTP_READER_LOST', 'A process that answers HTTP ended, and is replaced', { pid, how });
    }
    const [other] = [...this.#readers.values()].filter(({ isReady }) => isReady);
    other?.send({ kind: 'sweep' });
    if (reader.isReplaced) return;
    const isShort = clock.nowMs() - reader.beganMs < SHORT_LIFE_MS;
    this.#shortLives = isShort ? this.#shortLives + 1 : 0;
    if (!isShort) return this.#replace();
    this.#replaceLater(Math.min(REPLACED_AFTER_MS_MAX, REPLACED_AFTER_MS_MIN * 2 ** (this.#shortLives - 1)));
  }

  /** The first reader opens all sockets. If it is killed during its start, the next reader takes its place. */
  async #beginFirst(): Promise<Ports> {
    const { clock, observer, firstChild } = this.#options;
    for (let others = 0; ; others += 1) {
      try {
        return await this.#begin(others === 0 ? firstChild : undefined);
      } catch (error) {
        if (this.#isClosed || others + 1 >= FIRST_READERS_MAX || !wasKilled(error)) throw error;
        const text = 'A process that answers HTTP ended at its start, and is replaced';
        observer.log('warn', 'HTTP_READER_LOST', text, { why: messageOf(error) });
        this.#countRestart();
        const waitMs = REPLACED_AFTER_MS_MIN * 2 ** others;
        await new Promise<void>((resolve) => this.#timers.add(clock.after(waitMs, resolve)));
      }
    }
  }

  #replace(): void {
    if (this.#isClosed) return;
    this.#countRestart();
    this.#beginBeside();
  }

  #replaceLater(waitMs: number): void {
    const timer = this.#options.clock.after(waitMs, () => {
      this.#timers.delete(timer);
      this.#replace();
    });
    this.#timers.add(timer);
  }

  #countRestart(): void {
    this.#restarts += 1;
    this.#options.observer.count('http_reader_restarts_total');
  }

  #beginBeside(): void {
    // If the reader ends before it is ready, the handler of `exit` replaces it.
    this.#begin().catch(() => undefined);
  }
}
