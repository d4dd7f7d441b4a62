/** The same questions, put to this node's rules. */

import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { createGen2Codec } from '../../src/protocol/gen2/codec.ts';
import { createTransactionRules as createGen2TransactionRules } from '../../src/protocol/gen2/transactions.ts';
import { createGen3Codec } from '../../src/protocol/gen3/codec.ts';
import { createTransactionRules as createGen3TransactionRules } from '../../src/protocol/gen3/transactions.ts';
import type { ChainParams, Generation } from '../../src/protocol/params.ts';
import type { Codec } from '../../src/protocol/rules.ts';
import type { TransactionRules } from '../../src/protocol/tx/transaction-rules.ts';
import type { SignatureOracle, Transaction } from '../../src/protocol/types.ts';
import { TransactionRejected } from '../../src/protocol/verdict.ts';
import { paramsWith } from '../support/fixtures.ts';
import { NETWORK_IDENTIFIER } from './documents.ts';
import { Refused } from './comparison.ts';

const ed25519 = defaultEd25519();

export const verify: SignatureOracle = (check) => ed25519.verify(check);

export interface Ours {
  readonly params: ChainParams;
  readonly codec: Codec;
  readonly rules: TransactionRules;
}

export function oursOf(generation: Generation): Ours {
  const params = paramsWith({ generation, networkIdentifier: NETWORK_IDENTIFIER });
  if (generation === 2) {
    const codec = createGen2Codec(params);
    return { params, codec, rules: createGen2TransactionRules(params, codec) };
  }
  const codec = createGen3Codec(params);
  return { params, codec, rules: createGen3TransactionRules(params, codec) };
}

/** Reads and validates, as the pool does. @throws Refused with the first reason */
export function readValid({ codec, rules }: Ours, json: unknown): Transaction {
  const transaction = read(codec, json);
  const [error] = rules.validateTransaction(transaction, {}, verify);
  if (error !== undefined) throw new Refused(error.message);
  return transaction;
}

function read(codec: Codec, json: unknown): Transaction {
  try {
    return codec.transactionFromJson(json);
  } catch (error) {
    if (error instanceof TransactionRejected) throw new Refused(error.errors[0]?.message ?? error.message);
    throw error;
  }
}
