/**
 * Starts the processes of a run, and writes their output to log files. When this process exits, it kills the processes
 * that still run.
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
  /** User that runs the process, by default the user of this process. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Signal that asks the process to stop. */
  readonly stopSignal: NodeJS.Signals;
  /** Opens an IPC channel, through which the child notices the end of this process. */
  readonly channel?: boolean;
}

export interface RunningProcess {
  readonly pid: number;
  /** Resolves with the exit code or signal when the process has ended. */
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

/** Time within which a process must stop. */
const STOP_MS_MAX = 15_000;

export class Processes {
  readonly #running = new Set<Entry>();

  constructor() {
    // A handler of `exit` cannot wait for a promise, so kill all processes immediately.
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

  /** Ends all running processes in reverse order of their start, because later ones may need earlier ones. */
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
