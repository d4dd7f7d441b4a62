/**
 * Reads values from parsed JSON. Each error names the file and the key. If a certain value is expected, the error also
 * names this value.
 */

import { ProtocolError } from '../primitives/errors.ts';

/**
 * Reads the members of one JSON object of a file. Inherited members are ignored. The method `end` throws an error if
 * the object has a member that was not read.
 */
export class RecordReader {
  readonly #file: string;
  readonly #path: string;
  readonly #code: string;
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #unread: Set<string>;

  /**
   * @param code code of the errors, for example `NETWORK_INVALID`
   * @param path dotted path of the object in the file; empty for the whole file
   * @throws ProtocolError `code` when the value is not an object
   */
  constructor(value: unknown, file: string, code: string, path = '') {
    this.#file = file;
    this.#path = path;
    this.#code = code;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid(code, file, path, 'an object');
    }
    this.#members = new Map(Object.entries(value));
    this.#unread = new Set(this.#members.keys());
  }

  has(key: string): boolean {
    return this.#members.has(key);
  }

  raw(key: string): unknown {
    this.#unread.delete(key);
    return this.#members.get(key);
  }

  text(key: string, expected = 'a string', accepts: (text: string) => boolean = () => true): string {
    const value = this.raw(key);
    if (typeof value !== 'string' || !accepts(value)) throw this.wrong(key, expected);
    return value;
  }

  integer(key: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.raw(key);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
      const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
      throw this.wrong(key, `an integer ${range}`);
    }
    return value;
  }

  /** Reads an amount in beddows, written as decimal text. */
  amount(key: string): bigint {
    return BigInt(this.text(key, 'a string of decimal digits', (text) => /^[0-9]{1,30}$/.test(text)));
  }

  /**
   * @param read reads one entry. If the entry is wrong, `read` throws the error that its argument `wrong(expected)`
   *   returns. This error names the entry
   */
  list<T>(
    key: string,
    read: (entry: unknown, wrong: (expected: string) => ProtocolError) => T,
    itemsMax: number,
  ): readonly T[] {
    const value = this.raw(key);
    if (!Array.isArray(value) || value.length > itemsMax)
      throw this.wrong(key, `a list of at most ${itemsMax} entries`);
    return value.map((entry: unknown, index) => read(entry, (expected) => this.wrong(`${key}[${index}]`, expected)));
  }

  /**
   * Like `list`, but each entry must be an object. The function throws an error if `read` leaves a member of an entry
   * unread.
   */
  objects<T>(key: string, read: (entry: RecordReader) => T, itemsMax: number): readonly T[] {
    let index = 0;
    return this.list(
      key,
      (value) => {
        const entry = new RecordReader(value, this.#file, this.#code, this.pathOf(`${key}[${index++}]`));
        const result = read(entry);
        entry.end();
        return result;
      },
      itemsMax,
    );
  }

  object(key: string): RecordReader {
    return new RecordReader(this.raw(key), this.#file, this.#code, this.pathOf(key));
  }

  keys(): readonly string[] {
    return [...this.#members.keys()];
  }

  /** Throws if a member was never read, because the name of the member is probably misspelt. */
  end(): void {
    for (const key of this.#unread) {
      throw new ProtocolError(
        this.#code,
        { file: this.#file, key: this.pathOf(key) },
        `${this.#file}: ${this.pathOf(key)} is not a known key: correct or remove it`,
      );
    }
  }

  wrong(key: string, expected: string): ProtocolError {
    return invalid(this.#code, this.#file, this.pathOf(key), expected);
  }

  pathOf(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }
}

function invalid(code: string, file: string, path: string, expected: string): ProtocolError {
  const what = path === '' ? 'the content' : path;
  return new ProtocolError(code, { file, key: path, expected }, `${file}: ${what} must be ${expected}`);
}
