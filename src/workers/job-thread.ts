/**
 * Runs one worker thread, and tracks the jobs that the thread has not answered yet. Jobs and answers are byte arrays.
 */

import { Worker } from 'node:worker_threads';
import { messageOf } from '../primitives/errors.ts';

/** A job for a thread, or the answer to a job. */
export interface JobMessage {
  readonly id: number;
  readonly bytes: Uint8Array;
}

interface OpenJob {
  readonly weight: number;
  readonly settle: (answer: Uint8Array | undefined) => void;
}

/**
 * Limits the young generation of the thread's heap to 12 MB. Most memory of a job is garbage when the job ends, so a
 * larger young generation would only contain more garbage.
 */
const LIMITS = { maxYoungGenerationSizeMb: 12 };

export class JobThread {
  readonly #worker: Worker;
  readonly #jobs = new Map<number, OpenJob>();
  readonly #onLost: (thread: JobThread, reason: string) => void;
  #weightWaiting = 0;
  #nextId = 0;
  #alive = true;
  /** Callbacks that run when the thread has no unanswered job left. The method `close` adds these callbacks. */
  readonly #onIdle: (() => void)[] = [];

  /**
   * @param workerData data that the worker script receives at its start
   * @param onLost called once if the thread ends and `close` was not called
   */
  constructor(program: URL, workerData: unknown, onLost: (thread: JobThread, reason: string) => void) {
    this.#onLost = onLost;
    this.#worker = new Worker(program, { name: 'verify', workerData, resourceLimits: LIMITS });
    // After `unref`, an idle thread does not keep the process running. A thread with a job keeps the process running,
    // because `ask` calls `ref`.
    this.#worker.unref();
    this.#worker.on('message', ({ id, bytes }: JobMessage) => this.#settle(id, bytes));
    this.#worker.on('error', (error) => this.#lose(messageOf(error)));
    this.#worker.on('messageerror', (error) => this.#lose(messageOf(error)));
    this.#worker.on('exit', (code) => this.#lose(`exit code ${code}`));
  }

  /** Total weight (see `ask`) of the unanswered jobs of this thread. */
  get weightWaiting(): number {
    return this.#weightWaiting;
  }

  /**
   * Sends a job to the thread and returns the answer. Returns undefined if the thread has already ended, or if the
   * thread ends before it has answered the job.
   *
   * @param bytes the job; the bytes must have their own buffer, because the buffer is transferred to the thread
   * @param weight size of the job in a unit that the caller chooses, for example the number of signature checks in the
   *   job
   */
  ask(bytes: Uint8Array<ArrayBuffer>, weight: number): Promise<Uint8Array | undefined> {
    if (!this.#alive) return Promise.resolve(undefined);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve) => {
      this.#jobs.set(id, { weight, settle: resolve });
      this.#weightWaiting += weight;
      if (this.#jobs.size === 1) this.#worker.ref();
      const job: JobMessage = { id, bytes };
      this.#worker.postMessage(job, [bytes.buffer]);
    });
  }

  /** Waits until the thread has answered all jobs, and then ends the thread. */
  async close(): Promise<void> {
    if (this.#alive && this.#jobs.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle.push(resolve);
      });
    }
    this.#alive = false;
    await this.#worker.terminate();
  }

  #settle(id: number, answer: Uint8Array | undefined): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    this.#jobs.delete(id);
    this.#weightWaiting -= job.weight;
    job.settle(answer);
    if (this.#jobs.size > 0) return;
    this.#worker.unref();
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #lose(reason: string): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onLost(this, reason);
    for (const id of [...this.#jobs.keys()]) this.#settle(id, undefined);
    void this.#worker.terminate();
  }
}
