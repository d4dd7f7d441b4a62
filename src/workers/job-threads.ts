/** Some threads of one program, started when the first job comes. */

import { SILENT, type Observer } from '../ports/observer.ts';
import { assert } from '../primitives/errors.ts';
import { JobThread } from './job-thread.ts';

export interface JobThreadsOptions {
  /** How many; 0 for none. */
  readonly threads: number;
  readonly program: URL;
  /** What the program is told when it starts. */
  readonly workerData: unknown;
  /** Weight of the jobs that may wait on one thread. Beyond, none is taken: the caller's own work slows those who ask. */
  readonly waitingMax: number;
  /** Is told once when a thread is lost. */
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

  /** True when no job is taken any more, or none ever was. */
  get isClosed(): boolean {
    return this.#isClosed || this.#options.threads === 0;
  }

  /**
   * The answer of the thread with the shortest queue; undefined when all are full or gone, or it is lost before it answers.
   *
   * @param bytes lie in memory of their own, which goes to the thread
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

/** Address of a program beside the file that asks, with its extension: `.js` when compiled. */
export function programBeside(fileUrl: string, name: string): URL {
  return new URL(fileUrl.replace(/[^/]+(\.[a-z]+)$/, `${name}$1`));
}
