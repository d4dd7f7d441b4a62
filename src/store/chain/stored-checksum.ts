/**
 * Keeps the checksum of the consensus state in a store. Each write to the state updates the checksum in memory. Each
 * database transaction that changed the checksum also writes the new checksum into the store.
 */

import type { CountedWriter } from '../index/counted-key-sets.ts';
import { readsOf, type KeyValueReader } from '../tables/key-value.ts';
import { isStateKey, META_STATE_CHECKSUM, STATE_RANGE, TABLES } from '../tables/layout.ts';
import { StateChecksum } from './state-checksum.ts';

/**
 * Compares the state with the checksum of the state, in as many steps as the caller wants. Database transactions can
 * run between two steps. The comparison reads from the store only during a step.
 */
export interface StateCheck {
  /**
   * Makes the next step of the check: reads the entries of the state up to `key` (exclusive). The first step begins at
   * the first entry of the state. Each later step begins where the previous step ended.
   */
  readTo(key: Uint8Array): void;
  /** Reads the remaining entries of the state. @returns true if the state matches the checksum */
  finish(): boolean;
}

/** A writer that updates the checksum with each write to the state. */
export interface StateKeys extends CountedWriter {
  /**
   * Writes an entry of the state. The caller passes the old value, so that this writer does not have to read this
   * value.
   *
   * @param before the old value; undefined for a new entry
   */
  replace(key: Uint8Array, before: Uint8Array | undefined, value: Uint8Array): void;
}

const CHECKSUM_KEY = TABLES.meta.key(META_STATE_CHECKSUM);
const NO_STATE = new StateChecksum().bytes();

export class StoredStateChecksum {
  readonly #keys: KeyValueReader;
  readonly #checksum: StateChecksum;
  #saved: Buffer | undefined;
  /**
   * Resets the checksum to its value before the running database transaction; undefined if no database transaction is
   * running.
   */
  #reset: (() => void) | undefined;

  constructor(keys: KeyValueReader) {
    this.#keys = keys;
    this.#saved = keys.get(CHECKSUM_KEY);
    // A store without a saved checksum has no state yet, or has lost its checksum. In both cases, the checksum begins
    // at zero, which is the checksum of an empty state. If the store has lost its checksum, the next check of the state
    // therefore fails.
    this.#checksum = new StateChecksum(this.#saved);
  }

  /**
   * Returns a writer for the running database transaction. The writer updates the checksum with each write to the
   * state.
   */
  begin(writer: CountedWriter): StateKeys {
    const [checksum, saved] = [this.#checksum, this.#saved];
    const resetChecksum = checksum.mark();
    this.#reset = () => {
      resetChecksum();
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

  /** Writes the checksum at the end of the running database transaction. */
  write(writer: CountedWriter): void {
    const bytes = this.#checksum.bytes();
    if ((this.#saved ?? NO_STATE).equals(bytes)) return;
    writer.put(CHECKSUM_KEY, bytes);
    this.#saved = bytes;
  }

  /**
   * The store calls this method after it has committed the database transaction. After this call, `rollback` no longer
   * resets the checksum.
   */
  commit(): void {
    this.#reset = undefined;
  }

  /**
   * Resets the checksum after a failed database transaction. Does nothing if this transaction failed before it called
   * `begin`.
   */
  rollback(): void {
    this.#reset?.();
    this.#reset = undefined;
  }

  /** Begins a check, and cancels an earlier check that is still running. */
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
