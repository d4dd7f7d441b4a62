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
 * Returns all errors in a value, in this order: wrong type, missing properties (in the reverse order of `required`),
 * properties that are not allowed, a value that is not in `enum`, wrong format, wrong length, number out of bounds.
 * After these errors, the list contains the errors in the members of the value, beginning with the last member.
 */
export function schemaErrorsOf(schema: Schema, value: unknown, path: readonly string[] = []): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  const report = (code: SchemaErrorCode, message: string) => errors.push({ code, message, path });
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
  for (const [key, memberSchema, member] of membersLastFirst(schema, value))
    errors.push(...schemaErrorsOf(memberSchema, member, [...path, key]));
  return errors;
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
  // in UTF-16 units, like the messages of a real node.
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

function show(value: unknown): string {
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : String(value);
}
