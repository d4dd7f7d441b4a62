/**
 * Computes the bytes and digests of transactions of generation 2. In generation 2, bytes and digests do not include a
 * network identifier.
 */

import { createTransactionBytes } from '../tx/transaction-bytes.ts';
import { LEGACY_LAYOUTS } from './layouts.ts';

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
} = createTransactionBytes(LEGACY_LAYOUTS);
