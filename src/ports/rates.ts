/**
 * Defines the rates of all messages and calls between nodes. The table `RATES` has the rates at which this node and
 * honest peers send. The limits for received messages and calls are computed from this table, so no limit is below the
 * rate of an honest node. Each limit applies to one kind of message or call (`RateKind`). The limit is `SAFETY` times
 * the largest number of messages or calls of this kind that can arrive from an honest sender within one window
 * (`RATE_WINDOW_MS`).
 *
 * The rates of honest peers come from the code of lisk-sdk 2.3.8 (lisk-framework 0.4.8, lisk-p2p 0.3.7) and lisk-sdk
 * 3.0.2 (lisk-framework 0.5.2, lisk-p2p 0.4.2). Both releases allow these values in their configuration:
 * `broadcasts.broadcastInterval` from 1 to 60 s (default 5 s), and `BLOCK_TIME` of at least 2 s. Release 3.0.2
 * penalises a peer for the fourth message or call with the same name within ten seconds, if the name is
 * `getTransactions`, `postTransactionsAnnouncement` or `postSignatures`. Both releases penalise a peer for more than a
 * hundred frames (messages, calls and answers together) in one second.
 */

import type { Generation } from '../protocol/params.ts';

/**
 * Kinds of messages, and of calls (requests that the receiver answers). The names of kinds do not depend on the
 * generation.
 */
export type RateKind =
  /** An announcement of the sender's node info, such as the sender's tip. */
  | 'info'
  | 'infoRequest'
  | 'peersRequest'
  | 'tipRequest'
  | 'blocksRequest'
  | 'commonBlockRequest'
  | 'transactionsRequest'
  | 'signaturesRequest'
  | 'block'
  | 'transactionIds'
  | 'transactions'
  | 'signatures'
  /** A ping that measures the round-trip time. */
  | 'probe';

/**
 * The maximum rate at which a sender sends to one peer. In any period of `T` milliseconds, the sender sends at most
 * `burst` messages, plus one message for each `everyMs` milliseconds of the period.
 */
export interface Sending {
  /**
   * Number of messages that the sender can send in a burst, in addition to one message in each `everyMs` milliseconds.
   */
  readonly burst: number;
  readonly everyMs: number;
  /**
   * Maximum number of calls that wait for an answer at the same time. If this maximum is absent, only `burst` and
   * `everyMs` limit the number of waiting calls.
   */
  readonly outstandingMax?: number;
}

export interface RateRow {
  readonly kind: RateKind;
  readonly generation: Generation;
  /** Name of the event (for a message) or of the procedure (for a call) in the frames on the wire. */
  readonly name: string;
  /** Highest rate at which this node sends messages or calls of this kind, in any configuration. */
  readonly own: Sending;
  /**
   * Highest rate at which a reference node (lisk-sdk) sends messages or calls of this kind, in any configuration. The
   * rate is undefined if a reference node never sends messages or calls of this kind.
   */
  readonly reference: Sending | undefined;
  /**
   * True if third parties can cause an honest node to exceed the rates of this row. In this case, the node drops the
   * messages above the limit, but the peer that sent these messages loses no points.
   */
  readonly isRelayed: boolean;
}

/**
 * Length in milliseconds of the window in which messages and calls are counted. Release 3.0.2 of lisk-sdk uses the same
 * length.
 */
export const RATE_WINDOW_MS = 10_000;
/**
 * Longest time in milliseconds for which a connection can be blocked and yet stay open. The node that accepted a
 * connection sends a heartbeat every 8 s, and a node closes a connection on which nothing has arrived for 20 s.
 * `STALL_MS` is a little more than the sum of both times. When a blocked connection works again, all messages that were
 * sent during the blockage arrive together.
 */
export const STALL_MS = 30_000;
/**
 * Safety factor of the rate limits. A use is a message or a call. For each kind of use, `honestMax` is the largest
 * number of uses that can arrive from an honest peer in a window. This node accepts `SAFETY` times this number from
 * each peer.
 */
export const SAFETY = 1.5;
/**
 * A peer loses points if its uses in a window exceed `PENALISED_FROM` times the number of uses that the node accepts
 * (`takenMax` in `limitsOf`).
 */
const PENALISED_FROM = 2;

/**
 * Time in milliseconds to read, look up and refuse one item of a message (a transaction or a signature), before any
 * signature check. A measurement gave about 15 µs for a signature, and about 45 µs for a transaction that is already
 * known. The node charges this time to the sender's verification budget (`engine/pool/verification-budget.ts`). Without
 * this charge, peers within the rate limits could keep a core busy by sending messages with many items.
 */
export const ITEM_COST_MS = { transaction: 0.05, signature: 0.02 } as const;

/**
 * Maximum number of calls to one peer that wait for an answer at the same time. This maximum does not apply to pings
 * and to announcements of this node's info.
 */
export const REQUESTS_PER_PEER_MAX = 32;
/** Time in milliseconds after which a call without an answer fails. */
export const REQUEST_TIMEOUT_MS = 10_000;
/**
 * Maximum number of calls to one peer that this node starts in a second. This maximum does not apply to pings and to
 * announcements of this node's info. A peer that runs lisk-sdk penalises this node for more than a hundred frames in a
 * second. In generation 2, the peer even bans this node. The peer counts the frames of each second, but its seconds
 * begin at other moments than the seconds of this node. In one second of the peer, this node can therefore start up to
 * 2 × `CALLS_PER_SECOND_MAX` of the limited calls. The peer also counts the pings, answers and messages of this node.
 */
export const CALLS_PER_SECOND_MAX = 40;
/** Maximum number of frames in a second that lisk-sdk accepts from a peer without a penalty. */
export const FRAMES_PER_SECOND = 100;

/** Total rate of all requests that this node sends to one peer during a synchronisation. */
const PACED: Sending = {
  burst: CALLS_PER_SECOND_MAX,
  everyMs: 1_000 / CALLS_PER_SECOND_MAX,
  outstandingMax: REQUESTS_PER_PEER_MAX * Math.ceil(STALL_MS / REQUEST_TIMEOUT_MS),
};
/**
 * Rate of lisk-sdk's requests during a synchronisation. The reference (lisk-sdk) applies each batch of blocks before it
 * asks for the next batch. The reference waits at least 2 s for an answer before its call times out.
 */
const SEQUENTIAL: Sending = { burst: 5, everyMs: 50, outstandingMax: STALL_MS / 2_000 };
/** Rate of a request that a node sends once after it has connected to a peer, and later only rarely. */
const ONCE: Sending = { burst: 5, everyMs: RATE_WINDOW_MS };
/**
 * Rate of messages about a changed tip. The tip usually changes once in a slot, and a slot lasts at least 2 s. A
 * tie-break or a reorg adds a few changes.
 */
const TIPS: Sending = { burst: 5, everyMs: 1_000 };
/**
 * Rate of a periodic broadcast of lisk-sdk. A node sends one message in each interval. The configuration of lisk-sdk
 * allows intervals of one second.
 */
const BROADCASTS: Sending = { burst: 1, everyMs: 1_000 };
/**
 * Rate at which this node sends a kind of message that release 3.0.2 limits. Release 3.0.2 accepts three messages of
 * the kind from a peer in ten seconds without a penalty. This node sends at most one message every five seconds, like
 * release 3.0.2 with its default configuration. Four messages can therefore arrive within ten seconds only if the first
 * of these messages is five seconds late.
 */
const RATIONED: Sending = { burst: 1, everyMs: 5_000 };
/** Rate at which this node sends a kind of message for which nodes of generation 2 have no limit. */
const UNRATIONED: Sending = { burst: 1, everyMs: 1_000 };
/** Rate of the ping that measures latency. A node sends a ping every 20 to 60 s. */
const PROBES: Sending = { burst: 1, everyMs: 20_000 };
/**
 * Rate of announcements of this node's own tip. If the tip changes more often than this rate allows, the node announces
 * only the newest tip.
 */
const OWN_INFO: Sending = { burst: 3, everyMs: 1_000 };

/**
 * The names of a message or call in the frames of generation 2 and of generation 3. The name for a generation is
 * undefined if this generation does not have the message or call.
 */
type WireNames = readonly [name2: string | undefined, name3: string | undefined];
type Row = readonly [
  kind: RateKind,
  names: WireNames,
  own: Sending | RateByGeneration,
  reference: Sending | undefined,
  relayed?: true,
];
interface RateByGeneration {
  readonly 2: Sending;
  readonly 3: Sending;
}

const RATIONED_3: RateByGeneration = { 2: UNRATIONED, 3: RATIONED };

const ROWS: readonly Row[] = [
  ['info', ['updateMyself', 'postNodeInfo'], OWN_INFO, TIPS],
  ['infoRequest', ['status', 'getNodeInfo'], ONCE, ONCE],
  // Every half minute, the reference (lisk-sdk) asks its connected seed peers for their lists of peers.
  ['peersRequest', ['list', 'getPeers'], ONCE, ONCE],
  ['tipRequest', [undefined, 'getLastBlock'], PACED, SEQUENTIAL],
  ['blocksRequest', ['blocks', 'getBlocksFromId'], PACED, SEQUENTIAL],
  ['commonBlockRequest', ['blocksCommon', 'getHighestCommonBlock'], PACED, SEQUENTIAL],
  // When the reference (lisk-sdk) receives an announcement with an unknown id, it sends one request for transactions.
  // This node sends announcements at a limited rate, so these requests of the reference arrive at a limited rate, too.
  ['transactionsRequest', ['getTransactions', 'getTransactions'], RATIONED, { burst: 8, everyMs: 2_500 }],
  ['signaturesRequest', ['getSignatures', 'getSignatures'], ONCE, ONCE],
  // A node of release 2.3.8 relays a block before it applies the block, and a delegate can sign any number of blocks
  // for one slot. An honest node can therefore relay several blocks in one slot.
  ['block', ['postBlock', 'postBlock'], TIPS, { burst: 10, everyMs: 1_000 }, true],
  ['transactionIds', [undefined, 'postTransactionsAnnouncement'], RATIONED, BROADCASTS],
  ['transactions', ['postTransactions', undefined], UNRATIONED, BROADCASTS],
  ['signatures', ['postSignatures', 'postSignatures'], RATIONED_3, BROADCASTS],
  ['probe', ['ping', 'ping'], PROBES, PROBES],
];

/** The rates of both generations for all messages and calls that the node counts. */
export const RATES: readonly RateRow[] = ROWS.flatMap(([kind, names, own, reference, relayed]) =>
  ([2, 3] as const).flatMap((generation) => {
    const name = names[generation - 2];
    const sending = 'everyMs' in own ? own : own[generation];
    return name === undefined ? [] : [{ kind, generation, name, own: sending, reference, isRelayed: relayed === true }];
  }),
);

/** @throws RangeError if the generation has no message of this kind; the caller must not ask for such a kind */
export function rateOf(generation: Generation, kind: RateKind): RateRow {
  const row = RATES.find((each) => each.generation === generation && each.kind === kind);
  if (row === undefined) throw new RangeError(`generation ${generation} has no ${kind}`);
  return row;
}

/**
 * Returns the maximum number of uses (messages or calls) that can arrive from one sender within a window. The function
 * assumes that the connection of the sender was blocked before the window.
 */
export function arrivalsMax({ burst, everyMs, outstandingMax = Infinity }: Sending, windowMs: number): number {
  return burst + Math.ceil(windowMs / everyMs) + Math.min(outstandingMax, Math.ceil(STALL_MS / everyMs));
}

/** Returns the maximum number of uses of one kind that can arrive from one honest peer within a window. */
export function honestMax({ own, reference }: RateRow, windowMs = RATE_WINDOW_MS): number {
  return Math.max(arrivalsMax(own, windowMs), reference === undefined ? 0 : arrivalsMax(reference, windowMs));
}

/**
 * Returns the limits for the uses of one peer in a window. The node accepts `takenMax` uses, and drops all further
 * uses. The peer loses points once in a window, for the first use above `penalisedAbove`.
 */
export function limitsOf(row: RateRow): { readonly takenMax: number; readonly penalisedAbove: number } {
  const takenMax = Math.ceil(SAFETY * honestMax(row));
  return { takenMax, penalisedAbove: row.isRelayed ? Infinity : PENALISED_FROM * takenMax };
}

/**
 * Returns the maximum number of frames that can arrive from one honest peer in one second. These frames are the calls
 * and messages of the peer, its answers to calls of this node, and its heartbeats. The function counts the rate `PACED`
 * only once, because all requests of a synchronisation share this rate.
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
