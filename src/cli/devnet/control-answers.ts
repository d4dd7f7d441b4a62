/**
 * Checks the shapes of the answers of a devnet's supervisor, because another program can have the control port after
 * the devnet has ended.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import { listOf, members, moment, number, optional, text, uint32, type Shape } from '../answer-shapes.ts';
import type { ActiveFaults } from './faults.ts';
import type { MiningMode } from './mining.ts';
import type { FundedAccount, ImpersonatedAccount } from './devnet-accounts.ts';
import type { SnapshotFacts } from './snapshots.ts';
import type { MinedSlots } from './timekeeper.ts';

export interface ControlNode {
  readonly index: number;
  readonly state: string;
  readonly http: number;
  readonly ws: number;
  readonly delegates: number;
  /** Process id; absent when no process runs. */
  readonly pid?: number;
}

export interface ControlList {
  readonly mode: MiningMode;
  readonly clock: string;
  /** Time of the chain clock, ISO 8601. */
  readonly time: string;
  readonly nodes: readonly ControlNode[];
  readonly faults: ActiveFaults;
}

/** Reads an answer. */
export interface Answer<T> {
  /**
   * @throws ProtocolError `DEVNET_ANSWER_UNEXPECTED` for an answer with an unexpected shape
   */
  read(value: unknown): T;
}

const node = members({
  index: uint32,
  state: text,
  http: uint32,
  ws: uint32,
  delegates: uint32,
  pid: optional(uint32),
});

const faults = members({
  parts: listOf(listOf(uint32)),
  nodes: listOf(members({ node: uint32, delayMs: number, loss: number, skewMs: number })),
});

const snapshot = members({ name: text, height: uint32, blockId: text, digest: text, time: moment });

export const ANSWERS = {
  list: answerOf<ControlList>(members({ mode: text, clock: text, time: moment, nodes: listOf(node), faults })),
  faults: answerOf<ActiveFaults>(faults),
  stop: answerOf<object>(members({})),
  node: answerOf<ControlNode>(node),
  mine: answerOf<MinedSlots>(
    members({ slots: uint32, emptySlots: uint32, height: uint32, blockId: text, time: moment }),
  ),
  mode: answerOf<{ readonly mode: MiningMode }>(members({ mode: text })),
  snapshot: answerOf<SnapshotFacts>(snapshot),
  snapshots: answerOf<{ readonly snapshots: readonly SnapshotFacts[] }>(members({ snapshots: listOf(snapshot) })),
  fund: answerOf<FundedAccount>(members({ address: text, balance: text, transactionId: text, height: uint32 })),
  impersonate: answerOf<ImpersonatedAccount>(
    members({ address: text, publicKey: text, secondPublicKey: optional(text) }),
  ),
  time: answerOf<{ readonly time: string }>(members({ time: moment })),
} as const;

function answerOf<T>(shape: Shape): Answer<T> {
  return {
    read(value) {
      const wrong = shape(value);
      if (wrong === undefined) return value as T;
      const message = `the answer of the devnet is not as it should be: it${wrong}`;
      throw new ProtocolError('DEVNET_ANSWER_UNEXPECTED', {}, message);
    },
  };
}
