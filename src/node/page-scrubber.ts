/**
 * Scrubs the chain store: checks the pages of the store in small steps while the node runs. A disk can lose or corrupt
 * a page without an error, and the database library (LMDB) can end the process when it reads a damaged page. The
 * scrubber also compares the entries of the state with the checksum of the state, to find changed bytes inside a value.
 * Finally, the scrubber checks the newest undo records, and the note (`NoteStore`) that contains the finalized height.
 * Each undo record has its own checksum, and the note has its own checksum.
 */

import { join } from 'node:path';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ProtocolError } from '../primitives/errors.ts';
import { DATA_FILE } from '../store/disk/data-file.ts';
import { storeDamaged } from '../store/disk/store-refusals.ts';
import type { StoredChain } from '../store/chain/stored-chain.ts';
import type { StateCheck } from '../store/chain/stored-checksum.ts';
import { STATE_RANGE, TABLES } from '../store/tables/layout.ts';
import { STATE_CHANGED } from '../store/chain/open.ts';
import { checkPages, type PageCheck } from '../store/disk/page-check.ts';

/**
 * Number of pages of the store that the scrubber checks in one step. One step runs each second, and takes about 3 ms.
 * Checking a store of 16 GB takes an hour and a half.
 */
const PAGES_PER_LOOK = 800;
const LOOK_MS = 1000;
/**
 * Number of pages of the state that the scrubber checks in one step. The number is small, because the step also reads
 * the entries of these pages. A step takes about 1.5 ms. Checking a state with a million accounts takes about
 * twenty-five minutes.
 */
const STATE_PAGES_PER_LOOK = 16;
/**
 * Maximum number of undo records that the scrubber checks in one pass over the store. The scrubber checks the undo
 * records of the highest blocks. One step checks all these records, and takes about 5 ms. The store has more undo
 * records than this maximum only if the finalized height of its chain has not risen for hours.
 */
const UNDO_RECORDS_MAX = 2_000;
/** Maximum number of pages with undo records that the scrubber checks in one step. */
const UNDO_PAGES_MAX = 4_000;
/** Pause between two passes of the scrubber over the store, in milliseconds. */
const ROUND_MS = 60 * 60_000;

export interface PageScrubber {
  /** Resolves with an error when the scrubber finds damage. The scrubber then makes no further step. */
  readonly damaged: Promise<ProtocolError>;
  stop(): void;
}

export interface PageScrubberOptions {
  readonly clock: Clock;
  readonly observer: Observer;
  /**
   * The open store. Only the scrubber is allowed to call the method `checkState` of this store, because each call
   * cancels the check that an earlier call began.
   */
  readonly state: Pick<StoredChain, 'checkState' | 'recordDamage'>;
  /** Replaces `STATE_PAGES_PER_LOOK` in tests. */
  readonly statePagesPerLook?: number;
}

/**
 * Starts the scrubber. A step runs synchronously, and checks pages of the last commit. Only this process writes, so no
 * page changes during a step. In one pass, the scrubber first checks all pages of the store. Then it checks the state:
 * the pages that contain the state, and each entry of the state. Finally, it checks undo records and the note that
 * contains the finalized height.
 *
 * @param directory folder of the store
 */
export function startPageScrubber(
  directory: string,
  { clock, observer, state, ...options }: PageScrubberOptions,
): PageScrubber {
  const path = join(directory, DATA_FILE);
  const statePages = options.statePagesPerLook ?? STATE_PAGES_PER_LOOK;
  let timer: Timer;
  let from: Buffer | undefined;
  let check: StateCheck | undefined;
  let reportDamage: (error: ProtocolError) => void;
  const damaged = new Promise<ProtocolError>((resolve) => (reportDamage = resolve));

  const checkNextPages = (): PageCheck => {
    const found = checkPages(path, { pagesMax: PAGES_PER_LOOK, ...(from === undefined ? {} : { from }) });
    if (found.damage !== undefined || found.next !== undefined) return found;
    check = state.checkState();
    return { next: STATE_RANGE.gte };
  };

  const checkNextState = (running: StateCheck): PageCheck => {
    // `checkPages` comes before `readTo`, because LMDB must not read entries from a damaged page.
    const found = checkPages(path, { from: from ?? STATE_RANGE.gte, to: STATE_RANGE.lt, pagesMax: statePages });
    if (found.damage !== undefined) return found;
    if (found.next !== undefined && Buffer.compare(found.next, STATE_RANGE.lt) < 0) {
      running.readTo(found.next);
      return found;
    }
    check = undefined;
    if (!running.finish()) return { damage: STATE_CHANGED };
    return checkUndoRecords();
  };

  /**
   * Checks the undo records and the note that contains the finalized height. The last step of a pass makes this check.
   */
  const checkUndoRecords = (): PageCheck => {
    const found = checkPages(path, { from: TABLES.undo.all.gte, to: TABLES.undo.all.lt, pagesMax: UNDO_PAGES_MAX });
    const damage = found.damage ?? state.recordDamage(UNDO_RECORDS_MAX);
    return damage === undefined ? {} : { damage };
  };

  const look = (): void => {
    const { damage, next } = check === undefined ? checkNextPages() : checkNextState(check);
    if (damage !== undefined) {
      const error = storeDamaged(directory, damage);
      observer.log('error', error.code, 'the chain store is damaged: the node ends, so that it uses no wrong bytes', {
        reason: damage,
      });
      reportDamage(error);
      return;
    }
    from = next;
    timer = clock.after(from === undefined ? ROUND_MS : LOOK_MS, look);
  };
  timer = clock.after(LOOK_MS, look);
  return { damaged, stop: () => timer.cancel() };
}
