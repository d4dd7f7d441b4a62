/**
 * Starts child processes, such as nodes and the database server, and writes their output to log files. When this
 * process exits, it kills the child processes that still run.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

export interface StartRequest {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** User as which the child process runs. The default is the user of this process. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Signal that asks the child process to stop. */
  readonly stopSignal: NodeJS.Signals;
  /**
   * Whether to open an IPC channel to the child process. The child process notices the end of this process because the
   * channel closes.
   */
  readonly channel?: boolean;
}

export interface RunningProcess {
  readonly pid: number;
  /**
   * Resolves when the process has ended, with text that contains its exit code or the signal that ended it. If the
   * process cannot start, resolves with the message of the error.
   */
  readonly ended: Promise<string>;
  isRunning(): boolean;
  /** Asks the process to stop, and kills it if it still runs after 15 seconds. */
  stop(): Promise<string>;
  kill(): Promise<string>;
}

interface Entry {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
  readonly stopSignal: NodeJS.Signals;
}

/** If a process still runs this long after its stop signal, it is killed. */
const STOP_MS_MAX = 15_000;

export class Processes {
  readonly #running = new Set<Entry>();

  constructor() {
    // A handler of the event `exit` cannot wait for a promise, so it cannot wait until the processes stop by
    // themselves. It kills them instead.
    process.on('exit', () => {
      for (const { child } of this.#running) child.kill('SIGKILL');
    });
  }

  start(request: StartRequest): RunningProcess {
    const log = openSync(request.logFile, 'a');
    const child = spawn(request.command, request.args, {
      stdio: request.channel === true ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...request.env },
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
      ...request.user,
    });
    closeSync(log);
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    const entry = { child, ended, stopSignal: request.stopSignal };
    this.#running.add(entry);
    void ended.then(() => this.#running.delete(entry));
    return {
      pid: child.pid ?? -1,
      ended,
      isRunning: () => this.#running.has(entry),
      stop: () => stop(entry),
      kill: () => {
        child.kill('SIGKILL');
        return ended;
      },
    };
  }

  /**
   * Stops all running processes, one after another, in reverse order of their start. A process may need another process
   * that started before it; for example, a node needs its database server.
   */
  async endAll(): Promise<void> {
    for (const entry of [...this.#running].reverse()) await stop(entry);
  }
}

async function stop({ child, ended, stopSignal }: Entry): Promise<string> {
  child.kill(stopSignal);
  const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  const how = await ended;
  clearTimeout(deadline);
  return how;
}
