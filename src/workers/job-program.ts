/**
 * Receives jobs in a worker thread, and posts the answers to the main thread. The worker scripts that `JobThreads`
 * starts use this module.
 */

import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { JobMessage } from './job-thread.ts';

/**
 * Number that a worker thread adds to its nice value, so that the operating system gives the thread a lower priority.
 * If the main thread and a worker thread compete for a core, the main thread then gets about 90 % of the time of the
 * core.
 */
const STEPS_BACK = 10;

/**
 * Answers the jobs that the main thread sends to this worker thread. If `work` throws an error, the thread ends.
 *
 * @param work computes the answer to a job; the answer must have its own buffer, because this thread transfers the
 *   buffer to the main thread
 */
export function serveJobs(work: (bytes: Uint8Array) => Uint8Array<ArrayBuffer>): void {
  stepBack();
  parentPort?.on('message', (job: JobMessage) => {
    const answer: JobMessage = { id: job.id, bytes: work(job.bytes) };
    parentPort?.postMessage(answer, [answer.bytes.buffer as ArrayBuffer]);
  });
}

/**
 * Lowers the priority of this thread. The main thread forges, answers peers and applies blocks, so the main thread
 * should run first if there are fewer cores than threads. `setPriority` can change the priority of a single thread on
 * Linux only. On other systems, all threads keep the same priority.
 */
function stepBack(): void {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    // The new priority is computed from the current priority of the thread, because the whole process can already have
    // a low priority.
    setPriority(thread, Math.min(getPriority(thread) + STEPS_BACK, constants.priority.PRIORITY_LOW));
  } catch {
    // Without `/proc` (not Linux), or without the right to change the priority, the thread keeps its old priority.
  }
}
