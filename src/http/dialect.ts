/** Which generation's words the interface speaks. */

import type { Generation } from '../protocol/params.ts';
import type { Schema } from './schema.ts';
import { objectOf } from './views/shapes.ts';

export interface HttpDialect {
  readonly generation: Generation;
  /**
   * True speaks as a node of that generation does: it sends no member, and knows no parameter, sort name or peer state, that
   * such a node does not. False joins the words of both generations, and those of this node's own.
   */
  readonly strict: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** The members that a node of the generation sends, and behind them those that only a joined dialect has. */
export function joined(dialect: HttpDialect, own: Members, added: Members): Members {
  return dialect.strict ? own : { ...own, ...added };
}

/** The declared shape of the same. @param optional members that may be absent */
export function joinedShape(
  dialect: HttpDialect,
  own: Readonly<Record<string, Schema>>,
  added: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return objectOf(dialect.strict ? own : { ...own, ...added }, optional);
}

/** Parameters that only a joined dialect knows. */
export function joinedOnly<T>(dialect: HttpDialect, parameters: readonly T[]): readonly T[] {
  return dialect.strict ? [] : parameters;
}
