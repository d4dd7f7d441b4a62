/**
 * Builds and signs the block of a slot, if a delegate of this node owns the slot and the double-forging guard
 * (`double-forging-guard.ts`) allows the delegate to sign. The forging scheduler (`scheduler.ts`) decides when to build
 * a block.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import { hexOf } from '../../primitives/bytes.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import { ownerOfSlot } from '../../protocol/rounds.ts';
import type { SignedHeader, TipView } from '../../protocol/rules.ts';
import { slotAt, slotAtMs, slotStartMs, slotStartS } from '../../protocol/slots.ts';
import type { Block, KeyPair, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { NotReady } from '../disk-watch.ts';
import type { TransactionPool } from '../pool/pool.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { DoubleForgingGuard } from './double-forging-guard.ts';
import { failureFieldsOf, waitFieldsOf, type ForgingSlot, type MissedSlotLog } from './missed-slot-log.ts';
import type { WaitUpdates } from './wait-updates.ts';
import { forgingWaitOf } from './waiting.ts';

export interface BlockBuilderDependencies {
  readonly chain: Chain;
  readonly pool: Pick<TransactionPool, 'step' | 'readyForForging'>;
  readonly journal: SigningJournal;
  /** The clock that determines the present slot. */
  readonly clock: Clock;
  /** See `ForgingDependencies`. */
  readonly waitThresholdMs: number;
  readonly clockWatch: Pick<ClockWatch, 'check'>;
  readonly guard: Pick<DoubleForgingGuard, 'clearance'>;
  readonly waitUpdates: Pick<WaitUpdates, 'renewOrThrow'>;
  readonly missedSlots: Pick<MissedSlotLog, 'record'>;
  /** Returns the key pair of a delegate that is enabled on this node; undefined for any other delegate. */
  readonly keyPairOf: (publicKey: PublicKey) => KeyPair | undefined;
  /** Called with each block after its header is in the journal. */
  readonly onSigned: (block: Block) => void;
}

export class BlockBuilder {
  readonly #dependencies: BlockBuilderDependencies;
  /**
   * Unix time in milliseconds (by `clock`) since which writes to the journal fail with `JOURNAL_WRITE_FAILED`.
   * Undefined if no write has failed since the last successful write.
   */
  #journalFailsSinceMs: number | undefined;

  constructor(dependencies: BlockBuilderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the reason that the node shows after a failed write to the journal. Returns undefined if no write has
   * failed since the last successful write. The reason does not stop the scheduler: in our next slot, the scheduler
   * tries to forge, and therefore to write to the journal again.
   */
  journalNotReady(): NotReady | undefined {
    const writesFailSinceMs = this.#journalFailsSinceMs;
    if (writesFailSinceMs === undefined) return undefined;
    return { reason: 'the record of signatures cannot be written', cause: 'JOURNAL_WRITE_FAILED', writesFailSinceMs };
  }

  /**
   * Returns the current slot and the key pair of its owner. The result is undefined if the slot is not ours, or if the
   * tip is a block of this slot or of a later slot. Without `isOnDemand`, the result is also undefined while forging
   * waits for a late block of an earlier slot.
   */
  slotToForge(tip: TipView, isOnDemand = false): ForgingSlot | undefined {
    const { chain, clock, waitThresholdMs, keyPairOf } = this.#dependencies;
    const { rules, state } = chain;
    const nowMs = clock.nowMs();
    const slot = slotAtMs(nowMs, rules.params);
    const tipSlot = slotAt(tip.header.timestamp, rules.params);
    if (slot <= tipSlot) return undefined;
    const forgers = rules.forgers(state, tip.header.height + 1);
    const owner = ownerOfSlot(forgers, slot, rules.params);
    const keyPair = owner === undefined ? undefined : keyPairOf(owner);
    if (keyPair === undefined) return undefined;
    const isLateBlockPossible = tipSlot < slot - 1 && nowMs <= slotStartMs(slot, rules.params) + waitThresholdMs;
    return isLateBlockPossible && !isOnDemand ? undefined : { slot, keyPair };
  }

  /**
   * Builds the block, and writes its header to the signing journal on disk before the block leaves this process.
   * Returns undefined in three cases. First, `slotToForge` returns undefined. Second, the double-forging guard
   * (`guard`) does not allow the delegate to sign, for example because the new header could contradict an
   * earlier header of the delegate. Third, a step after `slotToForge` throws a ProtocolError, for example the guard,
   * `Rules.forge` or the write to the journal.
   */
  build(tip: TipView, isOnDemand: boolean): Block | undefined {
    const { chain, clock, pool, journal, clockWatch, waitUpdates, guard, missedSlots } = this.#dependencies;
    const { rules, state } = chain;
    const forgingSlot = this.slotToForge(tip, isOnDemand);
    if (forgingSlot === undefined) return undefined;
    const publicKey = hexOf(forgingSlot.keyPair.publicKey);
    try {
      // It is possible that the clock was set while this attempt waited for other work of the chain.
      clockWatch.check();
      waitUpdates.renewOrThrow();
      const clearance = guard.clearance(publicKey, forgingSlot.slot);
      if (!clearance.granted) {
        const wait = forgingWaitOf(clearance, clock.nowMs(), rules.params);
        missedSlots.record(forgingSlot, clearance.code, 'did not sign', waitFieldsOf(wait));
        return undefined;
      }
      const timestamp = slotStartS(forgingSlot.slot, rules.params);
      pool.step();
      const transactions = rules.selectTransactions(
        state,
        pool.readyForForging(),
        { blockTimestamp: timestamp, blockHeight: tip.header.height + 1 },
        chain.verify,
      );
      const { previouslyForged } = clearance;
      const block = rules.forge(state, tip.header, {
        keyPair: forgingSlot.keyPair,
        timestamp,
        transactions,
        previouslyForged,
      });
      journal.record(publicKey, signedHeaderOf(block));
      this.#journalFailsSinceMs = undefined;
      this.#dependencies.onSigned(block);
      return block;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const isJournalFailing = error.code === 'JOURNAL_WRITE_FAILED';
      if (isJournalFailing) this.#journalFailsSinceMs ??= clock.nowMs();
      missedSlots.record(forgingSlot, error.code, 'did not sign', {
        reason: error.message,
        ...(isJournalFailing && failureFieldsOf(this.#journalFailsSinceMs)),
      });
      return undefined;
    }
  }
}

function signedHeaderOf(block: Block): SignedHeader {
  return {
    blockId: block.id,
    height: block.height,
    timestamp: block.timestamp,
    maxHeightPrevoted: block.maxHeightPrevoted,
    maxHeightPreviouslyForged: block.maxHeightPreviouslyForged,
  };
}
