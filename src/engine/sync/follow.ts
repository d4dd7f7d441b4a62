/**
 * Downloads the blocks of one peer above the last common block. If that block is our tip, they are appended. Otherwise the node
 * switches to the peer's branch as soon as it has proved to be the better one.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { BranchRejected } from '../commit.ts';
import { findCommonHeight } from './common-block.ts';
import { downloadAfter, type Batch } from './download.ts';
import { PeerTimeBudget } from './peer-time-budget.ts';

/**
 * Blocks by which a rival branch may outgrow ours before it must have proved to be the better one: ten rounds beyond what
 * the finality protocol looks back.
 */
const BRANCH_AHEAD_BLOCKS_MAX = 1313;

/**
 * Bytes of a rival branch, as they are stored, that are kept in memory until it has proved to be the better one. As values
 * they take up to twenty times as much. Five thousand blocks of 25 transfers fit in, or eighty-five thousand empty ones; while
 * nothing becomes final a branch may part as far down as that, and anybody can sign blocks that are valid by themselves.
 */
export const BRANCH_BYTES_MAX = 16_000_000;

/** Times that a download is begun again because a helper's block was refused: each time without that helper. */
const ATTEMPTS_MAX = 5;

export interface FollowDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request'>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Peers at the same tip as this one, which may send the same blocks. */
  readonly helpers: (peerId: PeerId) => readonly PeerId[];
  /** Called for a helper that failed, or that sent a refused block. */
  readonly peerFailed: (peerId: PeerId, error: unknown) => void;
  /** False where peers have no answer to the question for their tip. */
  readonly isTipAsked: boolean;
  readonly isStopped: () => boolean;
  /** Whether other peers wait that come before this one, which has proved nothing for `waitedMs`. */
  readonly othersWait: (waitedMs: number) => boolean;
  /** Bytes of a rival branch that are kept until it is the better one; some 16 million unless told. */
  readonly branchBytesMax?: number;
}

/**
 * @param isShown true when the peer has just sent the tip of its chain; otherwise it is asked for it before anything else
 * @returns true when our tip changed
 * @throws ProtocolError `REQUEST_FAILED`, `SYNC_NO_COMMON_BLOCK`, `SYNC_FORK_TOO_DEEP`, `SYNC_BLOCKS_UNLINKED`,
 *   `SYNC_BRANCH_NOT_BETTER`, `SYNC_BRANCH_TOO_LARGE`, `SYNC_TOO_SLOW`, or what `Chain.append` and `Chain.switchTo` throw
 */
export async function follow(peerId: PeerId, isShown: boolean, dependencies: FollowDependencies): Promise<boolean> {
  const { chain, observer, isTipAsked } = dependencies;
  const before = chain.tip.header;
  if (!isShown && isTipAsked && !(await hasBetterTip(peerId, dependencies))) return false;
  const commonHeight = await commonHeightWith(peerId, dependencies);
  const fields = { peer: peerId, height: before.height, commonHeight };
  observer.log('info', 'SYNC_STARTED', 'downloading blocks', fields);
  let from = headerAt(commonHeight, chain);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (await takeOver(peerId, from, dependencies)) break;
    from = chain.tip.header;
  }
  const after = chain.tip.header;
  observer.log('info', 'SYNC_ENDED', 'downloaded all that the peer has', {
    peer: peerId,
    height: after.height,
    blocks: after.height - commonHeight,
  });
  return after.id !== before.id;
}

/** @returns false when another peer's block was refused: what follows the tip is to be fetched again then */
async function takeOver(peerId: PeerId, from: BlockHeader, dependencies: FollowDependencies): Promise<boolean> {
  const { chain, transport, clock, helpers, peerFailed, isStopped } = dependencies;
  // A rival branch does not become ours until it has proved to be the better one.
  let isOurs = from.height === chain.tip.header.height;
  const batches = downloadAfter(from, {
    leader: peerId,
    helpers: () => (isOurs ? helpers(peerId) : []),
    transport,
    clock,
    codec: chain.rules.codec,
    peerFailed,
    prepare: (blocks) => chain.validator.precheckSignatures(blocks),
  });
  const budget = new PeerTimeBudget(clock);
  try {
    if (!isOurs) await changeBranch(from.height, batches, budget, dependencies);
    isOurs = true;
    for (;;) {
      const { value: batch, done } = await budget.during(batches.next());
      if (done === true || isStopped()) return true;
      try {
        await batch.prepared;
        await chain.append(batch.blocks);
      } catch (error) {
        const isOfBatch = error instanceof BranchRejected || !(error instanceof ProtocolError);
        if (batch.peerId === peerId || !isOfBatch) throw error;
        peerFailed(batch.peerId, error);
        return false;
      }
      budget.reward(batch.blocks);
    }
  } finally {
    // Nothing more of it is fetched or looked at.
    await batches.return();
  }
}

/** Height of a block that we share with the peer, at or above which everything of ours can be reverted. */
async function commonHeightWith(peerId: PeerId, { chain, transport }: FollowDependencies): Promise<number> {
  const floorHeight = chain.floorHeight;
  const height = await findCommonHeight(chain.state, { peerId, transport }, floorHeight);
  if (height !== undefined) return height;
  if (floorHeight <= Math.max(1, chain.finalizedHeight)) {
    throw new ProtocolError('SYNC_NO_COMMON_BLOCK', { peer: peerId, floorHeight });
  }
  // Nothing is final here, so the peer may well be right: it is only that we can not follow it.
  throw new ProtocolError(
    'SYNC_FORK_TOO_DEEP',
    { peer: peerId, floorHeight },
    `the peer's chain parts from ours below height ${floorHeight}, and blocks further down can no longer be reverted: ` +
      'if the network is there, start anew with an empty data directory',
  );
}

/** Whether the peer can show the tip of a chain to be preferred. One in the future counts: our clock may run slow. */
async function hasBetterTip(peerId: PeerId, { chain, transport }: FollowDependencies): Promise<boolean> {
  const block = chain.rules.codec.blockFromJson(await transport.request(peerId, { kind: 'tip' }));
  await chain.validator.validateDetached(block);
  const status = chain.rules.forkStatus(chain.tip, { header: block });
  return status === 'betterChain' || status === 'extends';
}

/** Collects a rival branch until fork choice prefers it, then changes over. */
async function changeBranch(
  fromHeight: number,
  batches: AsyncGenerator<Batch, void>,
  budget: PeerTimeBudget,
  { chain, isStopped, othersWait, branchBytesMax = BRANCH_BYTES_MAX }: FollowDependencies,
): Promise<void> {
  const aheadOf = chain.tip.header.height;
  let commonHeight = fromHeight;
  const branch: Block[] = [];
  let bytes = 0;
  for (;;) {
    const { value: batch, done } = await budget.during(batches.next());
    const end = branch.at(-1);
    if (done === true || isStopped() || (end !== undefined && end.height > aheadOf + BRANCH_AHEAD_BLOCKS_MAX)) {
      throw new ProtocolError('SYNC_BRANCH_NOT_BETTER', { commonHeight, blocks: branch.length });
    }
    await batch.prepared;
    for (const block of batch.blocks) {
      // Junk is found when it comes, not when the branch has filled the memory.
      chain.validator.validate(block);
      // Heights far below the tip are asked for in steps, so the peer may begin with blocks that we have.
      if (branch.length === 0 && chain.state.header(block.height)?.id === block.id) commonHeight = block.height;
      else {
        branch.push(block);
        bytes += storedBytes(block, chain.rules.codec);
      }
    }
    const newest = branch.at(-1);
    if (newest === undefined) {
      // All blocks so far are in our chain, and more will come.
      if (commonHeight === chain.tip.header.height) return;
      continue;
    }
    if (chain.prefers(newest)) {
      await chain.switchTo(commonHeight, branch);
      return;
    }
    budget.reward(batch.blocks);
    if (othersWait(budget.waitedMs)) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs: budget.waitedMs });
    if (bytes > branchBytesMax) {
      throw new ProtocolError(
        'SYNC_BRANCH_TOO_LARGE',
        { commonHeight, blocks: branch.length, bytes },
        `the peer's chain parts from ours at height ${commonHeight}, and ${branch.length} blocks of it (${bytes} bytes) have ` +
          'not shown it to be the better one: if the network is there, start anew with an empty data directory',
      );
    }
  }
}

function storedBytes(block: Block, codec: Codec): number {
  const ofTransactions = block.transactions.map((each) => codec.encodeTransaction(each).length);
  return ofTransactions.reduce((sum, length) => sum + length, codec.encodeHeader(block).length);
}

function headerAt(height: number, chain: Chain): BlockHeader {
  const header = chain.state.header(height);
  if (header === undefined) throw new ProtocolError('TIP_MOVED', { height });
  return header;
}
