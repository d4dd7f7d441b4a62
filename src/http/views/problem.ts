/** Defines the shapes of the bodies with which the node refuses requests. */

import type { Schema } from '../schema.ts';
import { FLAG, INTEGER, listOf, objectOf, TEXT } from './shapes.ts';

export const SIMPLE: Schema = objectOf({ message: TEXT });

/** Answer of a node that cannot serve the request at present; `reason` is a code for programs. */
export const UNAVAILABLE: Schema = objectOf({ message: TEXT, reason: TEXT }, ['reason']);

/** Refusal by an access rule; `errors`, if present, has the reason. */
export const REFUSED: Schema = objectOf({ message: TEXT, errors: listOf(TEXT) }, ['errors']);

/** Refusal of a body that could not be read. */
export const UNREADABLE: Schema = objectOf({ success: FLAG, error: TEXT, message: TEXT });

const PLACE: Schema = { type: 'string', enum: ['query', 'path', 'body'] };
const FAULT: Schema = objectOf({ code: TEXT, message: TEXT, path: listOf(TEXT) });

export const INVALID_REQUEST: Schema = objectOf({
  message: { type: 'string', enum: ['Validation errors', 'Parse errors'] },
  errors: listOf(
    objectOf({ code: TEXT, message: TEXT, in: PLACE, name: TEXT, errors: listOf(FAULT) }, ['in', 'name', 'errors']),
  ),
});

/** Refusal of an invalid request, or of a body that could not be read. */
export const INVALID_OR_UNREADABLE: Schema = { anyOf: [INVALID_REQUEST, UNREADABLE] };

const REASON_VALUE: Schema = { type: ['string', 'number'] };

/** Refusal of a transaction or signature by the pool. */
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
