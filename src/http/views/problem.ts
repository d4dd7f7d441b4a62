/** Defines the shapes of the bodies with which the node refuses requests. */

import type { Schema } from '../schema.ts';
import { FLAG, INTEGER, listOf, objectOf, TEXT } from './shapes.ts';

export const SIMPLE: Schema = objectOf({ message: TEXT });

/** Body of a 503 answer. If the member `reason` is present, it is a code that programs can evaluate. */
export const UNAVAILABLE: Schema = objectOf({ message: TEXT, reason: TEXT }, ['reason']);

/**
 * Body of the answer if an access rule refuses the request. If the member `errors` is present, it contains the reason.
 */
export const REFUSED: Schema = objectOf({ message: TEXT, errors: listOf(TEXT) }, ['errors']);

/** Body of the answer if the node could not read the body of the request. */
export const UNREADABLE: Schema = objectOf({ success: FLAG, error: TEXT, message: TEXT });

const PLACE: Schema = { type: 'string', enum: ['query', 'path', 'body'] };
const FAULT: Schema = objectOf({ code: TEXT, message: TEXT, path: listOf(TEXT) });

export const INVALID_REQUEST: Schema = objectOf({
  message: { type: 'string', enum: ['Validation errors', 'Parse errors'] },
  errors: listOf(
    objectOf({ code: TEXT, message: TEXT, in: PLACE, name: TEXT, errors: listOf(FAULT) }, ['in', 'name', 'errors']),
  ),
});

/** Body of the answer if the request is invalid, or if the node could not read the body of the request. */
export const INVALID_OR_UNREADABLE: Schema = { anyOf: [INVALID_REQUEST, UNREADABLE] };

const REASON_VALUE: Schema = { type: ['string', 'number'] };

/** Body of the answer if the node refuses a transaction or a signature. */
export const REJECTED: Schema = objectOf({
  message: TEXT,
  code: INTEGER,
  errors: listOf(
    objectOf({ message: TEXT, name: TEXT, id: TEXT, dataPath: TEXT, actual: REASON_VALUE, expected: REASON_VALUE }, [
      'actual',
      'expected',
    ]),
  ),
});

export const PAGE_NOT_FOUND: Schema = objectOf({ description: TEXT });
