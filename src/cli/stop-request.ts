/**
 * Reports when a node or a sink command must end (`stopRequest`). For a command that writes temporary files, removes
 * these files at a signal (`removeTemporaryFilesAtStop`).
 */

import { removeTemporaryPaths } from '../node/temporary-paths.ts';
import { printStderr } from './output.ts';
import { EXIT, type ExitCode } from './error-lines.ts';

const PARENT_CHECK_MS = 500;

/**
 * Signals with which users and systems ask a process to end. The system sends SIGHUP when the terminal of the process
 * closes.
 */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const satisfies readonly NodeJS.Signals[];

/**
 * Other signals that end a process by default. These signals are not requests to stop a node. If one of these signals
 * arrives, the node closes its store and ends with the exit code of a failure. A service manager such as systemd then
 * restarts the node. SIGALRM is not in this list, because the watchdog uses SIGALRM to end a process whose main thread
 * is blocked.
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
  /** The cause of the stop: the name of a signal, or the text `the end of its supervisor`. */
  readonly by: string;
  /**
   * Exit code with which the program ends if this stop is orderly: no error occurs, the stop ends in time, and no
   * second signal arrives. If a signal of `OTHER_ENDING_SIGNALS` caused the stop, the value is `EXIT.failed`, so that a
   * service manager such as systemd restarts the program. Otherwise, the value is `EXIT.ok`.
   */
  readonly exitCode: ExitCode;
}

/**
 * Resolves at the first signal of `STOP_SIGNALS` or `OTHER_ENDING_SIGNALS`, or when the supervisor that started the
 * process has ended. A later signal of these lists ends the process immediately. Under a supervisor (`supervised`), the
 * process ignores SIGINT, SIGQUIT and SIGHUP. A terminal sends these signals to the supervisor and to this process, but
 * the supervisor decides when this process ends.
 *
 * @param onSecond function that is called with the name of such a later signal, before this signal ends the process
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
          printStderr(`bloomery: ended at once by a second signal, ${signal}`);
          process.exit(EXIT.failed);
        });
      } catch {
        // `process.on` throws an error if the system refuses a listener for the signal. The process then runs without
        // this listener.
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

/**
 * Makes the process remove its temporary files and folders at a signal of `STOP_SIGNALS`. The process then reports
 * whether it had such files or folders, and ends with the exit code of a failure.
 */
export function removeTemporaryFilesAtStop(): void {
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => {
      const what = removeTemporaryPaths() > 0 ? 'its temporary files were removed' : 'it had written nothing';
      printStderr(`bloomery: stopped by ${signal}; ${what}`);
      process.exit(EXIT.failed);
    });
  }
}

/**
 * Calls `onGone` when the parent process has ended. This function is for a process that has no IPC channel to its
 * supervisor, and whose parent process is the supervisor. When the parent process ends, this process gets a new parent
 * process.
 */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
}
