/** Defines building blocks for the shapes of answers. */

import type { Schema } from '../schema.ts';

export const TEXT: Schema = { type: 'string' };
export const FLAG: Schema = { type: 'boolean' };
export const COUNT: Schema = { type: 'integer', minimum: 0 };
export const INTEGER: Schema = { type: 'integer' };
/** A percentage that is rounded to two decimals. */
export const PERCENT: Schema = { type: 'number', minimum: 0 };
/** An amount in beddows, as decimal digits. */
export const AMOUNT: Schema = { type: 'string', description: 'Decimal digits, in beddows.' };
export const ADDRESS: Schema = { type: 'string', format: 'address' };
export const ID: Schema = { type: 'string', format: 'id' };
export const PUBLIC_KEY: Schema = { type: 'string', format: 'publicKey' };
export const SIGNATURE: Schema = { type: 'string', format: 'signature' };
export const HEX: Schema = { type: 'string', format: 'hex' };
export const INSTANT: Schema = { type: 'string', format: 'date-time' };
/** An object with any members. */
export const ANY_OBJECT: Schema = { type: 'object' };
export const NO_META: Schema = { type: 'object', properties: {}, additionalProperties: false };
export const PAGE_META: Schema = objectOf({ offset: COUNT, limit: COUNT });
/**
 * The member `next` of `meta`: the cursor of the next page, or null at the end of the list. The answer has this member
 * only if the request has `after`.
 */
const NEXT: Schema = {
  type: ['string', 'null'],
  format: 'cursor',
  description: 'Value of `after` for the next page; null at the end of the list.',
};
export const LIST_META: Schema = objectOf({ offset: COUNT, limit: COUNT, next: NEXT }, ['next']);
export const COUNTED_LIST_META: Schema = objectOf({ offset: COUNT, limit: COUNT, count: COUNT, next: NEXT }, ['next']);
export const COUNTED_PAGE_META: Schema = objectOf({ offset: COUNT, limit: COUNT, count: COUNT });

/**
 * Makes the shape of an object that must not have other members than `properties`.
 *
 * @param optional members that can be absent
 */
export function objectOf(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

export function orNull(schema: Schema & { readonly type: 'string' | 'integer' }): Schema {
  return { ...schema, type: [schema.type, 'null'] };
}
