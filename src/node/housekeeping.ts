/**
 * Runs scheduled jobs: saving the peer book, lifting expired bans of peers, and dropping transactions that have waited
 * in the transaction pool too long. Forging has its own timers (`engine/forge/`).
 */

import { schedule, type ScheduledTask } from 'node-cron';
import { messageOf } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';

export interface HousekeepingJobs {
  /** Saves the peer book. */
  savePeerBook(): void;
  /** Lifts bans that have expired. */
  expireBans(): void;
  /** Drops transactions that have waited in the transaction pool too long. */
  expirePool(): void;
}

export interface Housekeeping {
  stop(): Promise<void>;
}

/**
 * For each job, a cron pattern with the times at which the job runs. A pattern has six fields, and the first field
 * contains the seconds (0 to 59).
 */
type HousekeepingTimes = Readonly<Record<keyof HousekeepingJobs, string>>;

const TIMES: HousekeepingTimes = {
  savePeerBook: '15 */10 * * * *',
  expireBans: '45 * * * * *',
  expirePool: '0,30 * * * * *',
};

/**
 * Milliseconds from the call of `startHousekeeping` to the beginning of the schedule. Without this delay, computing the
 * times of the jobs would take a twentieth of the processor time of the node's start, and would delay more urgent work.
 */
const BEGINS_AFTER_MS = 5_000;

export interface HousekeepingOptions {
  readonly times?: HousekeepingTimes;
  readonly beginsAfterMs?: number;
}

/**
 * Runs the jobs at their times. The schedule begins `beginsAfterMs` after the call. If a job throws an error, the
 * function logs the error, and the job runs again at its next time.
 */
export function startHousekeeping(
  jobs: HousekeepingJobs,
  observer: Observer,
  { times = TIMES, beginsAfterMs = BEGINS_AFTER_MS }: HousekeepingOptions = {},
): Housekeeping {
  const log = observer.module('housekeeping');
  const start = (name: keyof HousekeepingJobs): ScheduledTask =>
    schedule(
      times[name],
      () => {
        try {
          jobs[name]();
        } catch (error) {
          log.log('error', 'HOUSEKEEPING_FAILED', 'job failed', { job: name, reason: messageOf(error) });
        }
      },
      { name, timezone: 'UTC', noOverlap: true, suppressMissedWarning: true, unref: true },
    );
  let tasks: readonly ScheduledTask[] = [];
  const timer = setTimeout(() => {
    tasks = [start('savePeerBook'), start('expireBans'), start('expirePool')];
  }, beginsAfterMs).unref();
  return {
    async stop() {
      clearTimeout(timer);
      for (const task of tasks) await task.destroy();
    },
  };
}
