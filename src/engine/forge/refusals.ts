/**
 * Logs the reasons why slots of our delegates were not used. A reason is logged only when its slot is over, because the
 * delegate may still forge before the end of the slot. An earlier log line could report a slot as missed in which the
 * delegate forges a second later.
 */

import { hexOf } from '../../primitives/bytes.ts';
import type { Observer } from '../../ports/observer.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { KeyPair } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isOrderCertain } from '../slot-owners.ts';

/** A slot that belongs to one of our delegates by the order of forgers that this node knows. */
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
  /** The last slot that has a log line. No slot gets two log lines. */
  #toldSlot = -1;

  constructor(dependencies: RefusalsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Stores the first reason for a slot only, because later reasons may be consequences of the first. */
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

  /** Logs a failure in the present slot at once, because it matters even if the slot is used later. */
  tellFailure(code: string, fields: Readonly<Record<string, unknown>>): void {
    const slot = this.#dependencies.chain.currentSlot();
    this.#tell({ slot, code, level: 'error', message: 'could not forge', fields });
  }

  /** Drops the pending reason. Called when the slot was used after all. */
  drop(): void {
    this.#pending = undefined;
  }

  /** Logs the pending reason if its slot is over. */
  look(): void {
    if (this.#pending !== undefined && this.#pending.slot !== this.#dependencies.chain.currentSlot())
      this.tellPending();
  }

  /** Logs the pending reason. If another delegate has used the slot, nothing is logged, because the slot was not ours. */
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
