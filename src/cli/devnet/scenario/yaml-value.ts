/** Reads the values of a YAML file. Each value contains its line in the file, for error messages. */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import { ProtocolError } from '../../../primitives/errors.ts';
import { similarTo } from '../../similar.ts';

interface Source {
  readonly file: string;
  readonly lines: LineCounter;
}

/**
 * A value in a YAML file. If a method finds an invalid value, it throws ProtocolError `SCENARIO_INVALID` with the file,
 * the line and a sentence about the fault. The parameter `what` of a method is the name that this sentence gives to the
 * value.
 */
export class YamlValue {
  readonly #source: Source;
  readonly #node: Node | null;
  readonly line: number;

  private constructor(source: Source, node: Node | null, line: number) {
    this.#source = source;
    this.#node = node;
    this.line = node?.range ? source.lines.linePos(node.range[0]).line : line;
    if (isAlias(node)) throw this.fault('an alias is not for scenarios: write the value');
  }

  static of(text: string, file: string): YamlValue {
    const lines = new LineCounter();
    const source = { file, lines };
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
    const [error] = document.errors;
    if (error !== undefined) {
      const line = lines.linePos(error.pos[0]).line;
      throw invalid(file, line, `it is not YAML: ${error.message.replace(/\s*\n[^]*$/, '')}`);
    }
    return new YamlValue(source, document.contents, 1);
  }

  get isEmpty(): boolean {
    return this.#node === null || (isScalar(this.#node) && this.#node.value === null);
  }

  get isList(): boolean {
    return isSeq(this.#node);
  }

  get isMap(): boolean {
    return isMap(this.#node);
  }

  /** Returns an empty value (`isEmpty`) that has the same line as this value. */
  without(): YamlValue {
    return new YamlValue(this.#source, null, this.line);
  }

  /** Returns the members of a map by name, in the order of the file. */
  members(what: string): ReadonlyMap<string, YamlValue> {
    if (!isMap(this.#node)) throw this.fault(`${what} must be a map of names and values`);
    return new Map(
      this.#node.items.map(({ key, value }) => {
        const name = isScalar(key) ? String(key.value) : undefined;
        const keyValue = new YamlValue(this.#source, key as Node, this.line);
        if (name === undefined) throw keyValue.fault('a name must be a string');
        return [name, new YamlValue(this.#source, value as Node | null, keyValue.line)] as const;
      }),
    );
  }

  /** Returns the same as `members`, but throws if a name is not one of `names`. */
  known(what: string, names: readonly string[]): ReadonlyMap<string, YamlValue> {
    const members = this.members(what);
    for (const [name, yaml] of members) if (!names.includes(name)) throw yaml.unknown(what, name, names);
    return members;
  }

  unknown(what: string, name: string, names: readonly string[]): ProtocolError {
    const meant = similarTo(name, names);
    return this.fault(
      `${what} has no \`${name}\`: ${meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }

  items(what: string): readonly YamlValue[] {
    if (!isSeq(this.#node)) throw this.fault(`${what} must be a list`);
    return this.#node.items.map((item) => new YamlValue(this.#source, item as Node | null, this.line));
  }

  /** Reads a text. For a number, returns the digits as the file has them (`1.50` stays `1.50`). */
  text(what: string): string {
    const scalar = isScalar(this.#node) ? this.#node : undefined;
    if (typeof scalar?.value === 'string') return scalar.value;
    if (typeof scalar?.value === 'number') return scalar.source ?? String(scalar.value);
    throw this.fault(`${what} must be a string`);
  }

  flag(what: string): boolean {
    if (isScalar(this.#node) && typeof this.#node.value === 'boolean') return this.#node.value;
    throw this.fault(`${what} must be true or false`);
  }

  number(what: string): number {
    if (isScalar(this.#node) && typeof this.#node.value === 'number' && Number.isFinite(this.#node.value)) {
      return this.#node.value;
    }
    throw this.fault(`${what} must be a number`);
  }

  integer(what: string, least: number, most: number): number {
    const value = isScalar(this.#node) ? this.#node.value : undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw this.fault(`${what} must be an integer from ${least} to ${most}`);
  }

  oneOf<T extends string>(what: string, names: readonly T[]): T {
    const value = this.text(what);
    const found = names.find((name) => name === value);
    if (found === undefined) throw this.fault(`${what} must be one of ${names.join(', ')}`);
    return found;
  }

  /**
   * Parses the text of this value with `read`. Converts a ProtocolError of `read` to `SCENARIO_INVALID` with file and
   * line.
   */
  parsed<T>(what: string, read: (text: string) => T): T {
    const text = this.text(what);
    try {
      return read(text);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw this.fault(`${what}: ${error.message}`);
    }
  }

  /** Returns the value as one line of text, for the report of a scenario. */
  inline(): string {
    const node = this.#node;
    if (isSeq(node))
      return `[${this.items('it')
        .map((item) => item.inline())
        .join(', ')}]`;
    if (isMap(node)) {
      return `{ ${[...this.members('it')].map(([name, yaml]) => `${name}: ${yaml.inline()}`).join(', ')} }`;
    }
    return isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : '';
  }

  fault(sentence: string): ProtocolError {
    return invalid(this.#source.file, this.line, sentence);
  }
}

function invalid(file: string, line: number, sentence: string): ProtocolError {
  return new ProtocolError('SCENARIO_INVALID', { file, line }, `${file}: line ${line}: ${sentence}`);
}
