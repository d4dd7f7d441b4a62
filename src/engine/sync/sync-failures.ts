/** Decides what happens to a peer after a failed sync: usually a backoff, and a penalty for lies and invalid blocks. */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId } from '../../ports/transport.ts';
import { BlockRejected, isByClock } from '../../protocol/verdict.ts';
import { BranchRejected } from '../commit.ts';
import type { Backoff } from './backoff.ts';

/** Codes of failures that only a lying peer can cause. */
const LIES: ReadonlySet<string> = new Set(['SYNC_BLOCKS_UNLINKED', 'SYNC_NO_COMMON_BLOCK']);

export interface SyncFailuresDependencies {
  readonly observer: Observer;
  readonly backoff: Backoff;
  /** See `GenerationProfile.rivalsAtOurHeight`. */
  readonly rivalsAtOurHeight: boolean;
  /** Tells the peer manager that a peer lied or sent an invalid branch. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
}

export class SyncFailures {
  readonly #dependencies: SyncFailuresDependencies;

  constructor(dependencies: SyncFailuresDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Handles a failure of a sync with the sync peer.
   *
   * @throws the given error if our store failed, because a download from another peer would also fail
   */
  syncPeerFailed(peerId: PeerId, error: unknown): void {
    const { observer, backoff, rivalsAtOurHeight, penalise } = this.#dependencies;
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (!(cause instanceof ProtocolError)) {
      this.#defectShown(peerId, error);
      return;
    }
    const { code } = cause;
    if (code.startsWith('STORE_')) throw error;
    const reason = messageOf(error);
    const wasByClock = cause instanceof BlockRejected && isByClock(cause);
    const fields = { peer: peerId, reason, ...(wasByClock ? { isByClock: true } : {}) };
    observer.log('warn', code, 'could not synchronise with a peer', fields);
    // The code `TIP_MOVED` means that another job of the node changed our chain during the sync. The peer is not at
    // fault and gets no backoff, so the node can soon sync from the peer again.
    if (code === 'TIP_MOVED') return;
    // The sync peer did not answer within `PROOF_MS` (see `synchronizer.ts`), and another peer also claims a better
    // chain. It is possible that the sync peer is honest and has a slow connection.
    if (code === 'SYNC_CLAIM_UNPROVED') {
      backoff.fail(peerId, false);
      return;
    }
    // If our clock is behind, the node refuses the new blocks of all peers. A refusal because of a timestamp in the
    // future therefore does not count as the fault of the peer. If `rivalsAtOurHeight` is true, the node also syncs
    // from peers at our height that announce no better tip. Such a peer is not at fault if its branch is not better.
    // With this setting, the code `SYNC_BRANCH_NOT_BETTER` therefore never counts as the fault of the peer.
    const isRival = rivalsAtOurHeight && code === 'SYNC_BRANCH_NOT_BETTER';
    const isItsFault = !wasByClock && !isRival;
    backoff.fail(peerId, isItsFault);
    if (LIES.has(code)) penalise(peerId, code, reason);
    // A refused block is an offence of the peer, because an honest peer applies the same rules and therefore has no
    // such block in its chain.
    else if (cause instanceof BlockRejected && isItsFault) penalise(peerId, 'SYNC_BRANCH_INVALID', reason);
  }

  /**
   * Handles a failure of a same-tip peer. Also handles a failure of the sync peer if another peer then sent the blocks.
   * If the peer sent blocks that are invalid or do not follow each other, the consequences are the same as in
   * `syncPeerFailed`. For another `ProtocolError`, such as a missing answer, the peer gets only the shortest backoff,
   * because it is possible that another peer is at fault.
   */
  sameTipPeerFailed(peerId: PeerId, error: unknown): void {
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (cause instanceof BlockRejected || (cause instanceof ProtocolError && LIES.has(cause.code))) {
      this.syncPeerFailed(peerId, error);
      return;
    }
    if (!(cause instanceof ProtocolError)) {
      this.#defectShown(peerId, error);
      return;
    }
    const { observer, backoff } = this.#dependencies;
    const { code } = cause;
    observer.log('debug', code, 'a peer with the same tip as the sync peer could not send blocks', {
      peer: peerId,
      reason: messageOf(error),
    });
    backoff.fail(peerId, false);
  }

  /**
   * Handles an error that is not a `ProtocolError`. Such an error is a defect of this node, whatever the peer sent. The
   * peer gets a backoff, and each further error makes the backoff longer. Without a backoff, a peer that triggers the
   * defect again and again could prevent a sync with other peers. The peer gets no penalty, because an honest peer can
   * also trigger the defect.
   */
  #defectShown(peerId: PeerId, error: unknown): void {
    const { observer, backoff } = this.#dependencies;
    const fields = { peer: peerId, reason: messageOf(error), error };
    observer.log('error', 'SYNC_FAILED', 'synchronising with a peer ended with an internal error', fields);
    backoff.fail(peerId);
  }
}
