/** Creates the rules of generation 3 for single transactions and for batches (lists) of transactions. */

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
    // The JSON of a transaction can state an id and a fee. In this generation, nodes compute the id and the fee
    // themselves, and ignore both stated values. A wrong value is therefore not an error.
    statedErrors: () => [],
    isExceptedShape: (transaction) => isExceptedShape(transaction, codec.types, params.exceptions),
    uniqueKinds: new Set(['delegate', 'vote']),
  });
}
