/**
 * The codec and the transaction rules of this node, with the parameters that the comparison with the reference
 * (lisk-sdk) uses.
 */

import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { LruMap } from '../../src/primitives/bounded.ts';
import { createGen2Codec } from '../../src/protocol/gen2/codec.ts';
import { createTransactionRules as createGen2TransactionRules } from '../../src/protocol/gen2/transactions.ts';
import { createGen3Codec } from '../../src/protocol/gen3/codec.ts';
import { createTransactionRules as createGen3TransactionRules } from '../../src/protocol/gen3/transactions.ts';
import { NO_EXCEPTIONS, type ChainParams, type Generation } from '../../src/protocol/params.ts';
import type { Codec } from '../../src/protocol/rules.ts';
import type { TransactionRules } from '../../src/protocol/tx/transaction-rules.ts';
import type { SignatureOracle, Transaction } from '../../src/protocol/types.ts';
import { TransactionRejected } from '../../src/protocol/verdict.ts';
import { paramsWith } from '../support/fixtures.ts';
import { NETWORK_IDENTIFIER } from './documents.ts';
import { Refused } from './comparison.ts';

const ed25519 = defaultEd25519();

/**
 * Maximum number of results in the signature cache. The cache saves time, because a case causes several checks of the
 * same signature.
 */
const ANSWERS_MAX = 4_096;
const answers = new LruMap<string, boolean>(ANSWERS_MAX);

export const verify: SignatureOracle = ({ publicKey, message, signature }) => {
  const key = Buffer.concat([publicKey, message, signature]).toString('latin1');
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = ed25519.verify({ publicKey, message, signature });
  answers.set(key, answer);
  return answer;
};

export interface Ours {
  readonly params: ChainParams;
  readonly codec: Codec;
  readonly rules: TransactionRules;
}

/** @param olderTypesBelow height below which blocks may contain transactions of the types 5, 6 and 7 */
export function oursOf(generation: Generation, olderTypesBelow = 0): Ours {
  const precedent = {
    disableDappTransfer: olderTypesBelow,
    disableDappTransaction: olderTypesBelow,
    disableV1Transactions: 0,
  };
  const exceptions = { ...NO_EXCEPTIONS, precedent };
  const params = paramsWith({ generation, networkIdentifier: NETWORK_IDENTIFIER, exceptions });
  if (generation === 2) {
    const codec = createGen2Codec(params);
    return { params, codec, rules: createGen2TransactionRules(params, codec) };
  }
  const codec = createGen3Codec(params);
  return { params, codec, rules: createGen3TransactionRules(params, codec) };
}

/** Decodes and validates a transaction as in a block at height 1. @throws Refused with the first reason */
export function readValid({ codec, rules }: Ours, json: unknown): Transaction {
  const transaction = read(codec, json);
  const [error] = rules.validateTransaction(transaction, { blockHeight: 1 }, verify);
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
