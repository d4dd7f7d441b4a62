/**
 * Applies the genesis block. The network defines the content of the genesis block, so the node stores the changes of
 * this block even if the rules would refuse its transactions.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { StateWriter } from '../state.ts';
import type { ApplyTransactionContext } from '../tx/apply-context.ts';
import { applyTransaction } from '../tx/apply.ts';
import { lowerKeys } from '../tx/unsigned-json.ts';
import { applyVoteWeight } from '../tx/vote-weight.ts';
import { membersOf } from '../tx/multisignature.ts';
import type { Block } from '../types.ts';

/**
 * Applies the transactions of a genesis block. The function first applies all transactions except votes, in the order
 * of the block. After that, the function applies all votes, because a vote needs a registered delegate. An account that
 * sends tokens in this block can end with a negative balance, because no account has tokens before this block.
 *
 * @throws ProtocolError `VOTED_KEY_IS_NO_DELEGATE` if a vote names a public key that the block does not register as a
 *   delegate
 */
export function applyGenesisTransactions(state: StateWriter, genesis: Block, context: ApplyTransactionContext): void {
  const votes = genesis.transactions.filter(({ payload }) => payload.kind === 'vote');
  const others = genesis.transactions.filter(({ payload }) => payload.kind !== 'vote');
  for (const transaction of [...others, ...votes]) {
    applyTransaction(state, transaction, context);
    applyVoteWeight(state, transaction, context.dialect.voteWeight, context.exceptions);
  }
  const members = others.flatMap(({ payload }) =>
    payload.kind === 'multisignature' ? membersOf(payload.keysgroup) : [],
  );
  lowerKeys(state, new Set([...others.map(({ senderId }) => senderId), ...members.map((key) => addressOf(key))]));
}
