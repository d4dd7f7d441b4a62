import type { FolderJournal } from '../../src/ports/journal.ts';

/** A signing journal (a log of signed headers) that stores nothing, for a node that signs no blocks. */
export const NO_JOURNAL: FolderJournal = {
  last: () => undefined,
  heldSinceS: () => undefined,
  isCopyFor: () => false,
  foreignS: () => undefined,
  movedAtS: () => undefined,
  outside: () => 'unknown',
  recalled: () => undefined,
  adopt: () => undefined,
  record: () => undefined,
  hold: () => undefined,
  delegates: () => [],
  isCopied: false,
  copyFrom: () => undefined,
  own: () => ({}),
  recordFileIdentity: () => undefined,
  close: () => undefined,
};
