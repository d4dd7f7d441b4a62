/** The rules of single transactions and of batches, generation 3. */

import type { ChainParams } from '../params.ts';
import { GEN3_DIALECT } from '../tx/apply-context.ts';
import * as shared from '../tx/transaction-rules.ts';
import type { Gen3Codec } from './codec.ts';
import * as bytes from './transaction-bytes.ts';
import { isExceptedShape } from './transaction-json.ts';

export function createTransactionRules(params: ChainParams, codec: Gen3Codec): shared.TransactionRules {
  return shared.createTransactionRules(params, {
    dialect: GEN3_DIALECT,
    bytes,
    isAllowed: ({ type }, context) => codec.types.get(type)?.matches?.(context) ?? codec.types.has(type),
    // Id and fee are computed, never stated.
    statedErrors: () => [],
    isExceptedShape: (transaction) => isExceptedShape(transaction, codec.types, params.exceptions),
    uniqueKinds: new Set(['delegate', 'vote']),
  });
}
