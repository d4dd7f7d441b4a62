/** Bytes and digests of the transactions that a chain of generation 3 can hold. */

import { createTransactionBytes } from '../tx/transaction-bytes.ts';
import type { TransactionLayout } from '../tx/transaction-type.ts';
import { GEN3_TYPES } from './transaction-types.ts';

const LAYOUTS: ReadonlyMap<number, TransactionLayout> = GEN3_TYPES;

export const {
  layoutOf,
  basicBytes,
  transactionBytes,
  signedBytes,
  signingDigest,
  secondSigningDigest,
  primaryCheck,
  withId,
} = createTransactionBytes(LAYOUTS);
