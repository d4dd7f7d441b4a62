/**
 * Starts the program of a reader, a process that answers HTTP beside the node. The program loads its modules, and then
 * waits for its settings.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { programBeside } from '../../workers/job-threads.ts';
import { isRecord } from './shapes.ts';

/**
 * Maximum heap of a reader in megabytes. A reader whose heap reaches this size ends immediately, and the reader pool
 * replaces it. The pool also measures the memory of each reader, and normally starts a replacement earlier.
 */
const HEAP_MB_MAX = 512;

export interface ReaderChild {
  readonly process: ChildProcess;
  /**
   * Calls the listener when the modules of the program are loaded. If they are already loaded, calls the listener
   * immediately.
   */
  whenLoaded(listener: () => void): void;
  hasEnded(): boolean;
}

/** @param program path of the program that the reader runs; default: `reader-program` of this package */
export function forkReader(program?: string): ReaderChild {
  const child = fork(program ?? fileURLToPath(programBeside(import.meta.url, 'reader-program')), [], {
    execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB_MAX}`],
    env: environmentOf(process.env),
    serialization: 'advanced',
  });
  let isLoaded = false;
  let notify: (() => void) | undefined;
  // The reader pool checks each message and kills a reader that sends a wrong message. Here only `loaded` matters.
  child.on('message', (plain: unknown) => {
    if (!isRecord(plain) || plain['kind'] !== 'loaded' || isLoaded) return;
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
 * Returns the environment variables for a reader: the variables of the node, except the `BLOOMERY_` variables and
 * `NOTIFY_SOCKET`. A reader does not need the left-out variables. A client that exploits a fault of the reader must not
 * get these variables. The `BLOOMERY_` variables are options of the node and can contain passwords. `NOTIFY_SOCKET` is
 * the address of the socket of systemd.
 */
function environmentOf(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForNode = (name: string): boolean => name.startsWith('BLOOMERY_') || name === 'NOTIFY_SOCKET';
  return Object.fromEntries(Object.entries(own).filter(([name]) => !isForNode(name)));
}
