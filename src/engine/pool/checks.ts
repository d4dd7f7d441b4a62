/** The checks that the pool asks the rules for, always against the present chain. */

import type { Clock } from '../../ports/clock.ts';
import type { Rules, TransactionContext } from '../../protocol/rules.ts';
import { epochTimeS, slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, SignatureOracle, Transaction } from '../../protocol/types.ts';
import type { TransactionError, TransactionVerdict } from '../../protocol/verdict.ts';
import type { Pooled } from './queues.ts';

export interface PoolContext {
  readonly rules: Rules;
  /** State at the tip. */
  readonly state: () => StateReader;
  readonly tip: () => BlockHeader;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Should cache its results: the pool verifies a transaction several times. */
  readonly verify: SignatureOracle;
}

/**
 * The errors of a new transaction's type, for which it may not enter the pool.
 *
 * The reference hands a context without a height to this check, which refuses every type that is limited to a range of
 * heights: such transactions belong to history and reach a node in blocks only.
 */
export function typeErrorsOnEntry({ rules }: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return rules.typeErrors(transaction, {});
}

/** All checks that need no state: the type at the tip and the primary signature. */
export function validateAtTip(context: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return context.rules.validateTransaction(transaction, contextOf(context.tip()), context.verify);
}

/** The type at the tip, then the isolation rule. */
export function verifyAtTip(context: PoolContext, transaction: Transaction): TransactionVerdict {
  const { rules } = context;
  const typeErrors = rules.typeErrors(transaction, contextOf(context.tip()));
  if (typeErrors.length > 0) return { status: 'fail', errors: typeErrors };
  const nowS = epochTimeS(context.clock.nowMs(), rules.params);
  return rules.verifyTransaction(context.state(), transaction, nowS, context.verify);
}

/** True when the timestamp lies in a slot that has not begun. */
export function isInFuture({ rules, clock }: PoolContext, transaction: Transaction): boolean {
  const { params } = rules;
  return slotAt(transaction.timestamp, params) > slotAt(epochTimeS(clock.nowMs(), params), params);
}

/** The present state of a transaction's group signatures. */
export function groupOf(context: PoolContext, transaction: Transaction): Pooled['group'] {
  return context.rules.multisignatureStatus(context.state(), transaction, context.verify);
}

function contextOf(tip: BlockHeader): TransactionContext {
  return { blockHeight: tip.height, blockVersion: tip.version, blockTimestamp: tip.timestamp };
}
