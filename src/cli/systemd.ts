/**
 * Notifies systemd that the node runs, and repeats the message at intervals. systemd listens on a datagram socket. Node cannot
 * use datagram sockets, so the program `systemd-notify` sends the messages.
 */

import { execFile } from 'node:child_process';
import { messageOf } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';

const PROGRAM = 'systemd-notify';
/** Time limit for sending a message. */
const SEND_MS_MAX = 10_000;
/** Number of messages within the time after which systemd considers the node dead. Two messages may be lost or late. */
const MESSAGES_PER_TIMEOUT = 3;

export interface SystemdNotifier {
  /** Call it when the node runs. After this call, systemd gets regular messages as long as the event loop works. */
  ready(): void;
  /** Call it when the node begins to stop. */
  stopping(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Creates a notifier; it does nothing if systemd does not want messages. */
export function systemdNotifier(environment: Environment, observer: Observer, ownPid = process.pid): SystemdNotifier {
  if (environment['NOTIFY_SOCKET'] === undefined) return { ready: () => undefined, stopping: () => undefined };
  let isFailureLogged = false;
  const send = (message: string): void => {
    execFile(PROGRAM, [message], { timeout: SEND_MS_MAX, killSignal: 'SIGKILL' }, (error) => {
      if (error === null || isFailureLogged) return;
      isFailureLogged = true;
      observer.log('warn', 'SYSTEMD_UNREACHABLE', 'cannot notify systemd that the node runs', {
        message,
        reason: messageOf(error),
      });
    });
  };
  const intervalMs = watchdogIntervalMs(environment, ownPid);
  let timer: NodeJS.Timeout | undefined;
  return {
    ready() {
      send('READY=1');
      if (intervalMs !== undefined) timer = setInterval(() => send('WATCHDOG=1'), intervalMs).unref();
    },
    stopping() {
      clearInterval(timer);
      send('STOPPING=1');
    },
  };
}

/** Time between two messages to systemd; undefined if systemd expects none from this process. */
export function watchdogIntervalMs(environment: Environment, ownPid: number): number | undefined {
  const { WATCHDOG_USEC: timeoutUs, WATCHDOG_PID: pid } = environment;
  if (pid !== undefined && Number(pid) !== ownPid) return undefined;
  const timeoutMs = Number(timeoutUs ?? Number.NaN) / 1000;
  return Number.isFinite(timeoutMs) && timeoutMs > 0 ? Math.max(1, timeoutMs / MESSAGES_PER_TIMEOUT) : undefined;
}
