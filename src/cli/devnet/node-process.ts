/** One node of a devnet as a process of its own. */

import { fork, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { startArguments, type PlannedNode } from './plan.ts';

export interface NodeProcess {
  readonly node: PlannedNode;
  readonly pid: number | undefined;
  /** Resolves when the process is gone, with the reason in a few words. */
  readonly ended: Promise<string>;
  isRunning(): boolean;
  /** Asks it to stop. */
  stop(): void;
  /** Ends it without asking. */
  kill(): void;
}

/**
 * Starts a planned node. Its output goes to its log file; it stops by itself when this process dies.
 *
 * @param entry the executable that runs `bloomery` commands
 */
export function startNodeProcess(node: PlannedNode, networkDirectory: string, entry: string): NodeProcess {
  const log = openSync(node.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = fork(entry, startArguments(node, networkDirectory), {
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...withoutOptions(process.env), BLOOMERY_SUPERVISED: '1' },
    });
  } finally {
    closeSync(log);
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(reasonOf(node, code, signal)));
  });
  return {
    node,
    pid: child.pid,
    ended,
    isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    stop: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Options in the environment are for single nodes: here they would overrule what the plan gives each of them. */
function withoutOptions(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(
    ([name]) =>
      !name.startsWith('BLOOMERY_') ||
      // The log of each node is a file of its own.
      (name.startsWith('BLOOMERY_LOG_') && name !== 'BLOOMERY_LOG_FILE') ||
      name === 'BLOOMERY_DEBUG',
  );
  return Object.fromEntries(kept);
}

/** The node's own last word if it left one. */
function reasonOf(node: PlannedNode, code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `ended by ${signal}`;
  const lines = existsSync(node.logFile) ? readFileSync(node.logFile, 'utf8').trimEnd().split('\n') : [];
  const lastWord = lines.slice(-20).findLast((line) => line.startsWith('bloomery: '));
  return lastWord === undefined ? `ended with exit code ${code}` : lastWord.slice('bloomery: '.length);
}
