/** The checksum of consensus state as a store keeps it: counted with each write, saved with each transaction. */

import type { CountedWriter } from '../index/counted-key-sets.ts';
import { readsOf, type KeyValueReader } from '../tables/key-value.ts';
import { isStateKey, META_STATE_CHECKSUM, STATE_RANGE, TABLES } from '../tables/layout.ts';
import { StateChecksum } from './state-checksum.ts';

/**
 * A walk over the entries of consensus state, in as many steps as its caller likes; transactions of the store may come between
 * them. It reads nothing but during a step.
 */
export interface StateCheck {
  /** Goes on in front of a key. */
  readTo(key: Uint8Array): void;
  /** Goes on to the end. @returns whether the state is what was written */
  finish(): boolean;
}

/** Counts what is written to state. */
export interface StateKeys extends CountedWriter {
  /**
   * A put of state whose caller knows what stands there, so that it need not be read.
   *
   * @param before undefined for no entry
   */
  replace(key: Uint8Array, before: Uint8Array | undefined, value: Uint8Array): void;
}

const CHECKSUM_KEY = TABLES.meta.key(META_STATE_CHECKSUM);
const NO_STATE = new StateChecksum().bytes();

export class KeptChecksum {
  readonly #keys: KeyValueReader;
  readonly #checksum: StateChecksum;
  #saved: Buffer | undefined;
  /** Undoes what the running transaction has counted. */
  #undo: (() => void) | undefined;

  constructor(keys: KeyValueReader) {
    this.#keys = keys;
    this.#saved = keys.get(CHECKSUM_KEY);
    // A store without one has no state yet, or has lost it.
    this.#checksum = new StateChecksum(this.#saved);
  }

  /** A writer for the running transaction that counts what it writes to state. */
  over(writer: CountedWriter): StateKeys {
    const [checksum, saved] = [this.#checksum, this.#saved];
    const undo = checksum.mark();
    this.#undo = () => {
      undo();
      this.#saved = saved;
    };
    return {
      ...readsOf(writer),
      putSorted: (keys) => writer.putSorted(keys),
      put: (key, value, isNew) => {
        if (isStateKey(key)) checksum.replace(key, isNew === true ? undefined : writer.get(key), value);
        writer.put(key, value, isNew);
      },
      replace: (key, before, value) => {
        checksum.replace(key, before, value);
        writer.put(key, value, before === undefined);
      },
      remove: (key, isThere) => {
        if (isStateKey(key)) checksum.replace(key, writer.get(key), undefined);
        writer.remove(key, isThere);
      },
    };
  }

  /** Writes what the running transaction has counted. */
  save(writer: CountedWriter): void {
    const bytes = this.#checksum.bytes();
    if ((this.#saved ?? NO_STATE).equals(bytes)) return;
    writer.put(CHECKSUM_KEY, bytes);
    this.#saved = bytes;
  }

  /** The running transaction is committed: what it has counted stays. */
  keep(): void {
    this.#undo = undefined;
  }

  /** Drops what a failed transaction has counted; nothing where it failed before `over`. */
  forget(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  /** One at a time. */
  check(): StateCheck {
    const checksum = this.#checksum;
    checksum.beginWalk();
    const readTo = (key: Uint8Array): void => {
      const from = checksum.walkNext;
      const gte = from === undefined || from.length === 0 ? STATE_RANGE.gte : from;
      if (Buffer.compare(gte, key) < 0) checksum.walk(this.#keys.entries({ gte, lt: key }), key);
    };
    return {
      readTo,
      finish: () => {
        readTo(STATE_RANGE.lt);
        return checksum.endWalk();
      },
    };
  }
}
