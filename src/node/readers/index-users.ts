/**
 * Implements `IndexUsers` for the readers of a node (processes that answer HTTP for the node). Readers query the
 * indexes of the store.
 */

import type { IndexUsers } from '../../ports/store.ts';
import type { Reader } from './reader.ts';

/** @param readers returns the present readers */
export function indexUsersAmong(readers: () => Iterable<Reader>): IndexUsers {
  // A draining reader (`Reader.isDraining`) is not ready, but does not count as starting. A draining reader ends soon,
  // so it needs no newer indexes.
  const isStarting = (): boolean => {
    const all = [...readers()];
    return all.length === 0 || all.some(({ isReady, isDraining }) => !isReady && !isDraining);
  };
  return {
    canWait: () => !isStarting() && [...readers()].every(({ end, isReady }) => !isReady || end.hasMoved),
    isAwaited: isStarting,
    completed() {
      for (const { end } of readers()) end.indexesCompleted();
    },
  };
}

/**
 * Returns an `IndexUsers` object that forwards each call to the object that `users` returns. While `users` returns
 * undefined, the node does not defer indexing.
 *
 * @param users returns undefined before the readers start
 */
export function laterIndexUsers(users: () => IndexUsers | undefined): IndexUsers {
  return {
    canWait: () => users()?.canWait() === true,
    isAwaited: () => users()?.isAwaited() !== false,
    completed: () => users()?.completed(),
  };
}
