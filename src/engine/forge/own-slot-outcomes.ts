/**
 * Finds in the chain the outcomes (forged, missed or reverted) of the slots of this node's delegates. A slot without a
 * block counts as missed as soon as the chain has a block of a later slot (`#emptyBefore` lists the exceptions). The
 * height of the later block determines the order of forgers, so the owner of the empty slot is certain. If slots passed
 * while this node was behind, the node finds their outcomes when it gets the later blocks. Empty slots from before the
 * start of the node count as missed only on two conditions: the notifier (`node/notify/notifier.ts`) runs, and an
 * earlier run of the node stored the height up to which the notifier had examined the chain (`node/notify/start.ts`).
 */

import type { Observer } from '../../ports/observer.ts';
import { ownerOfSlot } from '../../protocol/rounds.ts';
import type { Rules } from '../../protocol/rules.ts';
import type { StateReader } from '../../protocol/state.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { Block, BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { ChainListener } from '../chain-listeners.ts';

/**
 * Maximum number of slots that one log line names. If there are more slots, the line names the latest slots. The line
 * always states the total number of slots.
 */
const SLOTS_NAMED_MAX = 20;

/** The codes of the log lines for missed slots and for reverted blocks. */
export const SLOT_CODES = { missed: 'OWN_SLOTS_MISSED', reverted: 'OWN_BLOCKS_REVERTED' } as const;

const RESULTS = ['forged', 'missed', 'reverted'] as const;

export interface OwnSlotOutcomesDependencies {
  readonly rules: Pick<Rules, 'forgers' | 'params'>;
  readonly state: () => StateReader;
  readonly isOwn: (publicKey: PublicKey) => boolean;
  /** Whether the node leaves slots empty on purpose, as in a devnet that forges blocks only on request. */
  readonly isForgingSuspended: () => boolean;
  readonly observer: Observer;
}

/** Reports that one change of the chain made slots of one delegate count as missed or reverted. */
export interface OwnSlotsEvent {
  readonly kind: 'missed' | 'reverted';
  readonly delegate: PublicKey;
  /** At least one slot, in ascending order. */
  readonly slots: readonly number[];
  /**
   * If `kind` is `missed`, the height of the highest block that this change of the chain applied. If `kind` is
   * `reverted`, the height of the highest block that the change reverted.
   */
  readonly height: number;
}

export class OwnSlotOutcomes implements ChainListener {
  readonly #dependencies: OwnSlotOutcomesDependencies;
  readonly #listeners: ((event: OwnSlotsEvent) => void)[] = [];
  /** This slot and all earlier slots do not count as missed if they are empty. */
  #skippedTo = -1;

  constructor(dependencies: OwnSlotOutcomesDependencies) {
    this.#dependencies = dependencies;
    // The counters exist from the start, with the value 0. If a counter first appeared with the value 1, a Prometheus
    // query for its increase would not count the first slot.
    for (const result of RESULTS) dependencies.observer.count('own_slots_total', 0, { result });
  }

  /** Adds a listener. Listeners must not throw. */
  listen(listener: (event: OwnSlotsEvent) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * After this call, this slot and all earlier slots do not count as missed if they are empty. The node calls this
   * method when the node starts. A devnet also calls this method after each change of the chain clock.
   */
  skipTo(slot: number): void {
    this.#skippedTo = Math.max(this.#skippedTo, slot);
  }

  applied(blocks: readonly Block[]): void {
    const { isOwn, observer } = this.#dependencies;
    const missed = new SlotsByDelegate();
    for (const block of blocks) {
      if (isOwn(block.generatorPublicKey)) observer.count('own_slots_total', 1, { result: 'forged' });
      for (const { slot, delegate } of this.#emptyBefore(block)) missed.add(delegate, slot);
    }
    this.#report('missed', missed, blocks);
  }

  reverted(blocks: readonly Block[]): void {
    const { isOwn, rules } = this.#dependencies;
    const reverted = new SlotsByDelegate();
    for (const { generatorPublicKey, timestamp } of [...blocks].reverse()) {
      if (isOwn(generatorPublicKey)) reverted.add(generatorPublicKey, slotAt(timestamp, rules.params));
    }
    this.#report('reverted', reverted, blocks);
  }

  /**
   * Returns the empty slots of our delegates between a block and its parent. Looks back over at most `activeDelegates`
   * slots, and leaves out the slots that `skipTo` excludes. Returns no slots while forging is suspended.
   */
  #emptyBefore({ height, timestamp }: BlockHeader): readonly { readonly slot: number; readonly delegate: PublicKey }[] {
    const { rules, state, isOwn, isForgingSuspended } = this.#dependencies;
    const { params } = rules;
    if (isForgingSuspended()) return [];
    const parent = state().header(height - 1);
    // The network begins with the first forged block, so earlier slots do not count as missed.
    if (parent === undefined || parent.height === 1) return [];
    const slot = slotAt(timestamp, params);
    const first = Math.max(slotAt(parent.timestamp, params) + 1, slot - params.activeDelegates, this.#skippedTo + 1);
    if (first >= slot) return [];
    const order = rules.forgers(state(), height);
    return Array.from({ length: slot - first }, (_, index) => first + index).flatMap((empty) => {
      const delegate = ownerOfSlot(order, empty, params);
      return delegate !== undefined && isOwn(delegate) ? [{ slot: empty, delegate }] : [];
    });
  }

  #report(kind: OwnSlotsEvent['kind'], byDelegate: SlotsByDelegate, blocks: readonly Block[]): void {
    const { observer } = this.#dependencies;
    const height = Math.max(...blocks.map((block) => block.height));
    for (const [delegate, slots] of byDelegate) {
      observer.count('own_slots_total', slots.length, { result: kind });
      const message =
        kind === 'missed'
          ? 'slots of our delegates have no block in the chain'
          : 'blocks of our delegates were reverted for another branch';
      const named = slots.slice(-SLOTS_NAMED_MAX).join(' ');
      observer.log('warn', SLOT_CODES[kind], message, { delegate, count: slots.length, slots: named, height });
      for (const listener of this.#listeners) listener({ kind, delegate, slots, height });
    }
  }
}

class SlotsByDelegate {
  readonly #slots = new Map<PublicKey, number[]>();

  add(delegate: PublicKey, slot: number): void {
    const slots = this.#slots.get(delegate);
    if (slots === undefined) this.#slots.set(delegate, [slot]);
    else slots.push(slot);
  }

  [Symbol.iterator](): Iterator<[PublicKey, readonly number[]]> {
    return this.#slots.entries();
  }
}
