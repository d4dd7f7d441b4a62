/**
 * Defines the context in which a transaction is applied. The context contains the differences between the generations,
 * the functions that compute the signed digests of a transaction, the exceptions of the network, and the function that
 * checks a signature. The state is not part of the context.
 */

import type { Exceptions, Generation } from '../params.ts';
import type { SignatureOracle, Transaction } from '../types.ts';

/**
 * The values that are different in each generation. These values determine the effects and the errors of a transaction.
 */
export interface TransactionDialect {
  readonly generation: Generation;
  /** The `dataPath` of errors about a username. */
  readonly usernamePath: string;
  /** The `dataPath` of errors about the minimum number of members' signatures in the registration of a group. */
  readonly multisignatureMinPath: string;
  /** The time at which vote weights change: immediately (`live`), or at the end of the round (`pending`). */
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

/** The functions that compute the digests that the signers of a transaction sign. Each digest has 32 bytes. */
interface SigningDigests {
  /** Returns the digest for the primary signature and for members' signatures. */
  signingDigest(transaction: Transaction): Uint8Array;
  /** Returns the digest for the second signature. This digest also covers the primary signature. */
  secondSigningDigest(transaction: Transaction): Uint8Array;
}

export interface ApplyTransactionContext {
  readonly dialect: TransactionDialect;
  readonly digests: SigningDigests;
  readonly exceptions: Exceptions;
  readonly verify: SignatureOracle;
}
