/**
 * Defines the dialect of the HTTP interface: the generation whose names the interface uses, and whether the dialect is
 * strict.
 */

import type { Generation } from '../protocol/params.ts';
import type { Schema } from './schema.ts';
import { objectOf } from './views/shapes.ts';

export interface HttpDialect {
  readonly generation: Generation;
  /**
   * True: the interface behaves like a lisk-sdk node of `generation`. The interface sends and accepts only members,
   * parameters, sort fields and peer states that this lisk-sdk node has. False: the interface uses the extended
   * dialect, which also has the names of the other generation and the names that only this node has.
   */
  readonly strict: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns the members of a JSON object of an answer. The members `own`, which a lisk-sdk node of the generation sends,
 * come first. If the dialect is not strict, the members `added` follow.
 */
export function extendedMembers(dialect: HttpDialect, own: Members, added: Members): Members {
  return dialect.strict ? own : { ...own, ...added };
}

/**
 * Returns the schema of a JSON object with the members `own`. If the dialect is not strict, the object also has the
 * members `added`. The function `extendedMembers` selects the members of an answer by the same rule.
 *
 * @param optional members that can be absent
 */
export function extendedShape(
  dialect: HttpDialect,
  own: Readonly<Record<string, Schema>>,
  added: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return objectOf(dialect.strict ? own : { ...own, ...added }, optional);
}

/** Returns `parameters` if the dialect is not strict, and an empty list if the dialect is strict. */
export function extendedOnly<T>(dialect: HttpDialect, parameters: readonly T[]): readonly T[] {
  return dialect.strict ? [] : parameters;
}
