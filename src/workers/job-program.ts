/** What every program of a thread does: takes jobs, posts back their answers. */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { JobMessage } from './job-thread.ts';

/** Enough that the thread that asks gets nearly all of a core while these share what is left. */
const NICENESS = 10;

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
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS);
  } catch {
    // No such file, or no such right: the work is the same.
  }
}
