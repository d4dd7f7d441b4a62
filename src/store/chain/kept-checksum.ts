/** The checksum of consensus state as a store keeps it: counted with each write, saved with each transaction. */

import type { CountedWriter } from '../index/counted.ts';
import type { KeyValueReader } from '../tables/key-value.ts';
import {
  isStateKey,
  LAYOUT_VERSION,
  layoutOf,
  layoutText,
  META_LAYOUT,
  META_STATE_CHECKSUM,
  STATE_RANGE,
  TABLES,
} from '../tables/layout.ts';
import { StateChecksum } from './state-checksum.ts';

/**
 * A walk over the entries of consensus state, in as many steps as its caller likes; transactions of the store may come between
 * them. It reads nothing but during a step.
 */
export interface StateCheck {
  /** Goes on in front of a key. */
  readTo(key: Uint8Array): void;
  /** Goes on to the end. @returns whether the state is what was written; true for a store that has no checksum yet */
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
const LAYOUT_KEY = TABLES.meta.key(META_LAYOUT);

export class KeptChecksum {
  readonly #keys: KeyValueReader;
  /** Undefined in a store of the layout before that was not written to yet. */
  #checksum: StateChecksum | undefined;
  #saved: Buffer | undefined;
  /** Undoes what the running transaction has counted. */
  #undo: (() => void) | undefined;

  constructor(keys: KeyValueReader) {
    this.#keys = keys;
    this.#saved = keys.get(CHECKSUM_KEY);
    const { layout } = layoutOf(keys.get(LAYOUT_KEY)?.toString() ?? '');
    // A store of this layout without one has no state yet, or has lost it.
    if (this.#saved !== undefined || layout === String(LAYOUT_VERSION)) this.#checksum = new StateChecksum(this.#saved);
  }

  /** A writer for the running transaction that counts what it writes to state. */
  over(writer: CountedWriter): StateKeys {
    const [counted, saved] = [this.#checksum, this.#saved];
    const undo = counted?.mark();
    this.#undo = () => {
      undo?.();
      this.#checksum = counted;
      this.#saved = saved;
    };
    const checksum = counted ?? this.#begin(writer);
    return {
      get: (key) => writer.get(key),
      entries: (range) => writer.entries(range),
      keys: (range) => writer.keys(range),
      count: (range) => writer.count(range),
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
    const bytes = this.#checksum?.bytes();
    if (bytes === undefined || (this.#saved ?? NO_STATE).equals(bytes)) return;
    writer.put(CHECKSUM_KEY, bytes);
    this.#saved = bytes;
  }

  /** Drops what a failed transaction has counted. */
  forget(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  /** One at a time. */
  check(): StateCheck {
    const checksum = this.#checksum;
    if (checksum === undefined) return { readTo: () => undefined, finish: () => true };
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

  /** For a store that has none: one pass over its state, some seconds for some million accounts. */
  #begin(writer: CountedWriter): StateChecksum {
    const checksum = new StateChecksum();
    for (const { key, value } of writer.entries(STATE_RANGE)) checksum.replace(key, undefined, value);
    const { indexedTo } = layoutOf(writer.get(LAYOUT_KEY)?.toString() ?? '');
    writer.put(LAYOUT_KEY, Buffer.from(layoutText(indexedTo)));
    this.#checksum = checksum;
    return checksum;
  }
}
