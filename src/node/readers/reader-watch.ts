/**
 * Watches the readers of a pool (`reader-pool.ts`). Sends a ping to each reader, and lets the pool replace a reader that
 * hangs or uses too much memory. If a reader hangs, the watch first asks for a replacement, and kills the hanging reader
 * only later, because this reader can recover.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import type { LogFields, Observer } from '../../ports/observer.ts';
import type { FromReader } from './messages.ts';
import type { Reader } from './reader.ts';

const PING_MS = 250;
/**
 * If a reader sends no message after this number of pings in a row, the watch treats it as hanging, and starts another
 * reader. The watch counts pings instead of measuring time. If the node itself was slow, it also sent fewer pings, so
 * the count does not blame the reader.
 */
const SILENT_PINGS_MAX = 3;
/**
 * Number of pings in a row after which the watch kills a hanging reader that still sends no message. If the hanging
 * reader answers a ping before the watch kills it, this reader serves clients until enough other readers
 * (`ReaderWatchDependencies.processes`) are ready. Then the watch drains this reader.
 */
const HANGING_PINGS_MAX = 20;
/**
 * Time, in milliseconds, in which a replaced reader must exit after the message `drain`. `HttpServer.drain` takes less
 * time.
 */
const DRAIN_MS_MAX = 20_000;
/**
 * The watch kills a starting reader that sends no message for this number of ping intervals (20 s). A reader normally
 * starts in about one second. After each such kill in a row, the watch doubles this time for the next reader, because
 * the machine is possibly slow.
 */
const STARTING_PINGS_MAX = 80;
/**
 * If the memory of a reader (`ownMemoryBytes`) exceeds this maximum, the watch lets the pool start another reader,
 * and then drains the old reader. A reader normally needs less than 200 MB.
 */
const MEMORY_BYTES_MAX = 500_000_000;

export interface ReaderWatchDependencies {
  /** Number of readers that should run. */
  readonly processes: number;
  /** The readers that run now. */
  readonly readers: ReadonlyMap<number, Reader>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Starts another reader. */
  readonly replace: () => void;
  /** See `ReaderPoolOptions`. */
  readonly memoryBytesMax?: number | undefined;
  /** See `ReaderPoolOptions`. */
  readonly startingPingsMax?: number | undefined;
}

export class ReaderWatch {
  readonly #dependencies: ReaderWatchDependencies;
  readonly #memoryBytesMax: number;
  readonly #startingPingsMax: number;
  /** Number of readers in a row that were killed because they did not become ready. */
  #lateStarts = 0;
  #pinging: Timer | undefined;
  /** The timers that kill draining readers. */
  readonly #draining = new Set<Timer>();

  constructor(dependencies: ReaderWatchDependencies) {
    this.#dependencies = dependencies;
    this.#memoryBytesMax = dependencies.memoryBytesMax ?? MEMORY_BYTES_MAX;
    this.#startingPingsMax = dependencies.startingPingsMax ?? STARTING_PINGS_MAX;
  }

  start(): void {
    this.#pinging = this.#dependencies.clock.after(PING_MS, () => this.#ping());
  }

  stop(): void {
    this.#pinging?.cancel();
    for (const timer of this.#draining) timer.cancel();
  }

  /** Call after a reader has become ready. */
  noteReady(): void {
    this.#lateStarts = 0;
  }

  /** Call with the answer of a reader to a ping. */
  notePong(reader: Reader, { memoryBytes, requests }: Extract<FromReader, { kind: 'pong' }>): void {
    const { observer } = this.#dependencies;
    observer.count('http_reader_requests_total', requests - reader.requests, { reader: String(reader.number) });
    reader.memoryBytes = memoryBytes;
    reader.requests = requests;
    const memoryBytesMax = this.#memoryBytesMax;
    if (memoryBytes <= memoryBytesMax || !this.#isReplaceable(reader)) return;
    const text = 'A process that answers HTTP uses too much memory, and is replaced';
    this.#replaceLiving(reader, 'HTTP_READER_MEMORY', text, { memoryBytes, memoryBytesMax });
  }

  #ping(): void {
    const { readers, processes, clock } = this.#dependencies;
    for (const reader of readers.values()) {
      const { silentPings } = reader;
      reader.silentPings += 1;
      if (!reader.isReady) {
        if (silentPings >= this.#startingPingsMax * 2 ** this.#lateStarts) this.#endStarting(reader);
        continue;
      }
      if (silentPings >= HANGING_PINGS_MAX) {
        reader.process.kill('SIGKILL');
        continue;
      }
      if (silentPings >= SILENT_PINGS_MAX && this.#isReplaceable(reader)) {
        const text = 'A process that answers HTTP does not react, and is replaced';
        this.#replaceLiving(reader, 'HTTP_READER_HANGS', text);
      }
      // A replaced reader that answers pings serves clients until `processes` other readers are ready.
      if (silentPings === 0 && reader.isReplaced && this.#answering() >= processes) this.#drain(reader);
      reader.send({ kind: 'ping' });
    }
    this.#pinging = clock.after(PING_MS, () => this.#ping());
  }

  #answering(): number {
    return [...this.#dependencies.readers.values()].filter(({ isReady, isReplaced }) => isReady && !isReplaced).length;
  }

  /**
   * True if three conditions hold: the reader is ready, it was not replaced yet, and fewer than twice the wanted number
   * of readers run.
   */
  #isReplaceable({ isReady, isReplaced }: Reader): boolean {
    const { readers, processes } = this.#dependencies;
    return isReady && !isReplaced && readers.size < 2 * processes;
  }

  /** Starts a replacement while the old reader still runs. `#ping` drains or kills the old reader later. */
  #replaceLiving(reader: Reader, code: string, message: string, fields: LogFields = {}): void {
    reader.isReplaced = true;
    this.#dependencies.observer.log('warn', code, message, { pid: reader.process.pid, ...fields });
    this.#dependencies.replace();
  }

  /**
   * Kills a reader that does not become ready. A draining reader is not ready either, but has its own time limit
   * (`DRAIN_MS_MAX`).
   */
  #endStarting(reader: Reader): void {
    if (reader.isDraining) return;
    this.#lateStarts += 1;
    const text = 'A process that answers HTTP does not become ready, and is replaced';
    this.#dependencies.observer.log('warn', 'HTTP_READER_HANGS', text, { pid: reader.process.pid });
    reader.process.kill('SIGKILL');
  }

  /** Sends `drain` to a replaced reader. Kills the reader if it has not ended after `DRAIN_MS_MAX`. */
  #drain(reader: Reader): void {
    if (!reader.process.connected) return;
    reader.isReady = false;
    reader.isDraining = true;
    reader.send({ kind: 'drain' });
    const timer = this.#dependencies.clock.after(DRAIN_MS_MAX, () => reader.process.kill('SIGKILL'));
    this.#draining.add(timer);
    reader.process.on('exit', () => {
      timer.cancel();
      this.#draining.delete(timer);
    });
  }
}
