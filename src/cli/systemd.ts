/**
 * Tells systemd that the node runs, and again and again that it still does. The socket that systemd listens on takes datagrams
 * only, which Node cannot send, so `systemd-notify`, a part of systemd, sends them.
 */

import { execFile } from 'node:child_process';
import { messageOf } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';

const PROGRAM = 'systemd-notify';
/** A message that is not delivered by then is given up. */
const SEND_MS_MAX = 10_000;
/** Messages in the time after which systemd takes the node for dead: two may be lost or late. */
const MESSAGES_PER_TIMEOUT = 3;

export interface SystemdNotifier {
  /** The node runs; from now on systemd hears of it in time, as long as the event loop comes round. */
  ready(): void;
  /** The node has begun to stop. */
  stopping(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Does nothing where systemd does not ask to be told. */
export function systemdNotifier(environment: Environment, observer: Observer, ownPid = process.pid): SystemdNotifier {
  if (environment['NOTIFY_SOCKET'] === undefined) return { ready: () => undefined, stopping: () => undefined };
  let isFailureTold = false;
  const send = (message: string): void => {
    execFile(PROGRAM, [message], { timeout: SEND_MS_MAX, killSignal: 'SIGKILL' }, (error) => {
      if (error === null || isFailureTold) return;
      isFailureTold = true;
      observer.log('warn', 'SYSTEMD_NOT_TOLD', 'systemd cannot be told that the node runs', {
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

/** Between two signs of life; undefined where systemd wants none of this process. */
export function watchdogIntervalMs(environment: Environment, ownPid: number): number | undefined {
  const { WATCHDOG_USEC: timeoutUs, WATCHDOG_PID: pid } = environment;
  if (pid !== undefined && Number(pid) !== ownPid) return undefined;
  const timeoutMs = Number(timeoutUs ?? Number.NaN) / 1000;
  return Number.isFinite(timeoutMs) && timeoutMs > 0 ? Math.max(1, timeoutMs / MESSAGES_PER_TIMEOUT) : undefined;
}
