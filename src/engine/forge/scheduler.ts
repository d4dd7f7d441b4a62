/**
 * Decides when to forge: in each slot whose owner is enabled on this node, usually at the start of the slot. A timer
 * wakes the scheduler. The scheduler then computes the current slot from the clock, and checks the conditions for
 * forging. `BlockBuilder` builds and signs the block.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock, ProcessTimes, Timer } from '../../ports/clock.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import type { ForgingPause, ForgingWait } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { hexOf } from '../../primitives/bytes.ts';
import { slotAt, slotAtMs, slotStartMs } from '../../protocol/slots.ts';
import type { Block, KeyPair, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { NotReady } from '../disk-watch.ts';
import type { TransactionPool } from '../pool/pool.ts';
import { BlockBuilder } from './block-builder.ts';
import { ClockWatch } from './clock-watch.ts';
import { DoubleForgingGuard } from './double-forging-guard.ts';
import { Pause } from './pause.ts';
import { failureFieldsOf, MissedSlotLog, waitFieldsOf } from './missed-slot-log.ts';
import { SleptSlots } from './slept-slots.ts';
import { TipCheck, type TipCheckDependencies } from './tip-check.ts';
import { UnappliedWaits } from './unapplied-waits.ts';
import { WaitUpdates } from './wait-updates.ts';
import { forgingWaitOf } from './waiting.ts';
import type { ForeignBlock } from './waits.ts';

/**
 * Maximum time in milliseconds between two checks by the scheduler. If somebody sets the clock, the scheduler notices
 * this within the same time.
 */
const SLEEP_MS_MAX = 1000;

export interface ForgingDependencies {
  readonly chain: Chain;
  readonly pool: Pick<TransactionPool, 'step' | 'readyForForging'>;
  readonly journal: SigningJournal;
  /** The clock that determines the present slot. */
  readonly clock: Clock;
  /** The process clock, which shows whether the process stalled or the system clock was set; `clock` by default. */
  readonly processClock?: Pick<Clock, 'nowMs'>;
  /**
   * Clocks that show whether the system clock was set or the machine was suspended. Without these clocks, the scheduler
   * logs neither event, and does not call `onClockSet`.
   */
  readonly times?: ProcessTimes | undefined;
  /** While this function returns true, delegates forge only in calls of `forgeNow`. By default, it returns false. */
  readonly isForgingSuspended?: () => boolean;
  /**
   * Called when the system clock was set, or was perhaps set (`ClockWatchDependencies.onClockSet`). `byMs` is the
   * number of milliseconds by which the clock was set forward. `byMs` is negative if the clock was set back, and
   * undefined if the number is unknown.
   */
  readonly onClockSet?: (byMs: number | undefined) => void;
  /** Called with the current slot each time the scheduler checks the conditions for forging. */
  readonly onSlotChecked?: (slot: number) => void;
  readonly observer: Observer;
  /**
   * For this time in milliseconds after the start of a slot, the scheduler waits for the block of the previous slot, if
   * this block is late.
   */
  readonly waitThresholdMs: number;
  /**
   * If true, the node checks neither whether another node perhaps signs for a delegate, nor whether the tip of the node
   * is current (`TipCheck`). The new header of a delegate must then contradict neither the last header of the delegate
   * in the journal of this data folder, nor the newest block of the delegate on the chain. The option does not change
   * the other conditions for forging, for example `notReady`.
   */
  readonly riskDoubleForging: boolean;
  readonly peerTips: TipCheckDependencies['peerTips'];
  /** Returns the reason why no delegate may forge now; undefined if forging is possible. */
  readonly notReady: () => NotReady | undefined;
  /**
   * Returns a Unix time in milliseconds by `clock`. Until this time, forging waits for a better chain that a peer
   * claims to have. A time in the past means that forging does not wait.
   */
  readonly waitUntilMs?: () => number;
}

export class ForgingScheduler {
  readonly #dependencies: ForgingDependencies;
  readonly #guard: DoubleForgingGuard;
  readonly #tipCheck: TipCheck;
  readonly #keys = new Map<PublicKey, KeyPair>();
  #timer: Timer | undefined;
  #stopped = true;
  #attempt: Promise<void> | undefined;
  /**
   * Whether `check` was called during the current attempt to forge. If it was called, the scheduler checks again after
   * the attempt.
   */
  #isCheckWanted = false;
  readonly #waitUpdates: WaitUpdates;
  readonly #unappliedWaits: UnappliedWaits;
  readonly #missedSlots: MissedSlotLog;
  readonly #sleptSlots: SleptSlots;
  readonly #clockWatch: ClockWatch;
  readonly #pause: Pause;
  readonly #builder: BlockBuilder;

  constructor(dependencies: ForgingDependencies) {
    this.#dependencies = dependencies;
    const clock = dependencies.processClock ?? dependencies.clock;
    const isEnabled = (publicKey: PublicKey): boolean => this.#keys.has(publicKey);
    this.#tipCheck = new TipCheck({ ...dependencies, clock, isEnabled });
    this.#guard = new DoubleForgingGuard({ ...dependencies, tipCheck: this.#tipCheck });
    this.#waitUpdates = new WaitUpdates(this.#guard, () => this.#keys.keys());
    const noteForeign = (block: ForeignBlock): boolean => this.#waitUpdates.noteUnapplied(block);
    this.#unappliedWaits = new UnappliedWaits({ ...dependencies, isEnabled, noteForeign });
    this.#missedSlots = new MissedSlotLog(dependencies);
    this.#sleptSlots = new SleptSlots({ ...dependencies, isEnabled });
    const onClockSet = (byMs: number | undefined): void => {
      dependencies.onClockSet?.(byMs);
      this.#waitUpdates.clockSet(byMs);
    };
    this.#clockWatch = new ClockWatch({ ...dependencies, clock, times: dependencies.times, onClockSet });
    // It is possible to enable delegates before the start of the scheduler. With this reading, the scheduler notices a
    // step of the clock between now and the start.
    this.#clockWatch.read();
    this.#builder = new BlockBuilder({
      ...dependencies,
      clockWatch: this.#clockWatch,
      guard: this.#guard,
      waitUpdates: this.#waitUpdates,
      missedSlots: this.#missedSlots,
      keyPairOf: (publicKey) => this.#keys.get(publicKey),
      onSigned: (block) => {
        this.#waitUpdates.noteSigned(block);
        this.#unappliedWaits.noteSigned(block.generatorPublicKey);
      },
    });
    this.#pause = new Pause({
      ...dependencies,
      notReady: () => dependencies.notReady() ?? this.#builder.journalNotReady(),
    });
  }

  /**
   * Enables a delegate. The delegate signs in its slots as soon as signing is safe. Until signing is safe, `waiting`
   * returns the reason for the wait.
   *
   * @throws ProtocolError from `SigningJournal.hold`; the delegate is then not enabled
   */
  enable(keyPair: KeyPair): void {
    const publicKey = hexOf(keyPair.publicKey);
    // A further call for an enabled delegate must not begin its wait again.
    if (!this.#keys.has(publicKey)) this.#guard.hold(publicKey);
    this.#keys.set(publicKey, keyPair);
    this.#logSwitch(publicKey, true);
    const waiting = this.waiting(publicKey);
    if (waiting === undefined) return;
    const fields = { delegate: publicKey, ...waitFieldsOf(waiting) };
    this.#dependencies.observer.log('warn', waiting.code, 'a delegate does not sign yet', fields);
  }

  /**
   * The reason why the double-forging guard does not let a delegate sign at present; undefined if the delegate may
   * sign. The method also works for a delegate that is not enabled.
   */
  waiting(publicKey: PublicKey): ForgingWait | undefined {
    const { chain, clock } = this.#dependencies;
    const waiting = this.#guard.waiting(publicKey);
    return waiting === undefined ? undefined : forgingWaitOf(waiting, clock.nowMs(), chain.rules.params);
  }

  /**
   * The reason why no delegate of this node forges at present; undefined if nothing prevents forging, or if the
   * scheduler does not run.
   */
  paused(): ForgingPause | undefined {
    return this.#stopped ? undefined : this.#pause.now();
  }

  /** Whether the delegate is enabled, or has a record in the signing journal. */
  isOwn(publicKey: PublicKey): boolean {
    const { journal } = this.#dependencies;
    const isInJournal = journal.last(publicKey) !== undefined || journal.heldSinceS(publicKey) !== undefined;
    return this.#keys.has(publicKey) || isInJournal;
  }

  /**
   * Call with a received block that the chain does not get (`UnappliedBlocks`). If another node signed the block for a
   * delegate of this node, and this node must wait (`UnappliedWaits`), the delegate waits as if the block were on the
   * chain.
   *
   * @returns whether the block now counts as a block of another node
   */
  noteUnapplied(block: ForeignBlock): boolean {
    return this.#unappliedWaits.note(block);
  }

  disable(publicKey: PublicKey): void {
    if (this.#keys.delete(publicKey)) this.#logSwitch(publicKey, false);
    this.#unappliedWaits.forget(publicKey);
  }

  isEnabled(publicKey: PublicKey): boolean {
    return this.#keys.has(publicKey);
  }

  start(): void {
    this.#stopped = false;
    this.#clockWatch.read();
    // In a slot of ours, it is possible that the scheduler waits for a late block. Each block from a peer can be this
    // late block.
    this.#dependencies.chain.listen({
      reverted: (blocks) => this.#unappliedWaits.reverted(blocks),
      applied: (blocks, origin) => {
        if (origin !== 'forged') this.#waitUpdates.noteForeign(blocks);
        if (origin === 'received') this.check();
      },
    });
    this.check();
  }

  /**
   * Checks whether a delegate of this node can forge in the current slot. If a delegate can forge, the scheduler makes
   * the block. The check starts immediately, or after the running attempt if there is one. The engine calls this method
   * when a sync ends. A devnet calls this method after a change of the chain clock.
   */
  check(): void {
    if (this.#attempt === undefined) this.#wake();
    // The scheduler must check again, because the running attempt has perhaps read the state before this call.
    else this.#isCheckWanted = true;
  }

  /**
   * Forges immediately in the current slot if the slot is ours. A devnet that forges on request calls this method.
   * Unlike the regular check, this method does not wait for a late block of an earlier slot. This method also ignores
   * `isForgingSuspended`, `waitUntilMs`, and the reasons from `notReady` (for example, that no peer is connected). Like
   * the regular check, this method obeys the double-forging guard and requires a writable disk.
   *
   * @returns the block; undefined in these cases: the slot is not ours or already has a block; the delegate may not
   *   sign; the block cannot be built; writes to the store or the journal fail; the scheduler does not run
   * @throws BlockRejected if the rules refuse the block; or another error of `Chain.forge`
   */
  async forgeNow(): Promise<Block | undefined> {
    await this.#attempt;
    const { chain } = this.#dependencies;
    if (this.#stopped || chain.disk.checkWritable() !== undefined) return undefined;
    this.#sleptSlots.pass();
    return this.#forge(true);
  }

  /** Stops forging; resolves when the current attempt has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#attempt;
    // If one of our delegates could not forge in the current slot, `#missedSlots` stores the reason until the slot is
    // over. After the stop, the delegate can no longer forge in this slot, so the reason is logged now.
    this.#missedSlots.logPending();
  }

  #wake(): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#isCheckWanted = false;
    const checkedMs = this.#dependencies.clock.nowMs();
    this.#attempt = this.#tryToForge()
      .catch((error: unknown) => {
        const code = error instanceof ProtocolError ? error.code : 'FORGING_FAILED';
        const found = this.#dependencies.chain.disk.checkWritable();
        const since = found?.cause === code ? failureFieldsOf(found.writesFailSinceMs) : {};
        this.#missedSlots.logFailure(code, { reason: messageOf(error), ...since });
      })
      .finally(() => {
        this.#attempt = undefined;
        if (this.#isCheckWanted) this.#wake();
        else this.#arm(checkedMs);
      });
  }

  /**
   * Sets the timer for the next check: the earliest moment after the last check (`checkedMs`) at which the scheduler
   * must check again. If this moment has already passed, the scheduler checks again immediately.
   */
  #arm(checkedMs: number): void {
    if (this.#stopped) return;
    const { clock, chain, waitThresholdMs, waitUntilMs } = this.#dependencies;
    const { params } = chain.rules;
    const slot = slotAtMs(checkedMs, params);
    // The first entry is the end of the wait for a late block.
    const moments = [
      slotStartMs(slot, params) + waitThresholdMs + 1,
      slotStartMs(slot + 1, params),
      checkedMs + SLEEP_MS_MAX,
      waitUntilMs?.() ?? -Infinity,
    ];
    const nextMs = Math.min(...moments.filter((moment) => moment > checkedMs));
    // If somebody has set the clock back since `checkedMs`, `nextMs` is perhaps much later than the present time of the
    // clock. The delay to the next check is therefore limited to `SLEEP_MS_MAX`.
    const delayMs = Math.min(Math.max(0, nextMs - clock.nowMs()), SLEEP_MS_MAX);
    this.#timer = clock.after(delayMs, () => {
      this.check();
    });
  }

  async #tryToForge(): Promise<void> {
    const { chain, clock, notReady, waitUntilMs } = this.#dependencies;
    this.#tipCheck.tick();
    this.#dependencies.onSlotChecked?.(chain.currentSlot());
    this.#missedSlots.logIfOver();
    const passage = this.#clockWatch.read();
    this.#waitUpdates.renew();
    if (this.#dependencies.isForgingSuspended?.() === true) {
      this.#sleptSlots.pass();
      return;
    }
    this.#sleptSlots.check(passage);
    this.#pause.update(this.#keys.size > 0);
    const forgingSlot = this.#keys.size === 0 ? undefined : this.#builder.slotToForge(chain.tip);
    if (forgingSlot === undefined) return;
    if (clock.nowMs() < (waitUntilMs?.() ?? -Infinity)) return;
    const found = notReady();
    if (found !== undefined) {
      const { writesFailSinceMs, ...rest } = found;
      const fields = { ...rest, ...failureFieldsOf(writesFailSinceMs) };
      // Before the network has begun, a slot without a block is normal, unless a fault of this node (`cause`) prevents
      // the block.
      const isBeginning = chain.tip.header.height === 1 && found.cause === undefined;
      if (isBeginning)
        this.#missedSlots.record(forgingSlot, 'FORGING_NOT_BEGUN', 'the network has not begun yet', fields);
      else this.#missedSlots.record(forgingSlot, 'FORGING_PAUSED', 'forging is paused in a slot of ours', fields);
      return;
    }
    await this.#forge(false);
  }

  /** @param isOnDemand if true, the node does not wait for a late block of an earlier slot */
  async #forge(isOnDemand: boolean): Promise<Block | undefined> {
    const { chain } = this.#dependencies;
    const block = await chain.forge((tip) => this.#builder.build(tip, isOnDemand));
    if (block === undefined) return undefined;
    this.#missedSlots.drop();
    this.#dependencies.observer.log('info', 'BLOCK_FORGED', 'forged a block', {
      slot: slotAt(block.timestamp, chain.rules.params),
      height: block.height,
      blockId: block.id,
      delegate: block.generatorPublicKey,
      transactions: block.numberOfTransactions,
    });
    return block;
  }

  #logSwitch(delegate: PublicKey, on: boolean): void {
    const message = 'forging of a delegate was switched on or off';
    this.#dependencies.observer.log('debug', 'FORGING_SWITCHED', message, { delegate, on });
  }
}
