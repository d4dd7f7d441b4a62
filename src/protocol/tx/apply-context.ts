/** What applying a transaction needs beside the state, and what differs between the generations in it. */

import type { Exceptions, Generation } from '../params.ts';
import type { SignatureOracle, Transaction } from '../types.ts';

/** Where the generations differ in what a transaction does or how its refusal is worded. */
export interface TransactionDialect {
  readonly generation: Generation;
  /** Data path of a username in a refusal. */
  readonly usernamePath: string;
  /** Data path of the smallest number of signatures in a refusal. */
  readonly multisignatureMinPath: string;
  /** Whether weights of delegates move at once or at the end of the round. */
  readonly voteWeight: 'live' | 'pending';
}

export const GEN3_DIALECT: TransactionDialect = {
  generation: 3,
  usernamePath: '.asset.username',
  multisignatureMinPath: '.asset.min',
  voteWeight: 'live',
};

export const GEN2_DIALECT: TransactionDialect = {
  generation: 2,
  usernamePath: '.asset.delegate.username',
  multisignatureMinPath: '.asset.multisignature.min',
  voteWeight: 'pending',
};

/** The digests that signatures of a transaction are made over, 32 bytes each. */
interface SigningDigests {
  /** Of the primary signature and of those of group members. */
  signingDigest(transaction: Transaction): Uint8Array;
  /** Of the second signature, which also covers the first. */
  secondSigningDigest(transaction: Transaction): Uint8Array;
}

export interface ApplyTransactionContext {
  readonly dialect: TransactionDialect;
  readonly digests: SigningDigests;
  readonly exceptions: Exceptions;
  readonly verify: SignatureOracle;
}
