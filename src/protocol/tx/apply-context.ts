/**
 * Defines the context in which a transaction is applied. The context contains the differences between the generations,
 * the digests to be signed, the exceptions of the network, and the check of signatures. The state is not part of the
 * context.
 */

import type { Exceptions, Generation } from '../params.ts';
import type { SignatureOracle, Transaction } from '../types.ts';

/** Differences between the generations in the effects of a transaction, or in the text of its errors. */
export interface TransactionDialect {
  readonly generation: Generation;
  /** The `dataPath` of errors about a username. */
  readonly usernamePath: string;
  /** The `dataPath` of errors about the minimum number of signatures. */
  readonly multisignatureMinPath: string;
  /** Whether vote weights change immediately (`live`) or at the end of the round (`pending`). */
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

/** The digests that the signers of a transaction sign, 32 bytes each. */
interface SigningDigests {
  /** Digest for the primary signature and for members' signatures. */
  signingDigest(transaction: Transaction): Uint8Array;
  /** Digest for the second signature; the digest also covers the primary signature. */
  secondSigningDigest(transaction: Transaction): Uint8Array;
}

export interface ApplyTransactionContext {
  readonly dialect: TransactionDialect;
  readonly digests: SigningDigests;
  readonly exceptions: Exceptions;
  readonly verify: SignatureOracle;
}
