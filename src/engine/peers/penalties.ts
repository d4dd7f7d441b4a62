/**
 * Defines the points that each offence costs. A peer begins with 100 points of reputation. At 0 points, the node
 * disconnects the peer and bans the peer's IP address for a day. However, the node does not ban the address if the
 * operator named a peer at this address as a fixed, seed or whitelisted peer. Only an offence that no honest node can
 * commit, such as a block that is wrong on any chain, costs all points.
 */

import type { PeerOffenceCode } from '../../ports/transport.ts';
import type { BlockRejectionCode, TransactionRejectionCode } from '../../protocol/verdict.ts';

export const REPUTATION_FULL = 100;
export const BAN_MS = 86_400_000;

/** Offences that only synchronisation can find. */
type SyncOffenceCode =
  /**
   * The peer and this node have no common block, or their highest common block is below this node's finalized height.
   */
  | 'SYNC_NO_COMMON_BLOCK'
  /** A downloaded block does not follow the block before it, or one answer has more than 100 blocks. */
  | 'SYNC_BLOCKS_UNLINKED'
  /** A downloaded block is invalid at its place in the peer's own chain. */
  | 'SYNC_BRANCH_INVALID';

type OffenceCode = PeerOffenceCode | BlockRejectionCode | TransactionRejectionCode | SyncOffenceCode;

const POINTS: Readonly<Record<OffenceCode, number>> = {
  MALFORMED_MESSAGE: 100,
  MALFORMED_PEER_LIST: 100,
  INFO_TOO_LARGE: 100,
  MESSAGE_FLOOD: 100,
  // The node counts excess messages in windows of ten seconds. The node drops the frames by which a peer exceeds the
  // rate limit. The peer loses the points of `MESSAGE_RATE` for every 200 dropped frames in a window
  // (`p2p/frame-filter.ts`). The peer loses the points of `PROCEDURE_RATE` once in a window if the peer uses one
  // procedure or one event of the wire protocol more than `penalisedAbove` times (`p2p/receive-limits.ts`). The node
  // tolerates a short burst of messages, but not a steady excess.
  MESSAGE_RATE: 10,
  PROCEDURE_RATE: 10,

  BLOCK_MALFORMED: 100,
  BLOCK_SIGNATURE_INVALID: 100,
  BLOCK_PAYLOAD_INVALID: 100,
  // The following rejections depend on the chain, the clock or the configuration of the receiving node. Honest nodes
  // can therefore send blocks that this node rejects for these reasons.
  BLOCK_VERSION_INVALID: 0,
  BLOCK_PREVIOUS_INVALID: 0,
  BLOCK_TIMESTAMP_INVALID: 0,
  BLOCK_REWARD_INVALID: 0,
  BLOCK_FORGER_INVALID: 0,
  BLOCK_BFT_INVALID: 0,
  BLOCK_FORGER_LEAVES: 0,
  BLOCK_KNOWN: 0,
  BLOCK_UNSTORABLE: 0,
  BLOCK_TRANSACTION_INVALID: 0,

  // `TRANSACTION_INVALID` means that the transaction failed a check that needs no state. An honest node makes these
  // checks before it announces a transaction, so an honest node never sends a transaction that fails these checks.
  TRANSACTION_INVALID: 100,
  TRANSACTION_TYPE_UNKNOWN: 0,
  TRANSACTION_TYPE_NOT_ALLOWED: 0,
  TRANSACTION_KNOWN: 0,
  TRANSACTION_IN_FUTURE: 0,
  TRANSACTION_NOT_APPLICABLE: 0,
  // A member's signature for a multisignature transaction is sent together with the 64-bit id of this transaction. Two
  // transactions can have the same id. An attacker could send two transactions with one id to different nodes. A
  // signature for one of these transactions is false at the nodes that have the other transaction. If the penalty for a
  // false signature were not 0, the nodes with one transaction and the nodes with the other transaction would ban each
  // other. A peer therefore loses no points for a false signature. Instead, the node ignores the members' signatures
  // from the sending peer for a limited time (`engine/gossip.ts`).
  MEMBER_SIGNATURE_FALSE: 0,
  POOL_FULL: 0,
  VERIFICATION_LIMIT: 0,

  SYNC_NO_COMMON_BLOCK: 100,
  SYNC_BLOCKS_UNLINKED: 100,
  SYNC_BRANCH_INVALID: 100,
};

/** Returns the points that an offence costs; 0 for an unknown code, and for an offence that costs no points. */
export function pointsOf(code: string): number {
  return Object.hasOwn(POINTS, code) ? POINTS[code as OffenceCode] : 0;
}
