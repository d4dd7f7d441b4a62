/** Does what a devnet's supervisor asks, inside a node. */

import type { ControlledParts, NodeControl } from '../../node/node.ts';
import { MovableClock, type ClockSetting } from '../../node/movable-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import { slotAt } from '../../protocol/slots.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { Transaction } from '../../protocol/types.ts';
import type { AgentEvent, AgentRequest, AgentState } from './messages.ts';

export interface AgentOptions {
  /** Of the machine. */
  readonly clock: Clock;
  readonly setting: ClockSetting;
  readonly isHeld: boolean;
  readonly tell: (event: AgentEvent) => void;
}

export class NodeAgent implements NodeControl {
  readonly chainClock: MovableClock;
  readonly #tell: (event: AgentEvent) => void;
  #isHeld: boolean;
  #parts: ControlledParts | undefined;

  constructor({ clock, setting, isHeld, tell }: AgentOptions) {
    this.chainClock = new MovableClock(clock, setting);
    this.#isHeld = isHeld;
    this.#tell = tell;
  }

  isForgingHeld(): boolean {
    return this.#isHeld;
  }

  built(parts: ControlledParts): void {
    this.#parts = parts;
    parts.engine.listenToTransactions((transaction) => {
      this.#tell({ event: 'transaction', id: transaction.id, transaction: this.#json(transaction) });
    });
  }

  /** To be called when the node runs. */
  ready(): void {
    this.#tell({ event: 'ready', state: this.state() });
  }

  /** @throws ProtocolError `DEVNET_NODE_STARTING` before the node is built; BlockRejected what the rules refuse */
  async handle(request: AgentRequest): Promise<AgentState> {
    switch (request.op) {
      case 'set': {
        this.chainClock.set(request.setting);
        this.#isHeld = request.isHeld;
        if (this.#parts === undefined) break;
        this.#engine.forging.look();
        break;
      }
      case 'state':
        break;
      case 'forge': {
        const block = await this.#engine.forging.forgeNow();
        if (block === undefined) break;
        return { ...this.state(), forged: this.#engine.chain.rules.codec.blockToJson(block) };
      }
      case 'block': {
        const { chain } = this.#engine;
        const block = chain.rules.codec.blockFromJson(request.block);
        if (chain.tip.header.id !== block.id) await chain.receive(block);
        break;
      }
      case 'transaction': {
        const { pool, chain } = this.#engine;
        const { id } = chain.rules.codec.transactionFromJson(request.transaction);
        if (!pool.has(id)) pool.submit(request.transaction);
        break;
      }
    }
    return this.state();
  }

  state(): AgentState {
    const { chain, pool } = this.#engine;
    const { id, height, timestamp } = chain.tip.header;
    const { received, validated, verified, ready } = pool.sizes();
    return {
      tip: { id, height, slot: slotAt(timestamp, chain.rules.params) },
      poolSize: received + validated + verified + ready,
    };
  }

  get #engine() {
    if (this.#parts === undefined) throw new ProtocolError('DEVNET_NODE_STARTING', {}, 'the node is not up yet');
    return this.#parts.engine;
  }

  #json(transaction: Transaction) {
    return this.#engine.chain.rules.codec.transactionToJson(transaction);
  }
}
