/** Keeps the peer book between runs: in a note of the store. */

import { messageOf } from '../../primitives/errors.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { NoteStore } from '../../ports/store.ts';
import type { PeerBook } from './book.ts';

const NOTE = 'peers/book';
/** Between a ban and its saving. */
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

  /** Reads what was saved; the book stays empty where that cannot be read. */
  load(): void {
    const { store, book, observer } = this.#dependencies;
    const note = store.note(NOTE);
    if (note !== undefined && !book.load(note)) {
      observer.log('warn', 'PEER_BOOK_UNREADABLE', 'The saved peer book cannot be read; starting an empty one');
    }
  }

  /** @throws ProtocolError as the store does that cannot be written to */
  save(): void {
    this.cancel();
    const { store, book } = this.#dependencies;
    const note = book.toNote();
    store.transact((writer) => {
      writer.setNote(NOTE, note);
    });
  }

  /** A ban outlives a kill of the node; many at once are saved together. */
  saveSoon(): void {
    const { clock, observer } = this.#dependencies;
    this.#saving ??= clock.after(SAVE_WAIT_MS, () => {
      try {
        this.save();
      } catch (error) {
        // A full disk is no reason to end the node; the book is saved again at the next ban, and by the calendar.
        const reason = messageOf(error);
        observer.log('error', 'PEER_BOOK_UNSAVED', 'The peer book could not be saved', { reason });
      }
    });
  }

  /** Nothing more is saved by itself. */
  cancel(): void {
    this.#saving?.cancel();
    this.#saving = undefined;
  }
}
