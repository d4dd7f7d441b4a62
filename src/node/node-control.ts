/**
 * The hooks through which the supervisor of a devnet, or a test, controls a node. `bloomery start` uses none of these
 * hooks.
 */

import type { Ed25519 } from '../crypto/ed25519.ts';
import type { Engine } from '../engine/engine.ts';
import type { Clock } from '../ports/clock.ts';
import type { DevnetControls } from '../ports/devnet-controls.ts';
import type { FolderJournal } from '../ports/journal.ts';
import type { ChainStore } from '../ports/store.ts';
import type { TransactionJournal } from '../ports/transaction-journal.ts';
import type { Transport } from '../ports/transport.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { KeyValue } from '../store/tables/key-value.ts';

export interface NodeControl {
  /** Clock that the node uses for slots and timestamps instead of the machine's clock. */
  readonly chainClock: Clock;
  /**
   * Returns a promise while an operation of the devnet stops the chain clock for a short time. For example, to mine a
   * slot, the devnet stops the clock in this slot and asks the nodes to forge. The promise resolves when the supervisor
   * sets the clock again. Returns undefined at any other time.
   */
  clockMoved(): Promise<void> | undefined;
  /** True while delegates forge only in calls of `ForgingScheduler.forgeNow`, and leave all other slots empty. */
  isForgingSuspended(): boolean;
  /** Ed25519 implementation that the consensus rules (`createRules`) use instead of the default implementation. */
  readonly ed25519: Ed25519;
  /**
   * Wraps the signature verifier. For example, in a forked devnet (which starts from the state of a real chain), the
   * wrapper also accepts signatures of the substitute key, which signs for any account.
   */
  verifier(over: Verifier): Verifier;
  /**
   * True if the supervisor has checked the pages and the state of the node's chain, and the chain has not changed since
   * this check. The node then skips the same check at its start (option `isChecked` of `openChainStore`).
   */
  readonly isChainChecked?: boolean;
  /** The node calls this hook with its engine and store, before it starts the engine. */
  built(parts: ControlledParts): void;
  /** The controls of the devnet that the node offers to the dashboard. */
  readonly devnet?: DevnetControls;
  /** Storage in memory. If this member is present, the node does not create its data folder. */
  readonly memory?: NodeMemory;
  /** Transport that the node uses instead of connections to peers over the network. */
  readonly transport?: Transport;
  /** Wraps the transport before the engine gets it, for example to delay messages. */
  wire?(over: Transport): Transport;
  /**
   * True if only `http.socketTimeoutMs` limits the time for which an HTTP connection stays idle. A client in the same
   * process possibly gets no processor time for some seconds, so its connection stays idle. With a shorter limit, the
   * server could close this connection just before the client's next request arrives.
   */
  readonly keepsConnections?: boolean;
}

/** The storage of a node that keeps all its data in memory and has no data folder. */
interface NodeMemory {
  readonly keyValue: KeyValue;
  readonly journal: FolderJournal;
  readonly transactionJournal: TransactionJournal;
}

export interface ControlledParts {
  readonly engine: Engine;
  readonly store: ChainStore;
}
