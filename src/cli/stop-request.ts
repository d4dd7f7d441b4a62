/** When a long-running command is to end. */

import { EXIT } from './problems.ts';

const PARENT_CHECK_MS = 500;

/**
 * Resolves at the first SIGTERM or SIGINT, or when the supervisor that started this process is gone. A second signal ends
 * the process at once. Under a supervisor SIGINT is ignored: a terminal sends it to all processes, and the supervisor
 * decides.
 */
export function stopRequest(): Promise<void> {
  const supervised = process.send !== undefined || process.env['BLOOMERY_SUPERVISED'] === '1';
  return new Promise((resolve) => {
    let requested = false;
    const request = (): void => {
      requested = true;
      resolve();
    };
    const onSignal = (): void => {
      if (requested) process.exit(EXIT.failed);
      request();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', supervised ? () => undefined : onSignal);
    if (!supervised) return;
    if (process.send === undefined) watchParent(request);
    else if (!process.connected) request();
    else process.once('disconnect', request);
  });
}

/** Without a channel to the supervisor its death shows by a new parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
}
