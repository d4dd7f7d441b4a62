/**
 * Describes the shapes of parameters, bodies and answers as data, and checks values against them. The shapes use the
 * subset of JSON Schema that the HTTP API needs. The errors have the same codes, texts and order as the errors of a
 * real lisk-sdk node.
 */

import { hasFormat, type Format } from './formats.ts';

export type SchemaType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

export interface Schema {
  /** Type of the value, or the list of its possible types; absent when `anyOf` is present. */
  readonly type?: SchemaType | readonly SchemaType[];
  /**
   * List of shapes. The value must have one of these shapes. Two kinds of schemas have this member: schemas of answers,
   * and the schemas with which the API specification describes parameters with further values (`alsoAccepted`). The
   * schemas with which the node checks requests do not have this member, and `schemaErrorsOf` ignores it.
   */
  readonly anyOf?: readonly Schema[];
  readonly format?: Format;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly default?: string | number;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

type SchemaErrorCode =
  | 'INVALID_TYPE'
  | 'INVALID_FORMAT'
  | 'ENUM_MISMATCH'
  | 'MINIMUM'
  | 'MAXIMUM'
  | 'MIN_LENGTH'
  | 'MAX_LENGTH'
  | 'OBJECT_MISSING_REQUIRED_PROPERTY'
  | 'OBJECT_ADDITIONAL_PROPERTIES';

/**
 * An error in a value. `path` contains the names of the members that lead from the value to the place of the error. If
 * the error is in the value itself, `path` is empty.
 */
export interface SchemaError {
  readonly code: SchemaErrorCode;
  readonly message: string;
  readonly path: readonly string[];
}

/**
 * Maximum number of errors in one value. Each item of a list can have several errors, and the text of an error is much
 * longer than an item. Without a maximum, a body of 120 kB would lead to an answer of 14 MB, and the process that makes
 * the answer would do nothing else for a second.
 */
const ERRORS_MAX = 100;
/** Maximum number of characters of a value in the text of an error. */
const SHOWN_CHARS_MAX = 1_000;

/**
 * Returns the errors in a value, in this order: wrong type, missing properties (in the reverse order of `required`),
 * properties that are not allowed, a value that is not in `enum`, wrong format, wrong length, number out of bounds.
 * After these errors, the list contains the errors in the members of the value, beginning with the last member. The
 * list ends after `ERRORS_MAX` errors.
 */
export function schemaErrorsOf(schema: Schema, value: unknown): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  collectErrors(schema, value, [], errors);
  return errors;
}

function collectErrors(schema: Schema, value: unknown, path: readonly string[], errors: SchemaError[]): void {
  const report: Report = (code, message) => {
    if (errors.length < ERRORS_MAX) errors.push({ code, message, path });
  };
  const types: readonly SchemaType[] = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const found = typeNameOf(value);
  if (types.length > 0 && !types.some((type) => type === found || (type === 'number' && found === 'integer')))
    report('INVALID_TYPE', typeMismatch(types.join(','), found));
  if (found === 'object') reportKeys(schema, value as object, report);
  if (schema.enum && !schema.enum.includes(value as string))
    report('ENUM_MISMATCH', `No enum match for: ${show(value)}`);
  if (schema.format && !hasFormat(schema.format, value))
    report('INVALID_FORMAT', `Object didn't pass validation for format ${schema.format}: ${show(value)}`);
  if (typeof value === 'string') reportLength(schema, value, report);
  if (typeof value === 'number') reportBounds(schema, value, report);
  for (const [key, memberSchema, member] of membersLastFirst(schema, value)) {
    if (errors.length >= ERRORS_MAX) return;
    collectErrors(memberSchema, member, [...path, key], errors);
  }
}

export function typeMismatch(expected: string, found: string): string {
  return `Expected type ${expected} but found type ${found}`;
}

type Report = (code: SchemaErrorCode, message: string) => void;

function reportKeys(schema: Schema, value: object, report: Report): void {
  for (const key of [...(schema.required ?? [])].reverse())
    if (!Object.hasOwn(value, key)) report('OBJECT_MISSING_REQUIRED_PROPERTY', `Missing required property: ${key}`);
  if (schema.additionalProperties !== false) return;
  for (const key of Object.keys(value))
    if (!Object.hasOwn(schema.properties ?? {}, key))
      report('OBJECT_ADDITIONAL_PROPERTIES', `Additional properties not allowed: ${key}`);
}

function reportLength(schema: Schema, value: string, report: Report): void {
  const characters = [...value].length;
  // `minLength` and `maxLength` limit the number of characters (code points). But the error messages state the length
  // in UTF-16 units, like the messages of a lisk-sdk node.
  if (schema.maxLength !== undefined && characters > schema.maxLength)
    report('MAX_LENGTH', `String is too long (${value.length} chars), maximum ${schema.maxLength}`);
  if (schema.minLength !== undefined && characters < schema.minLength)
    report('MIN_LENGTH', `String is too short (${value.length} chars), minimum ${schema.minLength}`);
}

function reportBounds(schema: Schema, value: number, report: Report): void {
  if (schema.maximum !== undefined && value > schema.maximum)
    report('MAXIMUM', `Value ${value} is greater than maximum ${schema.maximum}`);
  if (schema.minimum !== undefined && value < schema.minimum)
    report('MINIMUM', `Value ${value} is less than minimum ${schema.minimum}`);
}

function* membersLastFirst(schema: Schema, value: unknown): Iterable<readonly [string, Schema, unknown]> {
  if (Array.isArray(value) && schema.items) {
    for (let index = value.length - 1; index >= 0; index--)
      yield [String(index), schema.items, value[index] as unknown];
  } else if (typeof value === 'object' && value !== null && schema.properties) {
    for (const key of Object.keys(value).reverse()) {
      const member = Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
      if (member) yield [key, member, (value as Record<string, unknown>)[key]];
    }
  }
}

function typeNameOf(value: unknown): SchemaType | 'unknown-number' {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'unknown-number';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value as 'string' | 'boolean';
  return 'object';
}

/**
 * Returns the text that `String` makes of a value, or the JSON of an object. The text is cut after `SHOWN_CHARS_MAX`
 * characters. The function does not call `String` for a list, because an object in the list can have a member
 * `toString` that is no function.
 */
function show(value: unknown): string {
  const parts: string[] = [];
  let left = SHOWN_CHARS_MAX;
  const add = (text: string): void => {
    parts.push(text.slice(0, left));
    left -= text.length;
  };
  const addItems = (items: readonly unknown[]): void => {
    for (const [index, item] of items.entries()) {
      if (left <= 0) return;
      if (index > 0) add(',');
      if (Array.isArray(item)) addItems(item);
      else if (typeof item === 'object' && item !== null) add('[object Object]');
      else if (item !== null && item !== undefined) add(String(item));
    }
  };
  if (Array.isArray(value)) addItems(value);
  else add(typeof value === 'object' ? JSON.stringify(value) : String(value));
  return left < 0 ? `${parts.join('')}…` : parts.join('');
}
