/**
 * Defines the class of the store's tables. Each table is declared by one `TableRow` (`layout.ts`). The class uses the
 * `TableRow` to write and read keys. The page docs/store-layout.md is generated from the declarations of all tables.
 */

import { assert } from '../../primitives/errors.ts';
import { PARTS, type KeyPart, type PartName, type PartValue } from './key-parts.ts';
import { afterPrefix } from './key-value.ts';

/**
 * The role of a table. A table of the role `state` contains a part of the consensus state. The digest and the checksum
 * of the state cover all tables of this role. The undo record of a block stores the values in these tables that the
 * block overwrote. A table of the role `chain` contains headers of the chain or transactions of the chain. The stored
 * form of each header and of each transaction contains the signed bytes. A table of the role `index` can be rebuilt
 * from the tables of the roles `state` and `chain`. A table of the role `local` contains data that belong to this node
 * alone.
 */
export type TableRole = 'state' | 'chain' | 'index' | 'local';

/** Keys from `gte` (inclusive) to `lt` (exclusive). */
export interface KeySpan {
  readonly gte: Buffer;
  readonly lt: Buffer;
}

/** The TypeScript types of the values that the parts of a key have. */
export type ValuesOf<P extends readonly PartName[]> = { [I in keyof P]: PartValue<P[I]> };
/** The values of the first n parts of a key, where n is any number from 0 to the number of parts. */
export type LeadingOf<V extends readonly unknown[]> = V extends readonly [...infer Head, unknown]
  ? V | LeadingOf<Head>
  : V;

/** The declaration of a table. */
export interface TableRow<P extends readonly PartName[]> {
  /** First byte of the table's keys. */
  readonly number: number;
  readonly role: TableRole;
  /**
   * The parts of a key in their order. At most one part has bytes that do not show where the part ends. All parts after
   * this part have a fixed size, so the code computes the end of this part from the length of the key.
   */
  readonly key: P;
  /** Text that describes the content of a value; empty if the keys have no values. */
  readonly value: string;
  /**
   * True for a counted table. The keys of a counted table have no values, and form a counted key set. In a counted key
   * set, the store can count the keys of a range without reading these keys (`index/counted-key-sets.ts`).
   */
  readonly isCounted?: boolean;
}

export class Table<const P extends readonly PartName[] = readonly PartName[]> {
  readonly number: number;
  readonly role: TableRole;
  readonly parts: P;
  readonly value: string;
  readonly isCounted: boolean;
  /** The prefix that all keys of the table have in common. The caller must not change these bytes. */
  readonly start: Buffer;
  readonly all: KeySpan;
  readonly #parts: readonly KeyPart<unknown>[];
  /** For each part, the number of bytes that follow the part in the key; NaN if a later part has a variable size. */
  readonly #behind: readonly number[];

  constructor({ number, role, key, value, isCounted = false }: TableRow<P>) {
    this.number = number;
    this.role = role;
    this.parts = key;
    this.value = value;
    this.isCounted = isCounted;
    this.start = Buffer.from([number]);
    this.all = spanOf(this.start);
    // The signatures of the public methods state the exact type of each part. The private field `#parts` gives all
    // parts the type `KeyPart<unknown>`.
    this.#parts = key.map((name) => PARTS[name] as unknown as KeyPart<unknown>);
    this.#behind = key.map((_, at) =>
      this.#parts.slice(at + 1).reduce((sum, part) => sum + (part.bytes ?? Number.NaN), 0),
    );
  }

  key(...values: ValuesOf<P>): Buffer {
    return this.#write(values);
  }

  /** Returns the bytes with which a key of this table begins if the first parts of the key have these values. */
  prefix(...values: LeadingOf<ValuesOf<P>>): Buffer {
    return this.#write(values);
  }

  /** Returns the range of all keys of this table whose first parts have these values. */
  range(...values: LeadingOf<ValuesOf<P>>): KeySpan {
    return spanOf(this.#write(values));
  }

  /** Reads the values of the parts from a key. */
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
    // The parts were read in the order of `P`, but `map` loses the types of the single parts.
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
