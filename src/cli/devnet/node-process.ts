/** Runs one node of a devnet as a separate process. */

import { fork, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programBeside } from '../../workers/job-threads.ts';
import { ProcessLink, type LinkOptions } from './agent-link.ts';
import { agentArguments, startArguments, type PlannedNode } from './plan.ts';

const AGENT_PROGRAM = fileURLToPath(programBeside(import.meta.url, 'agent-program'));

/** The way in which a process ended. */
export interface ProcessEnd {
  /** Short text of the reason. */
  readonly reason: string;
  /** Null when a signal ended the process, or when the process could not be started. */
  readonly exitCode: number | null;
}

export interface NodeProcess {
  readonly node: PlannedNode;
  readonly pid: number | undefined;
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessEnd>;
  isRunning(): boolean;
  /**
   * Asks the process to stop. If the process is paused, this method also ends the pause, so that the process can stop.
   */
  stop(): void;
  /** Kills the process. */
  kill(): void;
  /**
   * If `isPaused` is true, pauses the process. If `isPaused` is false, lets the process continue. A paused process
   * neither answers nor forges.
   */
  pause(isPaused: boolean): void;
  /** Connection to the agent (`node-agent.ts`) of the process; absent if the process runs no agent. */
  readonly link?: ProcessLink;
}

/** The program that the process runs, and its arguments. */
interface NodeProgram {
  readonly entry: string;
  readonly args: readonly string[];
}

/**
 * Starts a planned node with `bloomery start`. The node does not execute requests of a supervisor. The node's output
 * goes to its log file. The node stops when the process that called this function ends.
 *
 * @param entry the executable that runs `bloomery` commands
 */
export function startNodeProcess(node: PlannedNode, networkDirectory: string, entry: string): NodeProcess {
  return forkNode(node, { entry, args: startArguments(node, networkDirectory) }).process;
}

/**
 * Starts a planned node in a process that also runs an agent (`agent-program.ts`). The agent executes the requests that
 * the supervisor sends over `NodeProcess.link`.
 */
export function startAgentProcess(node: PlannedNode, networkDirectory: string, link: LinkOptions): NodeProcess {
  const args = agentArguments(node, networkDirectory);
  const { process, child } = forkNode(node, { entry: AGENT_PROGRAM, args });
  return { ...process, link: new ProcessLink(child, link) };
}

function forkNode(
  node: PlannedNode,
  { entry, args }: NodeProgram,
): { readonly process: NodeProcess; readonly child: ChildProcess } {
  const log = openSync(node.logFile, 'a', 0o600);
  // `reasonOf` reads the log only from this position on, because earlier lines come from earlier processes of the node.
  const logStart = fstatSync(log).size;
  let child: ChildProcess;
  try {
    child = fork(entry, args, {
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...withoutOptions(process.env), BLOOMERY_SUPERVISED: '1' },
    });
  } finally {
    closeSync(log);
  }
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('error', (error) => resolve({ reason: error.message, exitCode: null }));
    child.once('exit', (exitCode, signal) => {
      resolve({ reason: reasonOf(node.logFile, logStart, exitCode, signal), exitCode });
    });
  });
  const signal = (name: NodeJS.Signals): void => void child.kill(name);
  const running: NodeProcess = {
    node,
    pid: child.pid,
    ended,
    isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    stop: () => {
      signal('SIGTERM');
      // A paused process handles SIGTERM only after it continues.
      signal('SIGCONT');
    },
    kill: () => signal('SIGKILL'),
    pause: (isPaused) => signal(isPaused ? 'SIGSTOP' : 'SIGCONT'),
  };
  return { process: running, child };
}

/**
 * Returns an environment without most of the `BLOOMERY_*` variables, because these variables would override the plan of
 * each node.
 */
function withoutOptions(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(
    ([name]) =>
      !name.startsWith('BLOOMERY_') ||
      // Keeps `BLOOMERY_DEBUG` and the variables of the log options (`BLOOMERY_LOG_*`). Removes `BLOOMERY_LOG_FILE`,
      // because each node has its own log file.
      (name.startsWith('BLOOMERY_LOG_') && name !== 'BLOOMERY_LOG_FILE') ||
      name === 'BLOOMERY_DEBUG',
  );
  return Object.fromEntries(kept);
}

/**
 * Maximum number of bytes that `endOf` reads. `reasonOf` needs the last 20 lines of a log. These lines usually have far
 * fewer bytes.
 */
const LOG_END_BYTES = 64 * 1024;

/**
 * Searches the part of the log after the position `logStart`. The function looks in the last 20 lines of this part for
 * lines that begin with `bloomery: `. Returns the last such line, without this prefix. If there is no such line,
 * returns a text with the exit code or the signal.
 */
function reasonOf(logFile: string, logStart: number, exitCode: number | null, signal: NodeJS.Signals | null): string {
  const lastWord = endOf(logFile, logStart)
    .trimEnd()
    .split('\n')
    .slice(-20)
    .findLast((line) => line.startsWith('bloomery: '));
  if (lastWord !== undefined) return lastWord.slice('bloomery: '.length);
  return signal === null ? `ended with exit code ${exitCode}` : `ended by ${signal}`;
}

/**
 * Returns the last `LOG_END_BYTES` bytes of a file, without the bytes before `start`. The result is empty when the file
 * cannot be opened.
 */
function endOf(file: string, start: number): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(descriptor);
    const from = Math.max(start, size - LOG_END_BYTES);
    const bytes = Buffer.alloc(Math.max(0, size - from));
    return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, from));
  } finally {
    closeSync(descriptor);
  }
}
