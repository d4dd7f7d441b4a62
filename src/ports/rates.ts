/**
 * The rates of all messages and calls between nodes. One table has what this node sends and what it accepts, so no limit can be
 * below the rate of an honest node. No limit stands anywhere else: each follows from the most messages of an honest sender that
 * can arrive at once.
 *
 * Sources: releases 2.3.8 (lisk-framework 0.4.8, lisk-p2p 0.3.7) and 3.0.2 (0.5.2, 0.4.2), with the bounds of their
 * configuration: `broadcasts.broadcastInterval` 1 to 60 s (default 5 s), `BLOCK_TIME` 2 s at least. Release 3.0.2 charges
 * for the fourth `getTransactions`, `postTransactionsAnnouncement` or `postSignatures` of a peer in ten seconds, and both
 * for more than a hundred frames in one second.
 */

import type { Generation } from '../protocol/params.ts';

/** Kinds of messages and calls, under names that do not depend on the generation. */
export type RateKind =
  /** An announcement of the node's own state. */
  | 'info'
  | 'infoQuestion'
  | 'peersQuestion'
  | 'tipQuestion'
  | 'blocksQuestion'
  | 'commonBlockQuestion'
  | 'transactionsQuestion'
  | 'signaturesQuestion'
  | 'block'
  | 'transactionIds'
  | 'transactions'
  | 'signatures'
  /** Measures the round trip. */
  | 'probe';

/** In any time `T`, at most `burst` and one more for each `everyMs` of `T` leave a node for one peer. */
export interface Sending {
  /** Messages that may be sent at once, beyond one for each interval. */
  readonly burst: number;
  readonly everyMs: number;
  /** For calls: the most that can wait while no answer comes. If absent, only the time bounds them. */
  readonly piledMax?: number;
}

export interface RateRow {
  readonly kind: RateKind;
  readonly generation: Generation;
  /** Name of the event or procedure on the wire. */
  readonly name: string;
  /** Highest rate of this node in any configuration. */
  readonly own: Sending;
  /** Highest rate of a reference node in any configuration; undefined if it never sends this. */
  readonly reference: Sending | undefined;
  /** Whether strangers can make an honest node send more. If so, messages above the limit are dropped and cost no points. */
  readonly isRelayed: boolean;
}

/** Window in which uses are counted: the same as in release 3.0.2. */
export const RATE_WINDOW_MS = 10_000;
/**
 * Longest time for which a line stands still; messages sent meanwhile then arrive at once. Heartbeats end a connection that is
 * silent for 20 s, and the next heartbeat is due after 8 s.
 */
export const STALL_MS = 30_000;
/** Factor between the uses that are accepted and those that an honest node can cause. */
export const SAFETY = 1.5;
/** Factor between the uses that cost points and those that are accepted. */
const CHARGED_FROM = 2;

/**
 * Time that this node needs for one item of a message before any signature check, in milliseconds: to read it, to look it up,
 * to refuse it. Measured: 15 us for a signature, 45 us for a known transaction. The sender's budget is charged for it
 * (`engine/pool/verification-budget.ts`). Otherwise peers that send as many messages as they may could keep a core busy with
 * items alone.
 */
export const ITEM_COST_MS = { transaction: 0.05, signature: 0.02 } as const;

/** Calls of ours to one peer that may wait for answers. */
export const REQUESTS_PER_PEER_MAX = 32;
/** Time-out of a call. After it, another call may take its place. */
export const REQUEST_TIMEOUT_MS = 10_000;
/**
 * Calls to one peer that are begun in a second. Peers punish more than a hundred frames in a second, generation 2 with a ban.
 * Their seconds are not ours: twice as many calls as this can fall into one of theirs, and answers and messages come on top.
 */
export const CALLS_PER_SECOND_MAX = 40;
/** Frames in a second that no release charges for. */
export const FRAMES_PER_SECOND = 100;

/** All questions of a synchronisation share this pace. */
const PACED: Sending = {
  burst: CALLS_PER_SECOND_MAX,
  everyMs: 1_000 / CALLS_PER_SECOND_MAX,
  piledMax: REQUESTS_PER_PEER_MAX * Math.ceil(STALL_MS / REQUEST_TIMEOUT_MS),
};
/** The reference asks for one batch after the other, each of which it applies first; its calls wait 2 s at least. */
const SEQUENTIAL: Sending = { burst: 5, everyMs: 50, piledMax: STALL_MS / 2_000 };
/** Once after a connection, with a few repetitions. */
const ONCE: Sending = { burst: 5, everyMs: RATE_WINDOW_MS };
/** A tip changes once in a slot of 2 s at least; a tie, or a change of branch, makes a few more. */
const TIPS: Sending = { burst: 5, everyMs: 1_000 };
/** One message for each interval of the broadcaster, whose configuration allows a second. */
const BROADCASTS: Sending = { burst: 1, everyMs: 1_000 };
/**
 * Three of these in ten seconds are free with release 3.0.2. At its own default interval a fourth comes only when one is
 * five seconds late.
 */
const RATIONED: Sending = { burst: 1, everyMs: 5_000 };
/** Nodes of generation 2 do not count these. */
const UNRATIONED: Sending = { burst: 1, everyMs: 1_000 };
/** After 20 to 60 s, over and over. */
const PROBES: Sending = { burst: 1, everyMs: 20_000 };
/** Announcements of this node's own tip. When tips change too fast, only the newest is announced. */
const OWN_INFO: Sending = { burst: 3, everyMs: 1_000 };

type Words = readonly [name2: string | undefined, name3: string | undefined];
type Row = readonly [kind: RateKind, words: Words, own: Sending | Both, reference: Sending | undefined, relayed?: true];
interface Both {
  readonly 2: Sending;
  readonly 3: Sending;
}

const RATIONED_3: Both = { 2: UNRATIONED, 3: RATIONED };

const ROWS: readonly Row[] = [
  ['info', ['updateMyself', 'postNodeInfo'], OWN_INFO, TIPS],
  ['infoQuestion', ['status', 'getNodeInfo'], ONCE, ONCE],
  // The reference asks seeds that it stays connected to again every half minute.
  ['peersQuestion', ['list', 'getPeers'], ONCE, ONCE],
  ['tipQuestion', [undefined, 'getLastBlock'], PACED, SEQUENTIAL],
  ['blocksQuestion', ['blocks', 'getBlocksFromId'], PACED, SEQUENTIAL],
  ['commonBlockQuestion', ['blocksCommon', 'getHighestCommonBlock'], PACED, SEQUENTIAL],
  // The reference asks once for each announcement that names an unknown id, and ours are rationed.
  ['transactionsQuestion', ['getTransactions', 'getTransactions'], RATIONED, { burst: 8, everyMs: 2_500 }],
  ['signaturesQuestion', ['getSignatures', 'getSignatures'], ONCE, ONCE],
  // Release 2.3.8 passes blocks on before it applies them, and a delegate can sign as many as it likes.
  ['block', ['postBlock', 'postBlock'], TIPS, { burst: 10, everyMs: 1_000 }, true],
  ['transactionIds', [undefined, 'postTransactionsAnnouncement'], RATIONED, BROADCASTS],
  ['transactions', ['postTransactions', undefined], UNRATIONED, BROADCASTS],
  ['signatures', ['postSignatures', 'postSignatures'], RATIONED_3, BROADCASTS],
  ['probe', ['ping', 'ping'], PROBES, PROBES],
];

/** Everything that is counted, for both generations. */
export const RATES: readonly RateRow[] = ROWS.flatMap(([kind, words, own, reference, relayed]) =>
  ([2, 3] as const).flatMap((generation) => {
    const name = words[generation - 2];
    const sending = 'everyMs' in own ? own : own[generation];
    return name === undefined ? [] : [{ kind, generation, name, own: sending, reference, isRelayed: relayed === true }];
  }),
);

/** @throws RangeError where the generation has no such message: a mistake of ours */
export function rateOf(generation: Generation, kind: RateKind): RateRow {
  const row = RATES.find((each) => each.generation === generation && each.kind === kind);
  if (row === undefined) throw new RangeError(`generation ${generation} has no ${kind}`);
  return row;
}

/** Most uses of one sender that can arrive within a window, after its line stood still before. */
export function arrivalsMax({ burst, everyMs, piledMax = Infinity }: Sending, windowMs: number): number {
  return burst + Math.ceil(windowMs / everyMs) + Math.min(piledMax, Math.ceil(STALL_MS / everyMs));
}

/** Most uses that an honest peer can make arrive within a window. */
export function honestMax({ own, reference }: RateRow, windowMs = RATE_WINDOW_MS): number {
  return Math.max(arrivalsMax(own, windowMs), reference === undefined ? 0 : arrivalsMax(reference, windowMs));
}

/** Number of uses in a window that are accepted, and number above which a peer is charged; uses between them are dropped. */
export function limitsOf(row: RateRow): { readonly takenMax: number; readonly chargedAbove: number } {
  const takenMax = Math.ceil(SAFETY * honestMax(row));
  return { takenMax, chargedAbove: row.isRelayed ? Infinity : CHARGED_FROM * takenMax };
}

/**
 * Frames of any kind that an honest peer can make arrive in one second: its calls and messages, its answers to our calls, and
 * heartbeats. Questions of a synchronisation share one pace.
 */
export function honestFramesMax(generation: Generation): number {
  const isPaced = ({ own }: RateRow): boolean => own === PACED;
  const rows = RATES.filter((row) => row.generation === generation);
  const unpaced = rows.filter((row) => !isPaced(row)).reduce((sum, row) => sum + honestMax(row, 1_000), 0);
  const paced = arrivalsMax(PACED, 1_000);
  const answers = paced + arrivalsMax(rateOf(generation, 'info').own, 1_000);
  const heartbeats = 1 + Math.ceil(STALL_MS / 8_000);
  return unpaced + paced + answers + heartbeats;
}
