/**
 * A table of keys. Its row declares it once, and code that writes and reads keys, ranges and the published layout are
 * derived from the row.
 */

import { assert } from '../../primitives/errors.ts';
import { PARTS, type KeyPart, type PartName, type PartValue } from './key-parts.ts';
import { afterPrefix } from './key-value.ts';

/**
 * The role of a table. `state` is consensus state, which is part of the digest and of undo records. `chain` is blocks
 * as they were signed. `index` can be rebuilt from these two. `local` belongs to this node alone.
 */
export type TableRole = 'state' | 'chain' | 'index' | 'local';

/** Keys from the first, inclusive, to the second, exclusive. */
export interface KeySpan {
  readonly gte: Buffer;
  readonly lt: Buffer;
}

/** Types of the values of a key's parts. */
export type ValuesOf<P extends readonly PartName[]> = { [I in keyof P]: PartValue<P[I]> };
/** The first values of a key, possibly none. */
export type LeadingOf<V extends readonly unknown[]> = V extends readonly [...infer Head, unknown]
  ? V | LeadingOf<Head>
  : V;

/** The declaration of a table. */
export interface TableRow<P extends readonly PartName[]> {
  /** First byte of the keys of the table. */
  readonly number: number;
  readonly role: TableRole;
  /** Parts of a key, in order. At most one part has no end of its own and extends to the next parts. */
  readonly key: P;
  /** Content of a value, in a sentence; empty when keys have no values. */
  readonly value: string;
  /** True for a table of keys without values that are counted. */
  readonly isCounted?: boolean;
}

export class Table<const P extends readonly PartName[] = readonly PartName[]> {
  readonly number: number;
  readonly role: TableRole;
  readonly parts: P;
  readonly value: string;
  readonly isCounted: boolean;
  /** Common prefix of all keys. Do not change these bytes. */
  readonly start: Buffer;
  readonly all: KeySpan;
  readonly #parts: readonly KeyPart<unknown>[];
  /** For each part: number of bytes of the parts after it that have a fixed size and end the key. */
  readonly #behind: readonly number[];

  constructor({ number, role, key, value, isCounted = false }: TableRow<P>) {
    this.number = number;
    this.role = role;
    this.parts = key;
    this.value = value;
    this.isCounted = isCounted;
    this.start = Buffer.from([number]);
    this.all = spanOf(this.start);
    // The public methods take and return the types of these parts; inside, all parts are treated alike.
    this.#parts = key.map((name) => PARTS[name] as unknown as KeyPart<unknown>);
    this.#behind = key.map((_, at) =>
      this.#parts.slice(at + 1).reduce((sum, part) => sum + (part.bytes ?? Number.NaN), 0),
    );
  }

  key(...values: ValuesOf<P>): Buffer {
    return this.#write(values);
  }

  /** Prefix of all keys that begin with these values. */
  prefix(...values: LeadingOf<ValuesOf<P>>): Buffer {
    return this.#write(values);
  }

  /** Range of all keys that begin with these values. */
  range(...values: LeadingOf<ValuesOf<P>>): KeySpan {
    return spanOf(this.#write(values));
  }

  /** Reads the values of a key. */
  read(key: Buffer): ValuesOf<P> {
    assert(key[0] === this.number, 'a key is read by its table');
    let at = 1;
    const values = this.#parts.map((part, index) => {
      const end = part.end(key, at, key.length - (this.#behind[index] ?? 0));
      const value = part.read(key, at, end);
      at = end;
      return value;
    });
    assert(at === key.length, 'a key ends with its last part');
    // The parts were read in the order of `P`, whose types `map` loses.
    return values as unknown as ValuesOf<P>;
  }

  #write(values: readonly unknown[]): Buffer {
    let size = 1;
    for (let i = 0; i < values.length; i += 1) size += this.#parts[i]!.size(values[i]);
    const key = Buffer.allocUnsafe(size);
    key[0] = this.number;
    let at = 1;
    for (let i = 0; i < values.length; i += 1) at = this.#parts[i]!.write(key, values[i], at);
    return key;
  }
}

function spanOf(prefix: Buffer): KeySpan {
  return { gte: prefix, lt: afterPrefix(prefix) };
}
