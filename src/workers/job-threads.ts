/** Several threads of one program. The threads start when the first job comes. */

import { SILENT, type Observer } from '../ports/observer.ts';
import { assert } from '../primitives/errors.ts';
import { JobThread } from './job-thread.ts';

export interface JobThreadsOptions {
  /** Number of threads; 0 for none. */
  readonly threads: number;
  readonly program: URL;
  /** Data for the program when it starts. */
  readonly workerData: unknown;
  /**
   * Total weight of the jobs that may wait on one thread. At this weight, `ask` accepts no further job, so the callers
   * do the work themselves and slow down.
   */
  readonly waitingMax: number;
  /** Gets one message when a thread is lost. */
  readonly observer?: Observer;
}

export class JobThreads {
  readonly #options: JobThreadsOptions;
  #threads: JobThread[] | undefined;
  #isLossTold = false;
  #isClosed = false;

  constructor(options: JobThreadsOptions) {
    assert(Number.isSafeInteger(options.threads) && options.threads >= 0, 'a pool has a whole number of threads');
    this.#options = options;
  }

  /** True when the threads accept no more jobs, or when there are no threads. */
  get isClosed(): boolean {
    return this.#isClosed || this.#options.threads === 0;
  }

  /**
   * Hands a job to the thread with the shortest queue and returns its answer. Returns undefined when all threads are
   * full or gone, or when the thread is lost before it answers.
   *
   * @param bytes must have a buffer of their own, because that buffer is transferred to the thread
   */
  async ask(bytes: Uint8Array<ArrayBuffer>, weight: number): Promise<Uint8Array | undefined> {
    if (this.isClosed) return undefined;
    this.#threads ??= Array.from({ length: this.#options.threads }, () => this.#start());
    const free = this.#threads.filter((thread) => thread.weightWaiting < this.#options.waitingMax);
    const idlest = free.reduce<JobThread | undefined>(
      (best, thread) => (best === undefined || thread.weightWaiting < best.weightWaiting ? thread : best),
      undefined,
    );
    return idlest?.ask(bytes, weight);
  }

  /** Waits for the jobs in flight, then ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all((this.#threads ?? []).map((thread) => thread.close()));
    this.#threads = [];
  }

  #start(): JobThread {
    const { program, workerData, observer = SILENT } = this.#options;
    return new JobThread(program, workerData, (lost, reason) => {
      this.#threads = this.#threads?.filter((other) => other !== lost);
      if (this.#isLossTold || this.#isClosed) return;
      this.#isLossTold = true;
      observer.log('warn', 'VERIFY_THREAD_LOST', 'signature checks go on without a lost thread', { reason });
    });
  }
}

/** URL of a program in the folder of the calling file, with the same extension: `.js` when compiled. */
export function programBeside(fileUrl: string, name: string): URL {
  return new URL(fileUrl.replace(/[^/]+(\.[a-z]+)$/, `${name}$1`));
}
