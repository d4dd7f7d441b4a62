/** What every program of a thread does: takes jobs, posts back their answers. */

import { parentPort } from 'node:worker_threads';
import type { JobMessage } from './job-thread.ts';

/** @param work its result lies in memory of its own */
export function serveJobs(work: (bytes: Uint8Array) => Uint8Array<ArrayBuffer>): void {
  parentPort?.on('message', (job: JobMessage) => {
    const answer: JobMessage = { id: job.id, bytes: work(job.bytes) };
    parentPort?.postMessage(answer, [answer.bytes.buffer as ArrayBuffer]);
  });
}
