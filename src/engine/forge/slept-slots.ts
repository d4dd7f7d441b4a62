/**
 * Finds and logs slots of our delegates that passed while the forging scheduler did not run. There are four possible
 * causes: the machine was suspended, the process was stopped (for example by a pause of its container), other work
 * delayed the scheduler, or somebody set the clock forward.
 */

import type { Observer } from '../../ports/observer.ts';
import { firstHeightOf, ownerOfSlot, roundOf } from '../../protocol/rounds.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isOrderCertain } from '../slot-owners.ts';
import { causeOf, isSetPast, type Passage } from './clock-watch.ts';

export interface SleptSlotsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'currentSlot'>;
  readonly isEnabled: (publicKey: PublicKey) => boolean;
  readonly observer: Observer;
}

export class SleptSlots {
  readonly #dependencies: SleptSlotsDependencies;
  /** The slot in which `check` or `pass` was last called; -1 before the first call. */
  #checkedSlot = -1;

  constructor(dependencies: SleptSlotsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes `check` ignore the current slot and all slots before it. The scheduler calls this method while forging is
   * suspended, and before it forges on request.
   */
  pass(): void {
    this.#checkedSlot = this.#dependencies.chain.currentSlot();
  }

  /**
   * Logs our slots that passed since the last check and have no block. Looks back over at most `activeDelegates` slots.
   * Leaves out the slot of the last check and the current slot. In these two slots, the scheduler ran, so other log
   * lines explain why a block is missing. If `pass` was not called before, the first call logs nothing. The method
   * finds the owner of a slot in the order of forgers for the round of the next block. If it is possible that other
   * nodes have blocks with which a later round began before the slot, the line has the field `orderOfHeight`, like the
   * lines of `missed-slot-log.ts`. The order of forgers in the later round is perhaps different, so another delegate
   * perhaps owns the slot.
   *
   * @param passage changes of the clocks since the last check; undefined if unknown
   */
  check(passage: Passage | undefined): void {
    const { chain, isEnabled, observer } = this.#dependencies;
    const { rules, state, tip } = chain;
    const slot = chain.currentSlot();
    const first = Math.max(this.#checkedSlot + 1, slot - rules.params.activeDelegates);
    const isFirstCheck = this.#checkedSlot < 0;
    this.#checkedSlot = slot;
    if (isFirstCheck || first >= slot) return;
    const forgers = rules.forgers(state, tip.header.height + 1);
    // Two kinds of passed slots are not logged: slots with a block in the chain (`filled`), and slots before the round
    // of the next block (before `orderSince`). `forgers` is the order of forgers in the round of the next block.
    // Earlier rounds can have another order, so the owner of an earlier slot is not known here.
    const { filled, orderSince } = this.#slotsSince(first);
    const reason = passage && causeOf(passage);
    const [code, message] =
      passage !== undefined && isSetPast(passage)
        ? (['FORGING_SLOT_SKIPPED', 'the clock was set past a slot of ours'] as const)
        : (['FORGING_SLOT_SLEPT', 'a slot of ours passed while the node was busy or asleep'] as const);
    const height = tip.header.height + 1;
    for (let slept = Math.max(first, orderSince); slept < slot; slept += 1) {
      const delegate = ownerOfSlot(forgers, slept, rules.params);
      if (delegate === undefined || !isEnabled(delegate) || filled.has(slept)) continue;
      const isOurs = isOrderCertain(tip.header, slept, rules.params);
      observer.log('warn', code, isOurs ? message : `${message}, by an order of delegates that may be out of date`, {
        slot: slept,
        delegate,
        height,
        ...(isOurs ? {} : { orderOfHeight: height }),
        ...(reason === undefined ? {} : { reason }),
      });
    }
  }

  /**
   * Returns two values about the round of the next block. `filled` contains the slots of the blocks that the chain
   * already has in this round, without the slots before `first`. `orderSince` is the first slot of this round, or
   * `first` if `first` is later. The order of forgers in this round does not apply to the slots before the first slot
   * of the round.
   */
  #slotsSince(first: number): { readonly filled: ReadonlySet<number>; readonly orderSince: number } {
    const { rules, state, tip } = this.#dependencies.chain;
    const filled = new Set<number>();
    const firstOfRound = firstHeightOf(roundOf(tip.header.height + 1, rules.params), rules.params);
    let orderSince = first;
    for (let height = tip.header.height; height >= 1; height -= 1) {
      const header = state.header(height);
      const slot = header === undefined ? -1 : slotAt(header.timestamp, rules.params);
      if (height < firstOfRound) orderSince = Math.max(orderSince, slot + 1);
      if (slot < first || height < firstOfRound) break;
      filled.add(slot);
    }
    return { filled, orderSince };
  }
}
