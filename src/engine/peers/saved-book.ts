/** Saves the peer book as a note (a named record) in the store, so that the next run of the node can load the book. */

import { messageOf } from '../../primitives/errors.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import { PEER_BOOK_NOTE } from '../../ports/notes.ts';
import type { Observer } from '../../ports/observer.ts';
import type { NoteStore } from '../../ports/store.ts';
import type { PeerBook } from './book.ts';

/** Time in milliseconds from a ban until the book is saved. */
const SAVE_WAIT_MS = 1_000;

export interface SavedBookDependencies {
  readonly store: NoteStore;
  readonly book: Pick<PeerBook, 'load' | 'toNote'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly observer: Observer;
}

export class SavedBook {
  readonly #dependencies: SavedBookDependencies;
  #saving: Timer | undefined;

  constructor(dependencies: SavedBookDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Loads the peer book that an earlier `save` wrote to the store as a note (a named record). If the store has no such
   * note, or if the note cannot be read, the peer book in memory does not change.
   */
  load(): void {
    const { store, book, observer } = this.#dependencies;
    const note = store.note(PEER_BOOK_NOTE);
    if (note !== undefined && !book.load(note)) {
      observer.log('warn', 'PEER_BOOK_UNREADABLE', 'The saved peer book cannot be read; starting an empty one');
    }
  }

  /** @throws ProtocolError if the store cannot be written to */
  save(): void {
    this.cancel();
    const { store, book } = this.#dependencies;
    const note = book.toNote();
    store.transact((writer) => {
      writer.setNote(PEER_BOOK_NOTE, note);
    });
  }

  /**
   * Saves the book after `SAVE_WAIT_MS`, so that a ban is not lost if the process is killed. Bans within this time are
   * saved together.
   */
  saveSoon(): void {
    const { clock, observer } = this.#dependencies;
    this.#saving ??= clock.after(SAVE_WAIT_MS, () => {
      try {
        this.save();
      } catch (error) {
        // A failed save, for example on a full disk, does not stop the node. The node tries again after the next ban,
        // and in a job that runs every ten minutes (`node/housekeeping.ts`).
        const reason = messageOf(error);
        observer.log('error', 'PEER_BOOK_UNSAVED', 'The peer book could not be saved', { reason });
      }
    });
  }

  /** Cancels a planned save. */
  cancel(): void {
    this.#saving?.cancel();
    this.#saving = undefined;
  }
}
