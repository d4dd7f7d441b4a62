/** The processes that this process forks, in the order in which they begin. */

import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ExecutionContext } from 'ava';

/**
 * @param began called with each process as soon as it is there
 * @returns a list to which each process is added
 */
export function watchForks(
  t: ExecutionContext,
  began: (child: ChildProcess) => void = () => undefined,
): readonly ChildProcess[] {
  const children: ChildProcess[] = [];
  const note = (message: unknown): void => {
    const { process: child } = message as { readonly process: ChildProcess };
    children.push(child);
    began(child);
  };
  subscribe('child_process', note);
  t.teardown(() => unsubscribe('child_process', note));
  return children;
}
