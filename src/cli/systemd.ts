/**
 * Notifies systemd that the node runs, and then sends keep-alive messages. systemd listens on a Unix datagram socket.
 * Node.js cannot use such sockets, so the program `systemd-notify` sends the messages.
 */

import { execFile } from 'node:child_process';
import { messageOf } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';

const PROGRAM = 'systemd-notify';
/** Time limit for sending a message, in milliseconds. */
const SEND_MS_MAX = 10_000;
/**
 * Number of messages within the time limit of systemd (`WATCHDOG_USEC`). With this number, systemd does not end the
 * node if one message is lost and the next message is late.
 */
const MESSAGES_PER_TIMEOUT = 3;

export interface SystemdNotifier {
  /**
   * The caller must call this method once, after the node has started. If the systemd service has a watchdog
   * (`WatchdogSec`), the notifier sends keep-alive messages from this call on, as long as the event loop runs.
   */
  ready(): void;
  /** The caller must call this method when the node begins to stop. */
  stopping(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Creates a notifier. Without `NOTIFY_SOCKET` in the environment, the notifier does nothing, because systemd then
 * expects no messages.
 */
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

/**
 * Time between two keep-alive messages, in milliseconds; undefined if systemd expects no such messages from this
 * process.
 */
export function watchdogIntervalMs(environment: Environment, ownPid: number): number | undefined {
  const { WATCHDOG_USEC: timeoutUs, WATCHDOG_PID: pid } = environment;
  if (pid !== undefined && Number(pid) !== ownPid) return undefined;
  const timeoutMs = Number(timeoutUs ?? Number.NaN) / 1000;
  return Number.isFinite(timeoutMs) && timeoutMs > 0 ? Math.max(1, timeoutMs / MESSAGES_PER_TIMEOUT) : undefined;
}
