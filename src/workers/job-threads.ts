/**
 * Runs jobs on several worker threads, which all execute the same script. The threads start when the caller sends the
 * first job.
 */

import { SILENT, type Observer } from '../ports/observer.ts';
import { assert } from '../primitives/errors.ts';
import { JobThread } from './job-thread.ts';

export interface JobThreadsOptions {
  /** Number of worker threads. With 0, `ask` accepts no job. */
  readonly threads: number;
  readonly program: URL;
  /** Data that the worker script receives at its start. */
  readonly workerData: unknown;
  /**
   * A thread accepts a job only while the total weight of its unanswered jobs is below `waitingMax`. The caller of
   * `ask` chooses the weight of each job. If no thread accepts a job, the caller must do the work.
   */
  readonly waitingMax: number;
  /**
   * Receives a log line when a thread ends unexpectedly. `JobThreads` writes such a line only once, even if several
   * threads end unexpectedly.
   */
  readonly observer?: Observer;
}

export class JobThreads {
  readonly #options: JobThreadsOptions;
  #threads: JobThread[] | undefined;
  #isLossLogged = false;
  #isClosed = false;

  constructor(options: JobThreadsOptions) {
    assert(Number.isSafeInteger(options.threads) && options.threads >= 0, 'a pool has a whole number of threads');
    this.#options = options;
  }

  /** True after `close`, or if the option `threads` is 0. In both cases, `ask` accepts no job. */
  get isClosed(): boolean {
    return this.#isClosed || this.#options.threads === 0;
  }

  /**
   * Sends a job to the thread whose unanswered jobs have the lowest total weight, and returns the answer. Returns
   * undefined if no thread accepts the job, or if the thread ends before it has answered the job.
   *
   * @param bytes the job; the bytes must have their own buffer, because the buffer is transferred to the thread
   * @param weight size of the job in the unit of `waitingMax`
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

  /** Waits until the threads have answered all jobs, and then ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all((this.#threads ?? []).map((thread) => thread.close()));
    this.#threads = [];
  }

  #start(): JobThread {
    const { program, workerData, observer = SILENT } = this.#options;
    return new JobThread(program, workerData, (lost, reason) => {
      this.#threads = this.#threads?.filter((other) => other !== lost);
      if (this.#isLossLogged || this.#isClosed) return;
      this.#isLossLogged = true;
      observer.log('warn', 'VERIFY_THREAD_LOST', 'signature checks continue without a lost thread', { reason });
    });
  }
}

/**
 * Returns the URL of a worker script in the folder of the calling file. The script has the extension of the calling
 * file, for example `.js` in the compiled program.
 */
export function programBeside(fileUrl: string, name: string): URL {
  return new URL(fileUrl.replace(/[^/]+(\.[a-z]+)$/, `${name}$1`));
}
