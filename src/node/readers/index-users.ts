/** Implements `IndexUsers` for the readers of a node, which query the indexes of the store. */

import type { IndexUsers } from '../../ports/store.ts';
import type { Reader } from './reader.ts';

/** @param readers returns the present readers */
export function indexUsersAmong(readers: () => Iterable<Reader>): IndexUsers {
  // A reader that is ending is not ready, but it does not count as starting, because it needs no newer indexes.
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

/** @param users returns undefined before the readers start; until then, indexing must not be deferred */
export function laterIndexUsers(users: () => IndexUsers | undefined): IndexUsers {
  return {
    canWait: () => users()?.canWait() === true,
    isAwaited: () => users()?.isAwaited() !== false,
    completed: () => users()?.completed(),
  };
}
