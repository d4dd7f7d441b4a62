/**
 * Shared memory between the main thread and the watchdog's thread. At each beat of a timer, the main thread writes its
 * state to this memory. The watchdog writes its requests to the same memory: a request for a garbage collection, or for
 * the end of the process.
 */

/** Indexes in the array of integers (`Pulse.#integers`), which is the first part of the shared memory. */
const BEATS = 0;
const IS_ARMED = 1;
const IS_DEBUGGED = 2;
const COLLECTIONS_WANTED = 3;
const END_WANTED = 4;
/**
 * Number of integers in the shared memory. After the integers, the memory contains fractional numbers, which must begin
 * at a multiple of 8 bytes. An integer has 4 bytes, so the number of integers is even.
 */
const INTEGERS = 6;
/** Indexes in the array of fractional numbers (`Pulse.#fractions`), which is the second part of the shared memory. */
const HEAP_USED = 0;
const HEAP_LIMIT = 1;
const GC_MS = 2;
const FRACTIONS = 3;

/**
 * State that the main thread has written to the shared memory. The main thread sets `isArmed` when the node has
 * started, and writes all other members at each beat.
 */
export interface PulseReading {
  /** Number of beats since the watchdog started. */
  readonly beats: number;
  /**
   * False while the node starts: the watchdog then checks only the memory and the heap. True afterwards: the watchdog
   * also checks whether the main thread is blocked, or spends most of its time on garbage collection.
   */
  readonly isArmed: boolean;
  /** True when the inspector of Node.js is active. A debugger can then stop the main thread. */
  readonly isDebugged: boolean;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
  /** Time spent in garbage collection since the watchdog started, in milliseconds. */
  readonly gcMs: number;
}

export class Pulse {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  readonly #fractions: Float64Array;

  constructor(memory = new SharedArrayBuffer(INTEGERS * 4 + FRACTIONS * 8)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory, 0, INTEGERS);
    this.#fractions = new Float64Array(memory, INTEGERS * 4, FRACTIONS);
  }

  beat(state: Omit<PulseReading, 'beats' | 'isArmed'>): void {
    this.#fractions[HEAP_USED] = state.heapUsedBytes;
    this.#fractions[HEAP_LIMIT] = state.heapLimitBytes;
    this.#fractions[GC_MS] = state.gcMs;
    Atomics.store(this.#integers, IS_DEBUGGED, state.isDebugged ? 1 : 0);
    Atomics.add(this.#integers, BEATS, 1);
  }

  arm(): void {
    Atomics.store(this.#integers, IS_ARMED, 1);
  }

  read(): PulseReading {
    return {
      beats: Atomics.load(this.#integers, BEATS),
      isArmed: Atomics.load(this.#integers, IS_ARMED) === 1,
      isDebugged: Atomics.load(this.#integers, IS_DEBUGGED) === 1,
      heapUsedBytes: this.#fractions[HEAP_USED] ?? 0,
      heapLimitBytes: this.#fractions[HEAP_LIMIT] ?? 0,
      gcMs: this.#fractions[GC_MS] ?? 0,
    };
  }

  askToCollect(): void {
    Atomics.add(this.#integers, COLLECTIONS_WANTED, 1);
  }

  /** Number of garbage collections that the watchdog has requested. */
  get collectionsWanted(): number {
    return Atomics.load(this.#integers, COLLECTIONS_WANTED);
  }

  askToEnd(): void {
    Atomics.store(this.#integers, END_WANTED, 1);
  }

  get isEndWanted(): boolean {
    return Atomics.load(this.#integers, END_WANTED) === 1;
  }
}
