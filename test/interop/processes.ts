/** Every process of a run: started here, written to log files, and gone when the run ends, however it ends. */

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

export interface StartRequest {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** User to run as, where this process may choose. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** What asks it to stop. */
  readonly stopSignal: NodeJS.Signals;
  /** A channel by which the child learns of this process's death. */
  readonly channel?: boolean;
}

export interface RunningProcess {
  readonly pid: number;
  /** Resolves when the process is gone, with how it ended. */
  readonly ended: Promise<string>;
  isRunning(): boolean;
  /** Asks it to stop, and ends it when it does not. */
  stop(): Promise<string>;
  kill(): Promise<string>;
}

interface Entry {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
  readonly stopSignal: NodeJS.Signals;
}

/** Time that a process has to stop when asked. */
const STOP_MS_MAX = 15_000;

export class Processes {
  readonly #running = new Set<Entry>();

  constructor() {
    // The last word, where no promise is awaited any more.
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

  /** Ends all that still run, those that were started first last: others may need them. */
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
