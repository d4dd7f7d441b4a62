/**
 * Checks transactions of the pool against the state and the height of the present tip, with the functions of the rules.
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
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Checks signatures. The implementation should cache its results, because the pool verifies a transaction several times. */
  readonly verify: SignatureOracle;
}

/**
 * Lists the reasons why the type of a new transaction may not enter the pool. An empty list allows the type.
 *
 * The reference (lisk-sdk) makes this check without a height, and so refuses every type that is limited to a range of
 * heights. Transactions of these limited types belong to old heights, and reach a node only in blocks.
 */
export function typeErrorsOnEntry({ rules }: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return rules.typeErrors(transaction, {});
}

/** Makes all checks that need no state: the type at the tip and the primary signature. */
export function validateAtTip(context: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return context.rules.validateTransaction(transaction, contextOf(context.tip()), context.verify);
}

/** Checks whether the type is allowed at the tip. Then makes all checks that depend on the state. */
export function verifyAtTip(context: PoolContext, transaction: Transaction): TransactionVerdict {
  const { rules } = context;
  const typeErrors = rules.typeErrors(transaction, contextOf(context.tip()));
  if (typeErrors.length > 0) return { status: 'fail', errors: typeErrors };
  const nowS = epochTimeS(context.clock.nowMs(), rules.params);
  return rules.verifyTransaction(context.state(), transaction, nowS, context.verify);
}

/** True if the slot of the timestamp has not begun. */
export function isInFuture({ rules, clock }: PoolContext, transaction: Transaction): boolean {
  const { params } = rules;
  return slotAt(transaction.timestamp, params) > slotAt(epochTimeS(clock.nowMs(), params), params);
}

/** Returns whether a group transaction has enough members' signatures in the present state; `none` if it needs none. */
export function groupOf(context: PoolContext, transaction: Transaction): Pooled['group'] {
  return context.rules.multisignatureStatus(context.state(), transaction, context.verify);
}

function contextOf(tip: BlockHeader): TransactionContext {
  return { blockHeight: tip.height, blockVersion: tip.version, blockTimestamp: tip.timestamp };
}
