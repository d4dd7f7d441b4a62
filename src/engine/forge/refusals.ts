/**
 * The reasons why slots of ours were not used. A reason is logged when the slot is over. Until then the slot may yet be used,
 * and a node must not call a slot missed and forge in it a second later.
 */

import { hexOf } from '../../primitives/bytes.ts';
import type { Observer } from '../../ports/observer.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { KeyPair } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isOrderCertain } from '../slot-owners.ts';

/** A slot of one of our delegates, by the forging order that this node knows. */
export interface ForgingSlot {
  readonly slot: number;
  readonly keyPair: KeyPair;
}

interface Refusal {
  readonly slot: number;
  readonly code: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RefusalsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip' | 'currentSlot'>;
  readonly observer: Observer;
}

export class Refusals {
  readonly #dependencies: RefusalsDependencies;
  #pending: Refusal | undefined;
  /** Last slot with a log line, so that no slot has two. */
  #toldSlot = -1;

  constructor(dependencies: RefusalsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Keeps the first reason of a slot: later reasons may follow from it. */
  note({ slot, keyPair }: ForgingSlot, code: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    if (slot === this.#toldSlot || slot === this.#pending?.slot) return;
    const { chain } = this.#dependencies;
    const { header } = chain.tip;
    const height = header.height + 1;
    const isOurs = isOrderCertain(header, slot, chain.rules.params);
    const order = isOurs ? {} : { orderOfHeight: height };
    this.#pending = {
      slot,
      code,
      level: code === 'FORGING_NOT_BEGUN' ? 'info' : 'warn',
      message: isOurs ? message : `${message}, by an order that may be out of date`,
      fields: { height, delegate: hexOf(keyPair.publicKey), ...order, ...fields },
    };
  }

  /** Logs a failure in the present slot at once: it happened, whether or not the slot is used later. */
  tellFailure(code: string, fields: Readonly<Record<string, unknown>>): void {
    const slot = this.#dependencies.chain.currentSlot();
    this.#tell({ slot, code, level: 'error', message: 'could not forge', fields });
  }

  /** The slot was used after all. */
  drop(): void {
    this.#pending = undefined;
  }

  /** Logs the reason of a slot that is over. */
  look(): void {
    if (this.#pending !== undefined && this.#pending.slot !== this.#dependencies.chain.currentSlot())
      this.tellPending();
  }

  /** Logs the pending reason, unless another delegate has used the slot: then it was not ours. */
  tellPending(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return;
    const { rules, tip } = this.#dependencies.chain;
    const { timestamp, generatorPublicKey } = tip.header;
    const isOthers = generatorPublicKey !== pending.fields['delegate'];
    if (slotAt(timestamp, rules.params) !== pending.slot || !isOthers) this.#tell(pending);
  }

  #tell({ slot, level, code, message, fields }: Refusal): void {
    if (slot === this.#toldSlot) return;
    this.#toldSlot = slot;
    if (this.#pending?.slot === slot) this.#pending = undefined;
    this.#dependencies.observer.log(level, code, message, { slot, ...fields });
  }
}
