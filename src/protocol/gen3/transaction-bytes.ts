/** Computes the bytes and digests of all transactions that a chain of generation 3 can contain. */

import { LEGACY_LAYOUTS } from '../gen2/layouts.ts';
import { createTransactionBytes } from '../tx/transaction-bytes.ts';
import type { TransactionLayout } from '../tx/transaction-type.ts';
import { GEN3_TYPES } from './transaction-types.ts';

/** Layouts of the transaction types of generation 3, and of the older transaction types 0 to 7. */
const LAYOUTS: ReadonlyMap<number, TransactionLayout> = new Map([...LEGACY_LAYOUTS, ...GEN3_TYPES]);

export const {
  layoutOf,
  basicBytes,
  transactionBytes,
  signedBytes,
  signingDigest,
  secondSigningDigest,
  primaryCheck,
  computedId,
  withId,
  forget,
} = createTransactionBytes(LAYOUTS);
