import type { SigningJournal } from '../../src/ports/journal.ts';

/** A journal that forgets everything: of a node that signs nothing. */
export const NO_JOURNAL: SigningJournal = {
  last: () => undefined,
  heldSinceS: () => undefined,
  movedAtS: () => undefined,
  record: () => undefined,
  hold: () => undefined,
  close: () => undefined,
};
