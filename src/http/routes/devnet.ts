/**
 * Declares the routes through which the dashboard controls a devnet. The routes exist only on nodes that a supervisor
 * of a devnet started. If `http.strictDialect` is true, the routes exist only on paths without the prefix `/api`. Only
 * clients on this machine can use the routes. The routes refuse requests from web pages of other sites, except pages
 * from the origin in `http.corsOrigin`.
 */

import type { DevnetControls } from '../../ports/devnet-controls.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { OR_NOT_ITSELF, Problem } from '../problems.ts';
import type { Reply, Route } from '../route.ts';
import type { Schema } from '../schema.ts';
import { NO_META } from '../views/shapes.ts';

/** The results of different operations have different shapes (`cli/schemas/devnet-schemas.ts`). */
const RESULT: Schema = { type: 'object' };
const ERRORS = {
  403: `The client has no access, or is not on the machine of the node. ${OR_NOT_ITSELF}`,
  404: 'The devnet has no such operation.',
  409: 'The devnet refuses the operation, for the reason in the message.',
};

export function devnetRoutes(controls: DevnetControls): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/devnet',
      summary: 'Shows the nodes of the devnet, its clock, its mining mode and its faults.',
      parameters: [],
      unknownParameters: 'refused',
      answer: { meta: NO_META, data: RESULT },
      errors: ERRORS,
      access: 'loopback',
      handle: () => answerOf(controls, 'list', {}),
    },
    {
      method: 'POST',
      path: '/devnet/{operation}',
      summary: 'Performs an operation of the devnet’s control port. The body contains the parameters of the operation.',
      parameters: [
        {
          name: 'operation',
          in: 'path',
          schema: {
            type: 'string',
            minLength: 1,
            maxLength: 20,
            description: 'Name of the operation, such as `mine`.',
          },
        },
      ],
      unknownParameters: 'refused',
      body: { name: 'parameters', schema: { type: 'object' } },
      answer: { meta: NO_META, data: RESULT },
      errors: ERRORS,
      access: 'loopback',
      handle: (_api, request) => answerOf(controls, request.text('operation') ?? '', request.body),
    },
  ];
}

const STATUSES: Readonly<Record<string, number>> = { USAGE: 400, CONTROL_UNKNOWN: 404 };

async function answerOf(
  controls: DevnetControls,
  operation: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Reply> {
  try {
    return { meta: {}, data: await controls.ask(operation, parameters) };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new Problem(STATUSES[error.code] ?? 409, { message: error.message });
  }
}
