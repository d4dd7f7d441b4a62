/**
 * What becomes of a block that a peer sent. It is looked at twice, each time in the chain's lane: first at what costs next to
 * nothing, then, when its transactions were checked beside all other work, to be applied. So a flood of false blocks neither
 * costs much nor keeps a block of our own waiting.
 */

import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { Rules, TipView } from '../protocol/rules.ts';
import { epochTimeS, momentMs, slotAt } from '../protocol/slots.ts';
import type { StateReader } from '../protocol/state.ts';
import type { Block, SignatureOracle } from '../protocol/types.ts';
import { BlockRejected, type ForkStatus } from '../protocol/verdict.ts';
import { BranchRejected } from './commit.ts';
import { SerialQueue } from './serial-queue.ts';

/** What became of a received block. */
export type ReceiveOutcome =
  | { readonly kind: 'applied' }
  /** It is in order by itself and the tip of a chain to be preferred: somebody should synchronise with who sent it. */
  | { readonly kind: 'betterChain' }
  | { readonly kind: 'ignored'; readonly status: ForkStatus }
  | { readonly kind: 'refused'; readonly rejection: BlockRejected };

export interface ReceptionDependencies {
  readonly rules: Rules;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly verify: SignatureOracle;
  readonly state: () => StateReader;
  readonly tip: () => TipView;
  readonly finalizedHeight: () => number;
  /** Runs `work` when no change of the chain is under way. */
  readonly change: <T>(work: () => T) => Promise<T>;
  /** Has all signatures of a block checked, so that what follows finds the answers. */
  readonly precheck: (block: Block) => Promise<void>;
  /** Validates and appends; inside a change. @throws BlockRejected or BranchRejected */
  readonly extend: (block: Block, receivedAtS: number) => void;
  /** Validates it and puts it in the place of the tip; inside a change. @throws BlockRejected or BranchRejected */
  readonly replaceTip: (block: Block, receivedAtS: number) => void;
}

type Fitting = Extract<ForkStatus, 'extends' | 'tieBreak'>;

export class Reception {
  readonly #dependencies: ReceptionDependencies;
  /** Keeps blocks in the order of their arrival while the transactions of one are checked. */
  readonly #arrivals = new SerialQueue();

  constructor(dependencies: ReceptionDependencies) {
    this.#dependencies = dependencies;
  }

  receive(block: Block): Promise<ReceiveOutcome> {
    const { change, precheck } = this.#dependencies;
    const receivedAtS = this.#nowS();
    return this.#arrivals.run(async () => {
      try {
        const seen = await change(() => this.#decide(block, receivedAtS, (status) => this.#screen(block, status)));
        if (seen !== 'fits') return seen;
        await precheck(block);
        // Meanwhile another block may have taken its place, so it is decided anew.
        const settled = await change(() =>
          this.#decide(block, receivedAtS, (status) => this.#apply(block, receivedAtS, status)),
        );
        return settled === 'fits' ? { kind: 'applied' } : settled;
      } catch (error) {
        return this.#refused(block, error);
      }
    });
  }

  /** Resolves when nothing that arrived waits any more. */
  idle(): Promise<void> {
    return this.#arrivals.idle();
  }

  /** @param take what to do with a block that follows the tip or wins a tie with it */
  #decide(block: Block, receivedAtS: number, take: (status: Fitting) => void): ReceiveOutcome | 'fits' {
    const { rules, observer, verify, state, finalizedHeight } = this.#dependencies;
    const tip = this.#dependencies.tip();
    const status = rules.forkStatus(tip, { header: block, receivedAtS });
    switch (status) {
      case 'extends':
      case 'tieBreak':
        if (status === 'tieBreak' && tip.header.height <= finalizedHeight()) return { kind: 'ignored', status };
        take(status);
        return 'fits';
      case 'betterChain':
        // Not every key may call us away from our work: chains that part not long ago share their delegates. Signatures of
        // transactions would not show more: who owns a delegate can sign a block without any.
        if (state().delegate(block.generatorPublicKey) === undefined) return { kind: 'ignored', status };
        rules.screenBlock(block, verify);
        this.#refuseFuture(block);
        return { kind: 'betterChain' };
      case 'doubleForging':
        // Anybody can name the delegate of the tip; only he can have signed.
        rules.screenBlock(block, verify);
        observer.log('warn', 'BLOCK_DOUBLE_FORGING', 'a delegate forged twice in one place', {
          height: block.height,
          blockId: block.id,
          tipId: tip.header.id,
          delegate: block.generatorPublicKey,
        });
        return { kind: 'ignored', status };
      case 'same':
      case 'discard':
        return { kind: 'ignored', status };
    }
  }

  /**
   * Anybody can fill blocks with transactions that are a lot of work to check, so those of a block that is wrong in itself or
   * out of turn are not looked at.
   *
   * @throws BlockRejected
   */
  #screen(block: Block, status: Fitting): void {
    const { rules, verify, state } = this.#dependencies;
    const place = status === 'extends' ? { state: state(), nowS: this.#nowS() } : undefined;
    rules.screenBlock(block, verify, place);
    rules.verifySlotOwner(state(), block);
    this.#refuseFuture(block);
  }

  #apply(block: Block, receivedAtS: number, status: Fitting): void {
    const { rules, clock, observer, extend, replaceTip } = this.#dependencies;
    if (status === 'extends') extend(block, receivedAtS);
    else replaceTip(block, receivedAtS);
    const delayMs = clock.nowMs() - momentMs(block.timestamp, rules.params);
    observer.observe('block_delay_seconds', Math.max(0, delayMs) / 1000);
  }

  /** @throws what is no refusal */
  #refused(block: Block, error: unknown): ReceiveOutcome {
    const rejection = error instanceof BranchRejected ? error.rejection : error;
    if (!(rejection instanceof BlockRejected)) throw error;
    this.#dependencies.observer.log('warn', rejection.code, 'refused a block', {
      slot: slotAt(block.timestamp, this.#dependencies.rules.params),
      height: block.height,
      blockId: block.id,
      delegate: block.generatorPublicKey,
      reason: rejection.message,
    });
    return { kind: 'refused', rejection };
  }

  #refuseFuture(block: Block): void {
    const { params } = this.#dependencies.rules;
    const slot = slotAt(block.timestamp, params);
    const currentSlot = slotAt(this.#nowS(), params);
    if (slot <= currentSlot) return;
    throw new BlockRejected('BLOCK_TIMESTAMP_INVALID', 'Invalid block timestamp', { slot, currentSlot });
  }

  #nowS(): number {
    return epochTimeS(this.#dependencies.clock.nowMs(), this.#dependencies.rules.params);
  }
}
