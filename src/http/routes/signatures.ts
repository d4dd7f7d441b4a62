/** Declares the route to which members of multisignature groups send their signatures of pending transactions. */

import { CHECKS_EXCEEDED, NOT_KEPT, signatureRefused } from '../problems.ts';
import type { Route } from '../route.ts';
import { FLAG, objectOf, TEXT } from '../views/shapes.ts';

export function signatureRoutes(): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/signatures',
      summary: 'Submits the signature of a member of a multisignature group for a transaction in the pool.',
      parameters: [],
      unknownParameters: 'ignored',
      body: {
        name: 'signature',
        schema: {
          type: 'object',
          required: ['transactionId', 'publicKey', 'signature'],
          properties: {
            transactionId: { type: 'string', format: 'id', minLength: 1, maxLength: 20 },
            publicKey: { type: 'string', format: 'publicKey' },
            signature: { type: 'string', format: 'signature' },
          },
        },
      },
      answer: { meta: objectOf({ status: FLAG }), data: objectOf({ message: TEXT }) },
      errors: { 409: 'The node refused the signature; see `errors`.', 429: CHECKS_EXCEEDED, 503: NOT_KEPT },
      handle: async (api, request) => {
        const result = await api.submitSignature(request.body, request.client);
        if (!result.accepted) throw signatureRefused(result);
        return { meta: { status: true }, data: { message: 'Signature Accepted' } };
      },
    },
  ];
}
