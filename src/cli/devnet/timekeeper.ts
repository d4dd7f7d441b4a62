/**
 * Controls the time and the blocks of a devnet: one clock for all its nodes (the chain clock), and the time of the next
 * block. All changes of the clock, and all requests to forge, go through one serial queue. Therefore two commands never
 * mine in the same slot. In the mode `interval` without `intervalMs`, the nodes forge in each slot by the chain clock,
 * without a request of the timekeeper. With `intervalMs`, the timekeeper requests a block each time this interval has
 * passed.
 */

import { SerialQueue } from '../../engine/serial-queue.ts';
import type { ClockSetting } from '../../node/movable-clock.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { slotStartMs } from '../../protocol/slots.ts';
import type { JsonObject } from '../../protocol/types.ts';
import { DevnetClock, type TimeState } from './devnet-clock.ts';
import type { MiningMode } from './mining.ts';
import type { AgentLink, AgentRequest, AgentState } from './messages.ts';
import { NodeLinks, type NodeLinksOptions } from './node-links.ts';
import { SlotMiner } from './slot-miner.ts';
import { TransactionRelay } from './transaction-relay.ts';

export interface TimekeeperOptions extends NodeLinksOptions {
  readonly params: ChainParams;
  /** Clock of the machine. */
  readonly clock: Clock;
  readonly mode: MiningMode;
  /**
   * Setting of the chain clock at the end of an earlier run. If undefined, the chain clock begins with the time of the
   * machine.
   */
  readonly earlier?: ClockSetting | undefined;
  /**
   * Time between two blocks on the machine's clock in the mode `interval`, if this time is shorter than a slot. The
   * chain clock then runs ahead of the machine's clock. Undefined if both clocks run equally fast.
   */
  readonly intervalMs?: number | undefined;
  /**
   * Longest wait, in milliseconds, for all nodes to connect to their peers before the first block; default 5000; give 0
   * for nodes without peers.
   */
  readonly peersWaitMs?: number;
  /** Shows a line to the user. */
  readonly print: (line: string) => void;
}

export interface MinedSlots {
  readonly slots: number;
  /** Number of slots without a block, for example because the node of the slot owner does not run. */
  readonly emptySlots: number;
  readonly height: number;
  readonly blockId: string;
  /** Time of the chain clock, ISO 8601. */
  readonly time: string;
}

/** Default of `peersWaitMs`. Nodes on one machine connect within a fraction of a second. */
const PEERS_WAIT_MS = 5000;
const PEERS_POLL_MS = 20;
/**
 * Maximum number of slots that the devnet mines in a row in the mode `instant`, after transactions have arrived. The
 * mining ends earlier after a block without transactions, after a block that leaves the pool empty, or after a whole
 * round of consecutive empty slots.
 */
const INSTANT_SLOTS_MAX = 1_000;

export class Timekeeper {
  readonly #options: TimekeeperOptions;
  readonly #queue = new SerialQueue();
  readonly #clock: DevnetClock;
  readonly #nodes: NodeLinks;
  readonly #relay: TransactionRelay;
  readonly #miner: SlotMiner;
  #mode: MiningMode;
  #hasBegun = false;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: TimekeeperOptions) {
    this.#options = options;
    this.#clock = new DevnetClock(options.clock, options.earlier);
    this.#nodes = new NodeLinks(options);
    this.#relay = new TransactionRelay(this.#nodes);
    this.#miner = new SlotMiner({
      params: options.params,
      nodes: this.#nodes,
      clock: this.#clock,
      isStopped: () => this.#isStopped,
    });
    this.#mode = options.mode;
  }

  get setting(): ClockSetting {
    return this.#clock.setting;
  }

  get mode(): MiningMode {
    return this.#mode;
  }

  /** Time of the chain clock, as Unix time in milliseconds. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** True while nodes forge only when the timekeeper requests a block, and leave all other slots empty. */
  get isHeld(): boolean {
    return !this.#hasBegun || this.#mode !== 'interval' || this.#options.intervalMs !== undefined;
  }

  /** True after `begin` has made sure that the clock is not behind the newest block. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * Starts the devnet. The caller must call this method when all nodes run. If the clock is behind the newest block,
   * the method sets the clock to the time of this block. If the mode is `interval` and the clock runs, the method also
   * mines a slot. Before this slot, the method waits until the nodes are connected to their peers. The wait lasts at
   * most `peersWaitMs`.
   */
  begin(): Promise<void> {
    return this.#queue.run(async () => {
      const states = await this.#nodes.askAll({ op: 'state' });
      const tipSlot = Math.max(...states.map(({ tip }) => tip.slot));
      const tipMs = slotStartMs(tipSlot, this.#options.params);
      this.#miner.forget();
      if (this.nowMs() < tipMs) this.#clock.moveTo(tipMs);
      this.#hasBegun = true;
      if (this.#mode === 'interval' && this.#clock.setting.kind === 'running') {
        // A node that is not connected to its peers would refuse to forge, and report that forging is paused. So the
        // devnet first waits until the nodes are connected.
        await this.#peersMet();
        await this.#whileMining(() => this.#miner.mine(1));
      } else await this.#setAll();
      this.#arm();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * Makes the owners of the next `count` slots forge, one after the other, as fast as possible.
   *
   * @throws ProtocolError `DEVNET_NODE_SILENT` when no node answers
   */
  mine(count: number): Promise<MinedSlots> {
    return this.#queue.run(async () => {
      const { emptySlots, state } = await this.#whileMining(() => this.#miner.mine(count));
      const { height, id } = state.tip;
      return { slots: count, emptySlots, height, blockId: id, time: this.#timeText() };
    });
  }

  setMode(mode: MiningMode): Promise<void> {
    return this.#queue.run(async () => {
      this.#mode = mode;
      await this.#setAll();
      this.#arm();
    });
  }

  /**
   * Sets the clocks of all nodes forward to `toMs`. The slots between the present time and `toMs` stay empty.
   *
   * @param toMs Unix time in milliseconds
   * @throws ProtocolError `DEVNET_TIME_BACKWARDS` for a moment before the present time of the chain clock;
   *   `DEVNET_NODE_SILENT` when no node answers
   * @throws RangeError for an invalid time
   */
  warp(toMs: number): Promise<{ readonly time: string }> {
    return this.#queue.run(async () => {
      // Without this check, NaN would be accepted: the comparison below is false for NaN.
      if (!Number.isFinite(toMs)) throw new RangeError(`${toMs} is not a time: the clock stays at ${this.#timeText()}`);
      if (toMs < this.nowMs()) {
        const message = `the devnet's clock shows ${this.#timeText()} and cannot go back: revert to a snapshot for that`;
        throw new ProtocolError('DEVNET_TIME_BACKWARDS', { toMs }, message);
      }
      this.#clock.moveTo(toMs);
      await this.#setAll();
      return { time: this.#timeText() };
    });
  }

  /**
   * Sends a transaction to all nodes, and mines until a block contains the transaction, but at most two rounds of
   * slots. The mining ends earlier after a whole round of consecutive empty slots, because these slots show that no
   * delegate of a running node forges.
   *
   * @throws ProtocolError `DEVNET_TRANSACTION_REFUSED` when the node with the greatest height refuses the transaction;
   *   `DEVNET_TRANSACTION_LEFT` when no block of these slots has the transaction (the transaction then stays in the
   *   pool); `DEVNET_NODE_SILENT` when no node answers
   */
  confirm(id: string, transaction: JsonObject): Promise<{ readonly height: number }> {
    return this.#queue.run(async () => {
      this.#relay.learn(id, transaction);
      await this.ask({ op: 'transaction', transaction });
      await this.#nodes.askAll({ op: 'transaction', transaction });
      const { activeDelegates } = this.#options.params;
      let [slots, emptyInRow] = [0, 0];
      const height = await this.#whileMining(async () => {
        for (; slots < 2 * activeDelegates && emptyInRow < activeDelegates && !this.#isStopped; slots += 1) {
          const { state, emptySlots } = await this.#miner.mine(1);
          emptyInRow = emptySlots > 0 ? emptyInRow + 1 : 0;
          if ((await this.ask({ op: 'confirmed', id })).isConfirmed === true) return state.tip.height;
        }
        return undefined;
      });
      if (height !== undefined) return { height };
      // The node with the greatest height has possibly dropped the transaction. This request makes the node accept the
      // transaction again, or throws the reason of the refusal.
      await this.ask({ op: 'transaction', transaction });
      this.#relay.keep([{ transaction, at: undefined }]);
      const reason =
        emptyInRow === activeDelegates
          ? `no running delegate forged in ${slots} slots`
          : `no block of ${slots} slots took the transaction`;
      const message = `${reason}: the transaction ${id} stays in the pool, and a later block can take it`;
      throw new ProtocolError('DEVNET_TRANSACTION_LEFT', { id, slots }, message);
    });
  }

  /**
   * Sends a request to the node with the greatest height, and returns the answer.
   *
   * @throws ProtocolError `DEVNET_NODE_SILENT` when no node answers; the error in the answer, if the node could not
   *   execute the request
   */
  ask(request: AgentRequest): Promise<AgentState> {
    return this.#nodes.askHighest(request);
  }

  /**
   * Makes all running nodes accept any signature for these keys as valid. A node that starts later receives the keys at
   * its start (`AgentStart.impersonated`).
   */
  impersonate(publicKeys: readonly string[]): Promise<void> {
    return this.#queue.run(async () => void (await this.#nodes.askAll({ op: 'impersonate', publicKeys })));
  }

  /** Stops the clock of all nodes, so no new slot begins. */
  freeze(): Promise<{ readonly time: string }> {
    return this.#queue.run(async () => {
      this.#clock.freeze();
      await this.#setAll();
      return { time: this.#timeText() };
    });
  }

  /** Lets a stopped clock continue from its present time. */
  resume(): Promise<{ readonly time: string }> {
    return this.#queue.run(async () => {
      const time = this.#timeText();
      this.#clock.resume();
      await this.#setAll();
      this.#arm();
      return { time };
    });
  }

  /**
   * Sets the clock of a node that has just started or continues after a pause, and sends the missing blocks to the
   * node. The devnet then mines blocks if two conditions hold: the mode is `instant`, and the relay keeps transactions
   * that no running node could include before.
   */
  welcome(link: AgentLink): Promise<void> {
    return this.#queue.run(async () => {
      await this.#sendMissing(link);
      if (this.#mode === 'instant' && this.#relay.hasKept) await this.#takeArrived();
    });
  }

  /**
   * Handles a transaction that the node `at` accepted. In the modes `instant` and `on-demand`, the relay sends the
   * transaction to all nodes that this node reaches. Each of these nodes can then include the transaction in the next
   * block. In the mode `instant`, the devnet then mines blocks.
   */
  transactionArrived(id: string, transaction: JsonObject, at?: AgentLink): void {
    if (!this.#relay.learn(id, transaction)) return;
    if (this.#mode === 'interval' || this.#isStopped) return;
    if (!this.#relay.add({ transaction, at })) return;
    this.#queue.run(() => this.#takeArrived()).catch((error: unknown) => this.#reportFailure(error));
  }

  /**
   * Runs `work` while the clocks of the nodes are stopped and no block is forged. Afterwards, `setting` and `mode` have
   * their old values, or the values that the work returns as `restored`.
   */
  whileFrozen<T>(work: () => Promise<{ readonly result: T; readonly restored?: TimeState }>): Promise<T> {
    return this.#queue.run(async () => {
      const before: TimeState = { setting: this.#clock.setting, mode: this.#mode };
      const setting = { kind: 'frozen', atMs: this.nowMs() } as const;
      await this.#nodes.askAll({ op: 'set', setting, isHeld: true, isBrief: true });
      let after = before;
      try {
        const { result, restored } = await work();
        after = restored ?? before;
        if (restored !== undefined) {
          this.#relay.forget();
          this.#miner.forget();
        }
        return result;
      } finally {
        this.#clock.setting = after.setting;
        this.#mode = after.mode;
        await this.#setAll().catch(() => undefined);
        this.#arm();
      }
    });
  }

  /**
   * Runs work in the serial queue, so that no other job of the timekeeper changes the clock or requests a block during
   * the work. In the mode `interval` without `intervalMs`, the nodes also forge without requests of the timekeeper, so
   * new blocks can appear during the work.
   */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(work);
  }

  async #sendMissing(link: AgentLink): Promise<void> {
    let { tip } = await link.ask(this.#setRequest());
    for (;;) {
      const from = await this.#nodes.highest(this.#nodes.reachedBy(link));
      if (from === undefined || from.state.tip.height <= tip.height) return;
      const { blocks = [] } = await from.link.ask({ op: 'give', aboveHeight: tip.height });
      const after = await link.ask({ op: 'take', blocks });
      // If the node has the same height after it got the blocks, the node is on another branch. In this case, the node
      // downloads the better branch from its peers.
      if (after.tip.height <= tip.height) return;
      tip = after.tip;
    }
  }

  async #takeArrived(): Promise<void> {
    const arrived = this.#relay.take();
    if (this.#mode === 'interval') return;
    await this.#relay.send(arrived);
    if (this.#mode !== 'instant') return;
    if (!(await this.#whileMining(() => this.#mineArrived()))) this.#relay.keep(arrived);
  }

  /** @returns false if no running delegate forged in a whole round of slots */
  async #mineArrived(): Promise<boolean> {
    const { activeDelegates } = this.#options.params;
    let emptyInRow = 0;
    for (let slots = 0; slots < INSTANT_SLOTS_MAX; slots += 1) {
      const { state, emptySlots, transactions } = await this.#miner.mine(1);
      emptyInRow = emptySlots > 0 ? emptyInRow + 1 : 0;
      if (emptyInRow === activeDelegates) return false;
      if (emptyInRow === 0 && (transactions === 0 || state.poolSize === 0)) break;
    }
    return true;
  }

  async #peersMet(): Promise<void> {
    const { clock, peersWaitMs = PEERS_WAIT_MS } = this.#options;
    const others = this.#nodes.all().length - 1;
    const endMs = clock.nowMs() + peersWaitMs;
    while (!this.#isStopped && clock.nowMs() < endMs) {
      const states = await this.#nodes.askAll({ op: 'state' });
      if (states.every(({ peers }) => peers >= others)) return;
      await new Promise<void>((resolve) => void clock.after(PEERS_POLL_MS, resolve));
    }
  }

  #setRequest(): AgentRequest {
    return { op: 'set', setting: this.#clock.setting, isHeld: this.isHeld };
  }

  /** Sends the clock setting to all nodes. A node that does not answer gets the setting when it answers again. */
  async #setAll(): Promise<void> {
    await this.#nodes.askAll(this.#setRequest());
  }

  /**
   * Runs `work`, which mines slots. Mining stops the clocks of the nodes, so this method then sends the clock setting
   * to the nodes again. The nodes get the setting even if the work fails.
   */
  async #whileMining<T>(work: () => Promise<T>): Promise<T> {
    const result = await work().catch(async (error: unknown) => {
      await this.#setAll().catch(() => undefined);
      throw error;
    });
    await this.#setAll();
    return result;
  }

  #arm(): void {
    const { intervalMs, clock } = this.#options;
    this.#timer?.cancel();
    const isTicking = this.#hasBegun && this.#mode === 'interval' && this.#clock.setting.kind === 'running';
    if (intervalMs === undefined || !isTicking || this.#isStopped) return;
    this.#timer = clock.after(intervalMs, () => {
      void this.#queue
        .run(async () => {
          const isStill = this.#mode === 'interval' && this.#clock.setting.kind === 'running' && !this.#isStopped;
          if (isStill) await this.#whileMining(() => this.#miner.mine(1));
        })
        .catch((error: unknown) => this.#reportFailure(error))
        .finally(() => this.#arm());
    });
  }

  #reportFailure(error: unknown): void {
    if (!this.#isStopped) this.#options.print(`no block could be mined: ${messageOf(error)}`);
  }

  #timeText(): string {
    return new Date(this.nowMs()).toISOString();
  }
}
