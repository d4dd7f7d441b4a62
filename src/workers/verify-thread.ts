/** One worker thread and the jobs that it still owes an answer for. */

import { Worker } from 'node:worker_threads';
import type { Ed25519Backend } from '../crypto/ed25519.ts';
import { messageOf } from '../primitives/errors.ts';
import type { SignatureCheck } from '../protocol/types.ts';
import { packChecks, type VerifyAnswer, type VerifyJob } from './packed-checks.ts';

interface OpenJob {
  readonly checks: number;
  readonly settle: (answers: readonly boolean[] | undefined) => void;
}

export class VerifyThread {
  readonly #worker: Worker;
  readonly #jobs = new Map<number, OpenJob>();
  readonly #onLost: (thread: VerifyThread, reason: string) => void;
  #checksWaiting = 0;
  #nextId = 0;
  #alive = true;
  /** Called when the last open job is settled, once the thread is to end. */
  #onIdle: (() => void) | undefined;

  /** @param onLost called once when the thread ends before it is closed */
  constructor(program: URL, backend: Ed25519Backend, onLost: (thread: VerifyThread, reason: string) => void) {
    this.#onLost = onLost;
    this.#worker = new Worker(program, { name: 'verify', workerData: { backend } });
    // An idle thread must not keep the process from ending; a thread with a job must.
    this.#worker.unref();
    this.#worker.on('message', (answer: VerifyAnswer) => this.#take(answer));
    this.#worker.on('error', (error) => this.#lose(messageOf(error)));
    this.#worker.on('messageerror', (error) => this.#lose(messageOf(error)));
    this.#worker.on('exit', (code) => this.#lose(`exit code ${code}`));
  }

  /** Checks handed over and not answered yet. */
  get checksWaiting(): number {
    return this.#checksWaiting;
  }

  /** Answers in the order of the checks; undefined when the thread is lost before it answers. */
  ask(checks: readonly SignatureCheck[]): Promise<readonly boolean[] | undefined> {
    if (!this.#alive) return Promise.resolve(undefined);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve) => {
      this.#jobs.set(id, { checks: checks.length, settle: resolve });
      this.#checksWaiting += checks.length;
      if (this.#jobs.size === 1) this.#worker.ref();
      const job: VerifyJob = { id, packed: packChecks(checks) };
      this.#worker.postMessage(job, [job.packed.buffer as ArrayBuffer]);
    });
  }

  /** Waits for the jobs in flight, then ends the thread. */
  async close(): Promise<void> {
    if (this.#alive && this.#jobs.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    this.#alive = false;
    await this.#worker.terminate();
  }

  #take({ id, answers }: VerifyAnswer): void {
    this.#settle(
      id,
      Array.from(answers, (answer) => answer === 1),
    );
  }

  #settle(id: number, answers: readonly boolean[] | undefined): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    this.#jobs.delete(id);
    this.#checksWaiting -= job.checks;
    // An answer of another length answers other questions.
    job.settle(answers?.length === job.checks ? answers : undefined);
    if (this.#jobs.size > 0) return;
    this.#worker.unref();
    this.#onIdle?.();
  }

  #lose(reason: string): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onLost(this, reason);
    for (const id of [...this.#jobs.keys()]) this.#settle(id, undefined);
    void this.#worker.terminate();
  }
}
