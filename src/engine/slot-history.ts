/**
 * Stores the events that this node observed, by slot. An event is, for example, a forged block, a pause of forging, a
 * refused block or a reverted block. The modules `chain` and `forge` log their events with the number of the slot, and
 * this class takes the events from the log. The report of a slot therefore contains only events of this slot, and no
 * other events from about the same time. The class ignores log lines of other modules. The class separately stores
 * three kinds of events that concern no single slot: switching forging on or off, leaving a branch, and an uncertain
 * order of delegates.
 */

import type { Clock } from '../ports/clock.ts';
import type { SlotFact, SlotRange, SlotReport } from '../ports/slot-report.ts';
import type { LogFields, Observer } from '../ports/observer.ts';
import { plainFields } from './diagnostics.ts';

/**
 * Maximum number of slots with events in the history. A thousand consecutive slots are nearly ten rounds of 101 slots,
 * or nearly three hours with slots of 10 s.
 */
const SLOTS_MAX = 1000;
/**
 * Maximum number of stored events for one slot. The history drops all later events of the slot. The number is limited
 * because an attacker can send many invalid blocks for one slot.
 */
const FACTS_MAX = 8;
const SWITCHES_MAX = 500;
const BRANCHES_MAX = 200;
const OLD_ORDERS_MAX = 200;
/**
 * Maximum number of stored ranges of consecutive slots in which the forging scheduler ran. A new range begins after the
 * process has stalled for a whole slot. A new range also begins after somebody has set the clock back, or forward past
 * a slot.
 */
const LOOKS_MAX = 500;
/** Modules whose log lines with a slot number are stored as events of that slot. */
const MODULES: ReadonlySet<string> = new Set(['chain', 'forge']);
const SWITCHED = 'FORGING_SWITCHED';
const BRANCH_ABANDONED = 'BRANCH_ABANDONED';
const DELEGATE_ORDER_UNCERTAIN = 'DELEGATE_ORDER_UNCERTAIN';

/** The parts of `SlotReport` that this history supplies. The history does not supply the owners of the slots. */
export type SlotFacts = Omit<SlotReport, 'slots'> & {
  readonly slots: readonly { readonly slot: number; readonly facts: readonly SlotFact[] }[];
};

export class SlotHistory {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Events by slot, in the order in which the slots got their first event. */
  readonly #slots = new Map<number, SlotFact[]>();
  #switches: SlotReport['switches'] = [];
  #branches: SlotReport['branches'] = [];
  #oldOrders: SlotReport['oldOrders'] = [];
  #looks: readonly SlotRange[] = [];
  /** Unix time in milliseconds. It is possible that events from before this time are missing in the history. */
  #sinceMs: number;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
    this.#sinceMs = clock.nowMs();
  }

  /**
   * Returns an observer that passes all calls on to `observer`. The returned observer also stores the events of the
   * modules `chain` and `forge` in this history.
   */
  listenIn(observer: Observer, module?: string): Observer {
    return {
      module: (name) => this.listenIn(observer.module(name), name),
      log: (level, code, message, fields) => {
        if (module !== undefined && MODULES.has(module)) this.#keep(module, code, message, fields);
        observer.log(level, code, message, fields);
      },
      count: (metric, by, labels) => observer.count(metric, by, labels),
      gauge: (metric, value, labels) => observer.gauge(metric, value, labels),
      observe: (metric, value, labels) => observer.observe(metric, value, labels),
    };
  }

  /** Records that the forging scheduler ran in a slot. */
  slotChecked(slot: number): void {
    const last = this.#looks.at(-1);
    if (last?.toSlot === slot) return;
    // `#looks` contains ranges of consecutive slots in which the scheduler ran. A new range begins if the process
    // skipped a slot, or if the clock was set back to earlier slots.
    const isNext = last?.toSlot === slot - 1;
    const range = { fromSlot: isNext ? last.fromSlot : slot, toSlot: slot };
    this.#looks = [...(isNext ? this.#looks.slice(0, -1) : this.#looks), range].slice(-LOOKS_MAX);
  }

  /**
   * Returns the stored events of `count` slots from `firstSlot` on. The other members of the result cover the whole
   * history.
   */
  report(firstSlot: number, count: number): SlotFacts {
    const slots = Array.from({ length: count }, (_, index) => firstSlot + index);
    return {
      sinceMs: this.#sinceMs,
      slots: slots.map((slot) => ({ slot, facts: this.#slots.get(slot) ?? [] })),
      switches: this.#switches,
      branches: this.#branches,
      looks: this.#looks,
      oldOrders: this.#oldOrders,
    };
  }

  #keep(module: string, code: string, message: string, fields: LogFields = {}): void {
    const timeMs = this.#clock.nowMs();
    const { slot, delegate } = fields;
    if (code === SWITCHED) {
      this.#switches = [...this.#switches, { timeMs, delegate: String(delegate), on: fields['on'] === true }].slice(
        -SWITCHES_MAX,
      );
      return;
    }
    if (code === BRANCH_ABANDONED) {
      const { fromSlot, toSlot, forHeight, forBlockId } = fields;
      const branch = {
        ...{ timeMs, fromSlot: Number(fromSlot), toSlot: Number(toSlot) },
        ...(forHeight === undefined ? {} : { forHeight: Number(forHeight), forBlockId: String(forBlockId) }),
      };
      this.#branches = [...this.#branches, branch].slice(-BRANCHES_MAX);
      return;
    }
    if (code === DELEGATE_ORDER_UNCERTAIN) {
      const { fromSlot, toSlot, height } = fields;
      const old = { fromSlot: Number(fromSlot), toSlot: Number(toSlot), height: Number(height) };
      this.#oldOrders = [...this.#oldOrders, old].slice(-OLD_ORDERS_MAX);
      return;
    }
    if (typeof slot !== 'number') return;
    const facts = this.#slots.get(slot) ?? [];
    this.#slots.set(slot, facts);
    if (facts.length < FACTS_MAX) facts.push({ timeMs, module, code, message, fields: plainFields(fields) });
    if (this.#slots.size <= SLOTS_MAX) return;
    const [oldest] = this.#slots.keys();
    if (oldest === undefined) return;
    this.#sinceMs = Math.max(this.#sinceMs, this.#slots.get(oldest)?.at(-1)?.timeMs ?? 0);
    this.#slots.delete(oldest);
  }
}
