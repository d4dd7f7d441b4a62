/**
 * Common code of the two programs that run a node: `bloomery start` and the program of a devnet node. The code covers
 * the log, the watchdog, uncaught errors, signals and an orderly end.
 */

import { resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import { startWatchdog } from '../node/watchdog/watchdog.ts';
import type { Observer } from '../ports/observer.ts';
import type { ProtocolError } from '../primitives/errors.ts';
import { createObserver } from '../telemetry/logger.ts';
import { MetricsRegistry } from '../telemetry/metrics.ts';
import { logOptionsOf, MEGABYTE } from './log-options.ts';
import { printStderr } from './output.ts';
import { EXIT, errorLineOf } from './error-lines.ts';
import { stopRequest, type StopRequest } from './stop-request.ts';

/**
 * Time limit of an orderly stop, in milliseconds. The data on the disk are consistent at any moment, so a forced end
 * after this time does no damage.
 */
const STOP_MS_MAX = 10_000;

export interface NodeProgram {
  readonly metrics: MetricsRegistry;
  readonly observer: Observer;
  /** Tells the watchdog that long synchronous work makes progress (`Watchdog.progress`). */
  readonly onProgress: () => void;
  /**
   * Waits for the start of the node. Before the node has started, the watchdog checks only the memory and the heap of
   * the process. After the node has started, the watchdog also ends the process if the main thread is blocked, or
   * spends most of its time on garbage collection.
   *
   * @returns undefined if a stop request came before the node had started; the node is then closed already. If the
   *   start and the closing take longer than `STOP_MS_MAX` after the request, the process ends with `EXIT.failed`
   * @throws the error of `starting`
   */
  whenStarted<Node extends { close(): Promise<void> }>(starting: Promise<Node>): Promise<Node | undefined>;
  /**
   * Waits until a stop is requested (by a signal or by the end of the supervisor's process, see `stopRequest`), or
   * until the store is damaged. The function then closes the node and sets the exit code of the process. If the node
   * does not close within `STOP_MS_MAX`, the process ends with `EXIT.failed`.
   *
   * @throws ProtocolError the damage that ended the node, after the node was closed
   */
  untilEnd(node: RunningInProgram): Promise<void>;
}

interface RunningInProgram {
  /** Resolves when the node cannot continue because its store is damaged. */
  readonly damaged: Promise<ProtocolError>;
  close(): Promise<void>;
  /** `untilEnd` calls this function once, before it closes the node. */
  stopping?(): void;
}

/**
 * Opens the log, and starts the watchdog. Until the node has started, the watchdog checks only the memory and the heap
 * of the process. From this call on, the program handles signals (`stopRequest`).
 */
export function beginNodeProgram(config: Config): NodeProgram {
  const metrics = new MetricsRegistry({ isOfProcess: true });
  const observer = createObserver({ metrics, ...logOptionsOf(config.log) });
  const stop = stopRequest((signal) => observer.log('warn', 'NODE_ENDED', 'the node is ended at once', { by: signal }));
  process.on('uncaughtException', (error) => {
    observer.log('error', 'NODE_FAILED', 'the node stops because of an internal error', { stack: error.stack });
    printStderr(errorLineOf(error).line);
    process.exit(EXIT.failed);
  });
  const watchdog = startWatchdog({
    limits: {
      memoryLimitBytes: config.memory.limitMb * MEGABYTE,
      blockedMsMax: config.watchdog.blockedMaxS * 1000,
    },
    exitCode: EXIT.unhealthy,
    log: { format: config.log.format, ...(config.log.file === '' ? {} : { file: resolve(config.log.file) }) },
    observer: observer.module('watchdog'),
  });
  const end = async ({ by, exitCode }: StopRequest, close: () => Promise<void>): Promise<void> => {
    observer.log('info', 'NODE_STOPPING', 'the node stops', { by });
    const deadline = setTimeout(() => {
      observer.log('error', 'NODE_STOP_LATE', 'the node did not stop in time and was ended', { by });
      printStderr('bloomery: the node did not stop in time and was ended');
      process.exit(EXIT.failed);
    }, STOP_MS_MAX);
    try {
      await close();
      process.exitCode = exitCode;
    } finally {
      clearTimeout(deadline);
      await watchdog.stop();
      observer.log('info', 'NODE_STOPPED', 'the node stopped', { by });
      observer.close();
    }
  };
  return {
    metrics,
    observer,
    onProgress: watchdog.progress,
    async whenStarted(starting) {
      const first = await Promise.race([starting.then((node) => ({ node })), stop.then((request) => ({ request }))]);
      if ('node' in first) {
        watchdog.arm();
        return first.node;
      }
      await end(first.request, async () => {
        const node = await starting;
        watchdog.arm();
        await node.close();
      });
      return undefined;
    },
    async untilEnd({ damaged, close, stopping }) {
      const damage = damaged.then((error) => ({ by: error.code, exitCode: EXIT.failed, error }));
      const ending = await Promise.race([stop, damage]);
      stopping?.();
      await end(ending, close);
      if ('error' in ending) throw ending.error;
    },
  };
}
