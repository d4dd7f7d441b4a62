/**
 * Checks transactions of the pool against the state and the height of the current tip, with the functions of the rules.
 */

import type { Clock } from '../../ports/clock.ts';
import type { Rules, TransactionContext } from '../../protocol/rules.ts';
import { epochTimeS, slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, SignatureOracle, Transaction } from '../../protocol/types.ts';
import type { TransactionError, TransactionVerdict } from '../../protocol/verdict.ts';
import type { Pooled } from './queues.ts';

export interface PoolContext {
  readonly rules: Rules;
  /** The state at the tip. */
  readonly state: () => StateReader;
  readonly tip: () => BlockHeader;
  /** The chain clock, from which the node computes slots. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Checks signatures. The implementation should cache its results, because the pool verifies a transaction several
   * times.
   */
  readonly verify: SignatureOracle;
}

/**
 * Returns the errors for a new transaction whose type the pool must refuse; an empty list if the type is allowed.
 *
 * This function and the corresponding check of the reference (lisk-sdk) do not consider the height. Both therefore
 * refuse every type that the network allows only in a range of heights. Transactions of these types exist only in old
 * blocks, and a node gets these transactions only with these blocks.
 */
export function typeErrorsOnEntry({ rules }: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return rules.typeErrors(transaction, {});
}

/**
 * Calls `Rules.validateTransaction` with the height, version and timestamp of the tip, and returns the errors. The
 * checks cover the type and the primary signature, and in generation 2 also id and fee.
 */
export function validateAtTip(context: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return context.rules.validateTransaction(transaction, contextOf(context.tip()), context.verify);
}

/** Checks whether the type is allowed at the tip. If the type is allowed, makes all checks that depend on the state. */
export function verifyAtTip(context: PoolContext, transaction: Transaction): TransactionVerdict {
  const { rules } = context;
  const typeErrors = rules.typeErrors(transaction, contextOf(context.tip()));
  if (typeErrors.length > 0) return { status: 'fail', errors: typeErrors };
  const nowS = epochTimeS(context.clock.nowMs(), rules.params);
  return rules.verifyTransaction(context.state(), transaction, nowS, context.verify);
}

/** Returns whether the slot of the transaction's timestamp is in the future. */
export function isInFuture({ rules, clock }: PoolContext, transaction: Transaction): boolean {
  const { params } = rules;
  return slotAt(transaction.timestamp, params) > slotAt(epochTimeS(clock.nowMs(), params), params);
}

/**
 * Checks the members' signatures of a transaction against the state at the tip. Returns `ready` if the transaction has
 * enough members' signatures and all of them are valid. Returns `none` if the transaction needs no members' signatures
 * and has no members' signatures. Returns `pending` in all other cases.
 */
export function groupOf(context: PoolContext, transaction: Transaction): Pooled['group'] {
  return context.rules.multisignatureStatus(context.state(), transaction, context.verify);
}

function contextOf(tip: BlockHeader): TransactionContext {
  return { blockHeight: tip.height, blockVersion: tip.version, blockTimestamp: tip.timestamp };
}
