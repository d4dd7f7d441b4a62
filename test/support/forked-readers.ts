/** Collects the child processes that this process starts, in the order of their start. */

import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ExecutionContext } from 'ava';

/**
 * @param began is called with each child process as soon as the child process exists
 * @returns a list to which each child process is added
 */
export function watchForks(
  t: ExecutionContext,
  began: (child: ChildProcess) => void = () => undefined,
): readonly ChildProcess[] {
  const children: ChildProcess[] = [];
  const record = (message: unknown): void => {
    const { process: child } = message as { readonly process: ChildProcess };
    children.push(child);
    began(child);
  };
  subscribe('child_process', record);
  t.teardown(() => unsubscribe('child_process', record));
  return children;
}
