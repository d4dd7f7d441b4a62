/** Describes a reader (a process that answers HTTP beside the node) for the reader pool (`reader-pool.ts`). */

import type { ChildProcess } from 'node:child_process';
import type { ListeningSocket } from '../../http/listening-socket.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ReaderStatus } from '../../ports/node-api.ts';
import type { ToReader } from './messages.ts';
import type { NodeRpcServer } from './node-rpc-server.ts';

/**
 * Time in which a reader must end when the reader pool closes. After half a second, the reader closes the connections
 * of clients that still wait for an answer (`HttpServer.close`).
 */
const CLOSE_MS_MAX = 3_000;

export interface Reader {
  readonly process: ChildProcess;
  /** Id of the reader, which no later reader gets. In contrast, a later reader can get the same `number`. */
  readonly id: number;
  readonly end: NodeRpcServer;
  /** Sends a message, and a listening socket with a message of the kind `socket`. */
  readonly send: (message: ToReader, socket?: ListeningSocket) => void;
  readonly beganMs: number;
  /** Number of the reader (a process that answers HTTP beside the node), as in `ReaderStatus`. */
  readonly number: number;
  memoryBytes: number;
  requests: number;
  /**
   * Number of pings since the reader's last message. A reader that is not ready gets no pings. For such a reader, the
   * value is the number of ping intervals since its last message.
   */
  silentPings: number;
  isReady: boolean;
  /** True if another reader was started to replace this reader. */
  isReplaced: boolean;
  /** True after the pool has sent the message `drain` to the reader. */
  isDraining: boolean;
  /** True after the pool has killed the reader for a wrong message. The pool ignores all later messages. */
  isRefused: boolean;
}

export function statusOf({ number, beganMs, memoryBytes, requests, isReady, isReplaced }: Reader): ReaderStatus {
  const state = isReplaced ? ('silent' as const) : isReady ? ('up' as const) : ('starting' as const);
  return { reader: number, state, sinceMs: beganMs, memoryBytes, requests };
}

/**
 * Returns the lowest number that no reader uses. The numbers therefore stay small even after many replacements, so the
 * label `reader` of the metrics has few values.
 */
export function freeNumber(readers: readonly Reader[]): number {
  const taken = new Set(readers.map(({ number }) => number));
  for (let number = 1; ; number += 1) if (!taken.has(number)) return number;
}

/** Asks a reader to end, and waits for its end. Kills the reader if it has not ended after `CLOSE_MS_MAX`. */
export async function closeReader({ process: child, send }: Reader, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    const timer = clock.after(CLOSE_MS_MAX, () => child.kill('SIGKILL'));
    child.on('exit', () => {
      timer.cancel();
      resolve();
    });
    send({ kind: 'close' });
  });
}
