/** Starts the program of a reader. The program loads its modules, and then waits for its settings. */

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { programBeside } from '../../workers/job-threads.ts';
import type { FromReader } from './messages.ts';

/**
 * Maximum heap of a reader in megabytes. If the heap reaches this size before the reader pool has noticed that the
 * reader uses too much memory, the reader ends at once, and the reader pool replaces it.
 */
const HEAP_MB_MAX = 512;

export interface ReaderChild {
  readonly process: ChildProcess;
  /** Calls the listener when the program has loaded its modules, at once if it has loaded them already. */
  whenLoaded(listener: () => void): void;
  /** True if the process has ended. */
  hasEnded(): boolean;
}

/** @param program program of the reader; default: the program of the package */
export function forkReader(program?: string): ReaderChild {
  const child = fork(program ?? fileURLToPath(programBeside(import.meta.url, 'reader-program')), [], {
    execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB_MAX}`],
    env: environmentOf(process.env),
    serialization: 'advanced',
  });
  let isLoaded = false;
  let notify: (() => void) | undefined;
  child.on('message', ({ kind }: FromReader) => {
    if (kind !== 'loaded') return;
    isLoaded = true;
    notify?.();
  });
  child.on('error', () => undefined);
  return {
    process: child,
    whenLoaded: (listener) => {
      if (isLoaded) listener();
      else notify = listener;
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
  };
}

/**
 * The environment of a reader. A reader gets its settings from the node, and parses input of untrusted clients.
 * Therefore the reader gets neither the options of the node in `BLOOMERY_` variables, which may include passwords, nor
 * the address of the socket of systemd (`NOTIFY_SOCKET`).
 */
function environmentOf(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForNode = (name: string): boolean => name.startsWith('BLOOMERY_') || name === 'NOTIFY_SOCKET';
  return Object.fromEntries(Object.entries(own).filter(([name]) => !isForNode(name)));
}
