/** Finds the owners of the next slots: the delegates that are allowed to forge in these slots. */

import { addressOf } from '../crypto/keys.ts';
import type { Clock } from '../ports/clock.ts';
import type { Forger } from '../ports/node-api.ts';
import type { Page } from '../ports/queries.ts';
import type { ChainReader } from '../ports/store.ts';
import { ownerOfSlot } from '../protocol/rounds.ts';
import type { Rules } from '../protocol/rules.ts';
import { slotAtMs } from '../protocol/slots.ts';
import type { PublicKey } from '../protocol/types.ts';

export interface ForgingChain {
  /** Store of the chain, which contains the genesis block and possibly further blocks. */
  readonly store: ChainReader;
  readonly rules: Rules;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Returns the order of the delegates in the round of the next block, as `Rules.forgers` describes it. */
export function forgingOrder({ store, rules }: Omit<ForgingChain, 'clock'>): readonly PublicKey[] {
  return rules.forgers(store, (store.tip()?.height ?? 0) + 1);
}

/**
 * Returns the owners of slots after the present slot, in the order of the slots. The last of these slots is at most
 * `activeDelegates` slots (the length of a round) after the present slot.
 *
 * @param limit maximum number of slots to return
 * @param offset number of slots to skip after the present slot
 */
export function nextForgers(chain: ForgingChain, limit: number, offset: number): Page<Forger> {
  const { store, rules, clock } = chain;
  const order = forgingOrder(chain);
  const currentSlot = slotAtMs(clock.nowMs(), rules.params);
  const items: Forger[] = [];
  const last = Math.min(rules.params.activeDelegates, offset + limit);
  for (let ahead = offset + 1; ahead <= last; ahead += 1) {
    const publicKey = ownerOfSlot(order, currentSlot + ahead, rules.params);
    if (publicKey === undefined) continue;
    const username = store.delegate(publicKey)?.username ?? '';
    items.push({ publicKey, address: addressOf(publicKey), username, nextSlot: currentSlot + ahead });
  }
  return { items, total: order.length };
}
