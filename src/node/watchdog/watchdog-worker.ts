/**
 * Runs in the thread of the watchdog: takes samples of the state of the process, and ends the process when the samples
 * exceed a limit.
 */

import { close, open, write } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { workerData } from 'node:worker_threads';
import { messageOf } from '../../primitives/errors.ts';
import { humanLine, type LogRecord } from '../../telemetry/human-line.ts';
import { Health, SAMPLE_INTERVAL_MS, type EndCode } from './health.ts';
import { ownMemoryBytes } from './process-memory.ts';
import { processorTime } from './processor-time.ts';
import { Pulse } from './pulse.ts';
import type { WatchdogData } from './watchdog.ts';

/**
 * Signal that ends a process whose main thread does not react. The process has no handler for this signal, so the
 * kernel ends the process even if its threads are blocked. For this signal, the kernel writes no core dump.
 */
const SIGNAL = 'SIGALRM';
/**
 * Time limit in milliseconds for writing the last log line. The write can hang, for example if no program reads the
 * pipe of the log.
 */
const MESSAGE_MS_MAX = 500;
/**
 * Time in milliseconds that the main thread has for ending the process with `WatchdogOptions.exitCode`. After this
 * time, the thread of the watchdog sends `SIGNAL`. After twice this time, the thread sends SIGKILL.
 */
const EXIT_MS_MAX = 3000;
const STANDARD_ERROR = 2;

const { memory, limits, log } = workerData as WatchdogData;
const pulse = new Pulse(memory);
const health = new Health(limits);

const timer = setInterval(() => {
  const verdict = health.judge({
    ...pulse.read(),
    ...processorTime(),
    atMs: performance.now(),
    ownBytes: ownMemoryBytes(),
  });
  if (verdict.kind === 'collect') pulse.askToCollect();
  if (verdict.kind === 'end') end(verdict.code, verdict.reason);
}, SAMPLE_INTERVAL_MS);

function end(code: EndCode, reason: string): void {
  clearInterval(timer);
  const record: LogRecord = {
    time: new Date().toISOString(),
    level: 'error',
    module: 'watchdog',
    code,
    message: 'the node ends, so that a supervisor restarts it',
    data: { reason },
  };
  const line = log.format === 'human' ? humanLine(record, { colour: false }) : JSON.stringify(record);
  const message = `bloomery: the node ended itself: ${reason}\n`;
  let unwritten = log.file === undefined ? 1 : 2;
  const written = (): void => {
    unwritten -= 1;
    if (unwritten === 0) leave();
  };
  // The writes run in the thread pool of Node.js, so they cannot block this thread. Even if no program reads the pipe
  // of the log, or if a disk hangs, this thread can therefore end the process.
  if (log.file !== undefined) append(log.file, `${line}\n`, written);
  write(STANDARD_ERROR, log.file === undefined ? `${line}\n${message}` : message, written);
  setTimeout(leave, MESSAGE_MS_MAX);
}

function append(file: string, text: string, then: () => void): void {
  open(file, 'a', 0o600, (error, descriptor) => {
    if (error !== null) {
      then();
      return;
    }
    write(descriptor, text, () => close(descriptor, then));
  });
}

let isLeaving = false;

function leave(): void {
  if (isLeaving) return;
  isLeaving = true;
  pulse.askToEnd();
  setTimeout(() => {
    try {
      process.kill(process.pid, SIGNAL);
    } catch (error) {
      // Some systems, for example Windows, do not have the signal `SIGNAL`.
      write(STANDARD_ERROR, `bloomery: ${SIGNAL} cannot be sent: ${messageOf(error)}\n`, () => undefined);
    }
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), EXIT_MS_MAX);
  }, EXIT_MS_MAX);
}
