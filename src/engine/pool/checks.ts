/** What the pool asks of the rules, always against the chain as it stands at that moment. */

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
  /** Should remember its answers: a transaction is looked at several times on its way. */
  readonly verify: SignatureOracle;
}

/**
 * Why a transaction that just came in may not enter because of its type.
 *
 * The reference hands a context without a height to this check, which refuses every type that is limited to a range of
 * heights: such transactions belong to history and reach a node in blocks only.
 */
export function typeErrorsOnEntry({ rules }: PoolContext, transaction: Transaction): readonly TransactionError[] {
  return rules.typeErrors(transaction, {});
}

/** Everything that can be said without the state: the type at the tip and the primary signature. */
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

/** Where a transaction stands with its group's signatures, as of now. */
export function groupOf(context: PoolContext, transaction: Transaction): Pooled['group'] {
  return context.rules.multisignatureStatus(context.state(), transaction, context.verify);
}

function contextOf(tip: BlockHeader): TransactionContext {
  return { blockHeight: tip.height, blockVersion: tip.version, blockTimestamp: tip.timestamp };
}
