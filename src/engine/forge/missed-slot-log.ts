/**
 * Logs the reasons why our delegates did not forge in their slots. A reason is logged only after the end of the slot,
 * because the delegate can still forge before the end. There are two exceptions. An error of an attempt to forge is
 * logged immediately (`logFailure`). When the node stops, the forging scheduler logs the reason for a slot that has not
 * ended yet (`logPending`).
 */

import { hexOf } from '../../primitives/bytes.ts';
import type { ForgingWait } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { KeyPair } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isOrderCertain } from '../slot-owners.ts';

/** A slot of one of our delegates, according to the order of forgers that follows from this node's tip. */
export interface ForgingSlot {
  readonly slot: number;
  readonly keyPair: KeyPair;
}

interface MissedSlotReason {
  readonly slot: number;
  readonly code: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface MissedSlotLogDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip' | 'currentSlot'>;
  readonly observer: Observer;
}

export class MissedSlotLog {
  readonly #dependencies: MissedSlotLogDependencies;
  /** The stored reason, which is not logged yet. */
  #pending: MissedSlotReason | undefined;
  /** The last slot with a log line. A slot gets only one log line. */
  #loggedSlot = -1;

  constructor(dependencies: MissedSlotLogDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Stores the reason why a delegate does not forge in its slot. For each slot, only the first reason is stored,
   * because later reasons can be consequences of the first reason. If the first reason is normal (level `info`), a
   * warning replaces it.
   */
  record(
    { slot, keyPair }: ForgingSlot,
    code: string,
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ): void {
    const level = code === 'FORGING_NOT_BEGUN' ? 'info' : 'warn';
    const stored = this.#pending?.slot === slot ? this.#pending : undefined;
    const isReplaced = stored?.level === 'info' && level === 'warn';
    if (slot === this.#loggedSlot || (stored !== undefined && !isReplaced)) return;
    const { chain } = this.#dependencies;
    const { header } = chain.tip;
    const height = header.height + 1;
    const isOurs = isOrderCertain(header, slot, chain.rules.params);
    const order = isOurs ? {} : { orderOfHeight: height };
    this.#pending = {
      slot,
      code,
      level,
      message: isOurs ? message : `${message}, by an order of delegates that may be out of date`,
      fields: { height, delegate: hexOf(keyPair.publicKey), ...order, ...fields },
    };
  }

  /**
   * Logs an error of an attempt to forge in the current slot. The error is logged immediately, because it matters even
   * if one of our delegates forges in the slot later.
   */
  logFailure(code: string, fields: Readonly<Record<string, unknown>>): void {
    const slot = this.#dependencies.chain.currentSlot();
    this.#log({ slot, code, level: 'error', message: 'could not forge', fields });
  }

  /** Drops the stored reason. Called when the delegate has forged in the slot. */
  drop(): void {
    this.#pending = undefined;
  }

  /** Logs the stored reason if its slot is over. */
  logIfOver(): void {
    if (this.#pending !== undefined && this.#pending.slot !== this.#dependencies.chain.currentSlot()) this.logPending();
  }

  /**
   * Logs the stored reason. Logs nothing if the tip is a block that another delegate forged in the slot of this reason.
   * The slot then belonged to the other delegate.
   */
  logPending(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return;
    const { rules, tip } = this.#dependencies.chain;
    const { timestamp, generatorPublicKey } = tip.header;
    const isOthers = generatorPublicKey !== pending.fields['delegate'];
    if (slotAt(timestamp, rules.params) !== pending.slot || !isOthers) this.#log(pending);
  }

  #log({ slot, level, code, message, fields }: MissedSlotReason): void {
    if (slot === this.#loggedSlot) return;
    this.#loggedSlot = slot;
    if (this.#pending?.slot === slot) this.#pending = undefined;
    this.#dependencies.observer.log(level, code, message, { slot, ...fields });
  }
}

/** Returns the fields of a log line about a wait. */
export function waitFieldsOf({ reason, untilMs }: ForgingWait): Record<string, unknown> {
  return { reason, ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }) };
}

/**
 * Returns the field of a log line that states since when writes fail. Returns no field if `writesFailSinceMs` (Unix
 * time in milliseconds) is undefined.
 */
export function failureFieldsOf(writesFailSinceMs: number | undefined): Record<string, unknown> {
  return writesFailSinceMs === undefined ? {} : { writesFailSince: new Date(writesFailSinceMs).toISOString() };
}
