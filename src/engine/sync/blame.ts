/** What a failure of a synchronisation says of the peer that it was with: whether we back off from it, and whether it lied. */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId } from '../../ports/transport.ts';
import { BlockRejected, isByClock } from '../../protocol/verdict.ts';
import { BranchRejected } from '../commit.ts';
import type { Backoff } from './backoff.ts';

/** What only a liar can have done: it ends the conversation. */
const LIES: ReadonlySet<string> = new Set(['SYNC_BLOCKS_UNLINKED', 'SYNC_NO_COMMON_BLOCK']);

export interface BlameDependencies {
  readonly observer: Observer;
  readonly backoff: Backoff;
  /** Whether a peer at our height may have the chain to be preferred. */
  readonly rivalsAtOurHeight: boolean;
  /** Tells the keeper of peers that one misled us. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
}

export class Blame {
  readonly #dependencies: BlameDependencies;

  constructor(dependencies: BlameDependencies) {
    this.#dependencies = dependencies;
  }

  /** The peer that was followed. @throws the error when our disk is at fault, as no other peer would help */
  leaderFailed(peerId: PeerId, error: unknown): void {
    const { observer, backoff, rivalsAtOurHeight, penalise } = this.#dependencies;
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (!(cause instanceof ProtocolError)) {
      this.#defectShown(peerId, error);
      return;
    }
    const { code } = cause;
    // A disk that is full or broken is nobody's fault but ours, and another peer would not help.
    if (code.startsWith('STORE_')) throw error;
    const reason = messageOf(error);
    observer.log('warn', code, 'could not synchronise with a peer', { peer: peerId, reason });
    // Our own chain went on meanwhile: a new look decides.
    if (code === 'TIP_MOVED') return;
    // Others had to be heard; perhaps its line is slow.
    if (code === 'SYNC_CLAIM_UNPROVED') {
      backoff.fail(peerId, false);
      return;
    }
    // A slow clock sees blocks and transactions of the future everywhere; a rival at our height promised nothing.
    const isRival = rivalsAtOurHeight && code === 'SYNC_BRANCH_NOT_BETTER';
    const isItsFault = !(cause instanceof BlockRejected && isByClock(cause)) && !isRival;
    backoff.fail(peerId, isItsFault);
    if (LIES.has(code)) penalise(peerId, code, reason);
    // Where a block belongs is beyond doubt here, so no honest peer has it.
    else if (cause instanceof BlockRejected && isItsFault) penalise(peerId, 'SYNC_BRANCH_INVALID', reason);
  }

  /**
   * A peer that served beside the one that is followed. What it did not answer is charged to nobody: which of the two lies is
   * open.
   */
  helperFailed(peerId: PeerId, error: unknown): void {
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (cause instanceof BlockRejected || (cause instanceof ProtocolError && LIES.has(cause.code))) {
      this.leaderFailed(peerId, error);
      return;
    }
    if (!(cause instanceof ProtocolError)) {
      this.#defectShown(peerId, error);
      return;
    }
    const { observer, backoff } = this.#dependencies;
    const { code } = cause;
    observer.log('debug', code, 'a peer did not help with a download', { peer: peerId, reason: messageOf(error) });
    backoff.fail(peerId, false);
  }

  /**
   * An error that no rule foresees is a defect of ours, whatever the peer sent. We back off from the peer, the longer the more
   * often it shows: nobody who knows of the defect must keep us from the others. It costs no points, as an honest peer may show
   * it, too.
   */
  #defectShown(peerId: PeerId, error: unknown): void {
    const { observer, backoff } = this.#dependencies;
    const fields = { peer: peerId, reason: messageOf(error), error };
    observer.log('error', 'SYNC_FAILED', 'synchronising with a peer ended with an error of ours', fields);
    backoff.fail(peerId);
  }
}
