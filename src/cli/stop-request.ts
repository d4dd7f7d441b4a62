/** When a long-running command is to end. */

import { removeDrafts } from '../node/drafts.ts';
import { note } from './output.ts';
import { EXIT, type ExitCode } from './problems.ts';

const PARENT_CHECK_MS = 500;

/** By these people and systems say that a process is to end: SIGHUP when its terminal is gone. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const satisfies readonly NodeJS.Signals[];

/**
 * These end a process too unless it listens for them, and no one means a node when they send them. SIGALRM is left as it is: the
 * watchdog ends a process with it whose main thread cannot listen any more.
 */
const OTHER_ENDING_SIGNALS = [
  'SIGUSR2',
  'SIGVTALRM',
  'SIGXCPU',
  'SIGIO',
  'SIGPWR',
  'SIGSTKFLT',
] as const satisfies readonly NodeJS.Signals[];

export interface StopRequest {
  /** A signal, or what else ended the command. */
  readonly by: string;
  /** Exit code of an orderly end: a supervisor starts again what nobody asked to end. */
  readonly exitCode: ExitCode;
}

/**
 * Resolves at the first signal that would end the process, or when the supervisor that started this process is gone. A second
 * one ends the process at once. Under a supervisor SIGINT, SIGQUIT and SIGHUP are ignored: a terminal sends them to all
 * processes, and the supervisor decides.
 *
 * @param onSecond called before the process is ended at once
 */
export function stopRequest(onSecond: (signal: string) => void): Promise<StopRequest> {
  const supervised = process.send !== undefined || process.env['BLOOMERY_SUPERVISED'] === '1';
  return new Promise((resolve) => {
    let requested = false;
    const request = (by: string, exitCode: ExitCode): void => {
      requested = true;
      resolve({ by, exitCode });
    };
    const listen = (signal: NodeJS.Signals, exitCode: ExitCode): void => {
      const isOfTerminal = signal !== 'SIGTERM' && exitCode === EXIT.ok;
      try {
        process.on(signal, () => {
          if (supervised && isOfTerminal) return;
          if (!requested) {
            request(signal, exitCode);
            return;
          }
          onSecond(signal);
          note(`bloomery: ended at once by a second signal, ${signal}`);
          process.exit(EXIT.failed);
        });
      } catch {
        // The system knows no such signal.
      }
    };
    for (const signal of STOP_SIGNALS) listen(signal, EXIT.ok);
    for (const signal of OTHER_ENDING_SIGNALS) listen(signal, EXIT.failed);
    if (!supervised) return;
    const onGone = (): void => request('the end of its supervisor', EXIT.ok);
    if (process.send === undefined) watchParent(onGone);
    else if (!process.connected) onGone();
    else process.once('disconnect', onGone);
  });
}

/** For a command that leaves nothing of what it began: at a signal it removes that, says so and ends. */
export function removeDraftsAtStop(): void {
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => {
      const what = removeDrafts() > 0 ? 'what it had written so far is removed' : 'it had written nothing';
      note(`bloomery: stopped by ${signal}; ${what}`);
      process.exit(EXIT.failed);
    });
  }
}

/** Without a channel to the supervisor its death shows by a new parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
}
