/**
 * Mines slots of a devnet: makes the nodes forge in one slot after the other, and passes each new block to the other
 * nodes. The caller must not call `mine` before the earlier call has ended.
 */

import type { ChainParams } from '../../protocol/params.ts';
import { slotAtMs, slotStartMs } from '../../protocol/slots.ts';
import type { DevnetClock } from './devnet-clock.ts';
import type { AgentState } from './messages.ts';
import type { NodeLinks } from './node-links.ts';

export interface SlotMinerOptions {
  readonly params: ChainParams;
  readonly nodes: NodeLinks;
  readonly clock: DevnetClock;
  readonly isStopped: () => boolean;
}

export interface Mined {
  /**
   * The state that the forger of the last block reported directly after it had forged this block. If no node forged,
   * this member is the state that the node with the highest tip reported before the mining.
   */
  readonly state: AgentState;
  readonly emptySlots: number;
  /** Number of transactions in the last block that was forged in the mined slots; 0 if no node forged. */
  readonly transactions: number;
}

export class SlotMiner {
  readonly #options: SlotMinerOptions;
  /**
   * The newest slot that has a block or in which the nodes were asked to forge. The miner tries each slot only once.
   * Without this rule, the miner would try the slot of a stopped node again and again while the clock is frozen.
   */
  #triedSlot = -1;

  constructor(options: SlotMinerOptions) {
    this.#options = options;
  }

  /** Forgets which slots were tried. The caller must call this method when the clock is set back. */
  forget(): void {
    this.#triedSlot = -1;
  }

  /**
   * Makes the owners of the next `count` slots forge, one after the other. Afterwards the nodes forge only on request,
   * and their clocks stand still in the last slot. After each call of this method, even after a failed call, the caller
   * must therefore set the clocks of the nodes.
   *
   * @throws ProtocolError `DEVNET_NODE_SILENT` when no node answers
   */
  async mine(count: number): Promise<Mined> {
    const { params, nodes, clock, isStopped } = this.#options;
    const states = await nodes.askAll({ op: 'state' });
    let state = states.reduce((best, each) => (each.tip.height > best.tip.height ? each : best));
    this.#triedSlot = Math.max(this.#triedSlot, this.#filledBy(states));
    let [emptySlots, transactions] = [0, 0];
    for (let mined = 0; mined < count && !isStopped(); mined += 1) {
      const nowMs = clock.nowMs();
      const slot = Math.max(slotAtMs(nowMs, params), this.#triedSlot + 1);
      this.#triedSlot = slot;
      const atMs = Math.max(nowMs, slotStartMs(slot, params));
      if (atMs > nowMs) clock.moveTo(atMs);
      // All nodes must have the new time before they receive a block of the new slot. The clocks of the nodes stand
      // still. If the clocks ran, the slot could end before its owner forges, and the slot would stay empty.
      await nodes.askAll({ op: 'set', setting: { kind: 'frozen', atMs }, isHeld: true, isBrief: true });
      const answers = await nodes.answers(nodes.all(), { op: 'forge' });
      // If the clocks or the chains of the nodes differ, several nodes can forge at the same time.
      const forgers = answers.flatMap(({ link, state: { forged }, state: after }) =>
        forged === undefined ? [] : [{ link, forged, after }],
      );
      if (forgers.length === 0) emptySlots += 1;
      // If the clock of a node is ahead of the devnet's clock, the node possibly forged its block in a slot after
      // `slot`. The devnet's clock possibly reached this later slot while the nodes forged. Only in this case, the
      // later slot counts as tried.
      this.#triedSlot = Math.max(this.#triedSlot, this.#filledBy(forgers.map(({ after }) => after)));
      for (const { link, forged, after } of forgers) {
        state = after;
        transactions = Number(forged['numberOfTransactions'] ?? 0);
        await nodes.ask(nodes.reachedBy(link), { op: 'take', blocks: [forged] });
      }
    }
    return { state, emptySlots, transactions };
  }

  /**
   * Returns the newest slot among the tips of the nodes, but ignores tips in future slots. Returns -1 if all tips are
   * in future slots, or if `states` is empty. A node whose clock is ahead can have a tip in a future slot. If such a
   * tip counted, the miner would skip all slots between the devnet's time and this tip.
   */
  #filledBy(states: readonly AgentState[]): number {
    const { params, clock } = this.#options;
    const slotNow = slotAtMs(clock.nowMs(), params);
    return Math.max(-1, ...states.map(({ tip }) => tip.slot).filter((slot) => slot <= slotNow));
  }
}
