/** What every program of a thread does: takes jobs, posts back their answers. */

import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { JobMessage } from './job-thread.ts';

/** Enough that the thread that asks gets nearly all of a core while these share what is left. */
const STEPS_BACK = 10;

/** @param work its result lies in memory of its own */
export function serveJobs(work: (bytes: Uint8Array) => Uint8Array<ArrayBuffer>): void {
  stepBack();
  parentPort?.on('message', (job: JobMessage) => {
    const answer: JobMessage = { id: job.id, bytes: work(job.bytes) };
    parentPort?.postMessage(answer, [answer.bytes.buffer as ArrayBuffer]);
  });
}

/**
 * Where there are fewer cores than threads, the thread that asks goes first: it forges, answers peers and applies the blocks
 * that are read here. Only Linux knows the priority of a thread; elsewhere all share alike.
 */
function stepBack(): void {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    // From where the one that asks stands: the whole process may have been put back already.
    setPriority(thread, Math.min(getPriority(thread) + STEPS_BACK, constants.priority.PRIORITY_LOW));
  } catch {
    // No such file, or no such right: the work is the same.
  }
}
