/**
 * Downloads the blocks of one peer's chain above the last block that the peer's chain and our chain both contain. If
 * this common block is our tip, the node appends the downloaded blocks to our chain. If the two chains split below our
 * tip, the blocks of the peer above the split are a rival branch. The node switches to the rival branch as soon as the
 * branch has proved to be better. This is the case when fork choice prefers the newest block of the branch to our tip.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { BranchRejected } from '../commit.ts';
import type { Batch } from './arrived-batches.ts';
import { type CommonBlock, findCommonBlock } from './common-block.ts';
import { downloadAfter } from './download.ts';
import { PeerTimeBudget } from './peer-time-budget.ts';

/**
 * Maximum number of blocks by which a rival branch can be higher than our tip before the branch has proved to be
 * better. The node gives up a rival branch that is higher without this proof. The limit is 13 rounds of 101 delegates.
 * In the finality protocol, one header votes for the blocks of at most 3 rounds. The limit consists of these 3 rounds
 * and a reserve of 10 rounds.
 */
const BRANCH_AHEAD_BLOCKS_MAX = 1313;

/**
 * Maximum size in bytes of a rival branch that the node keeps in memory until the branch has proved to be better. The
 * size is measured in the binary form of the store. As objects in memory, the blocks take up to twenty times this size.
 * Five thousand blocks of 25 transfers, or eighty-five thousand empty blocks, fit into this limit. If each block of an
 * honest branch has at most 25 transfers, the branch reaches this limit only under two conditions. The branch split
 * from our chain thousands of blocks ago, and no block has become final after the split. The node needs this limit
 * because the node cannot check before the switch which delegate owns a slot. Anybody can therefore sign blocks for a
 * branch.
 */
export const BRANCH_BYTES_MAX = 16_000_000;

/**
 * Maximum number of attempts to download the blocks of one sync peer's chain. If a block of a same-tip peer is refused
 * by the rules or causes an internal error, the node makes a further attempt without that peer.
 */
const ATTEMPTS_MAX = 5;

export interface SyncFromPeerDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request'>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Returns peers with the same tip as the given peer. The node can also ask the returned peers for blocks. */
  readonly sameTipPeers: (peerId: PeerId) => readonly PeerId[];
  readonly isSyncPeerConnected: () => boolean;
  /**
   * Called for a same-tip peer that failed, or whose block was refused or caused an internal error. Also called for the
   * sync peer if it failed to send a batch, and another peer then sent the batch.
   */
  readonly peerFailed: (peerId: PeerId, error: unknown) => void;
  /** False if the protocol of this generation has no request for a peer's tip. */
  readonly isTipAsked: boolean;
  readonly isStopped: () => boolean;
  /**
   * Returns whether the node gives up the sync peer in favour of another peer that claims a better chain. `waitedMs` is
   * the time in milliseconds that the node has waited for blocks of the sync peer's unproved branch.
   */
  readonly othersWait: (waitedMs: number) => boolean;
  /** Maximum number of bytes of a rival branch in memory; `BRANCH_BYTES_MAX` by default. */
  readonly branchBytesMax?: number;
}

/**
 * Downloads the blocks of one peer's chain until the peer has no more blocks, `isStopped` returns true, or
 * `ATTEMPTS_MAX` attempts have failed. Appends the blocks to our chain, or switches to the peer's branch.
 *
 * @param isShown true if the peer has just sent the tip of its chain. If false and `isTipAsked` is true, the node first
 *   asks the peer for the tip, and downloads blocks only if this tip is better than ours
 * @returns true if our tip changed
 * @throws ProtocolError `SYNC_NO_COMMON_BLOCK`, `SYNC_FORK_TOO_DEEP`, `SYNC_BLOCKS_UNLINKED`, `SYNC_BRANCH_NOT_BETTER`,
 *   `SYNC_BRANCH_TOO_LARGE`, `SYNC_TOO_SLOW`, `TIP_MOVED`, or an error of the transport, `Chain.append` or
 *   `Chain.switchTo`
 * @throws BlockRejected if the peer's tip or a downloaded block is malformed, or if the peer's tip is invalid
 * @throws BranchRejected if the rules refuse a downloaded block
 */
export async function syncFromPeer(
  peerId: PeerId,
  isShown: boolean,
  dependencies: SyncFromPeerDependencies,
): Promise<boolean> {
  const { chain, observer, isTipAsked } = dependencies;
  const before = chain.tip.header;
  if (!isShown && isTipAsked && !(await hasBetterTip(peerId, dependencies))) return false;
  const common = await commonBlockWith(peerId, dependencies);
  const commonHeight = common.height;
  const fields = { peer: peerId, height: before.height, commonHeight };
  observer.log('info', 'SYNC_STARTED', 'downloading blocks', fields);
  let from = headerAt(commonHeight, chain);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (await takeOver(peerId, from, common.nextHeight, dependencies)) break;
    from = chain.tip.header;
  }
  const after = chain.tip.header;
  const what = dependencies.isStopped() ? 'stopped the download' : 'the download has ended';
  observer.log('info', 'SYNC_ENDED', what, {
    peer: peerId,
    height: after.height,
    blocks: after.height - commonHeight,
  });
  return after.id !== before.id;
}

/**
 * Downloads blocks and adds them to our chain.
 *
 * @param nextHeight `CommonBlock.nextHeight` of the common block that the peer named
 * @returns false if a block of a same-tip peer was refused by the rules or caused an internal error. The caller then
 *   calls this function again from the current tip
 */
async function takeOver(
  peerId: PeerId,
  from: BlockHeader,
  nextHeight: number | undefined,
  dependencies: SyncFromPeerDependencies,
): Promise<boolean> {
  const { chain, transport, clock, sameTipPeers, isSyncPeerConnected, peerFailed, isStopped } = dependencies;
  // The node switches to a rival branch only after the branch has proved to be better. Before this proof, the node asks
  // only the sync peer for blocks of the branch.
  let isOurs = from.height === chain.tip.header.height;
  const batches = downloadAfter(from, {
    syncPeer: peerId,
    sameTipPeers: () => (isOurs ? sameTipPeers(peerId) : []),
    isSyncPeerConnected,
    // The node does not join the answers for a rival branch, for two reasons. First, each answer can prove that the
    // branch is better, so the node examines each answer as soon as the answer arrives. Second, the node validates each
    // batch of a rival branch without a pause, so a large batch would block the event loop for a long time.
    joinsAnswers: () => isOurs,
    transport,
    clock,
    codec: chain.rules.codec,
    peerFailed,
    prepare: (blocks) => chain.validator.precheckSignatures(blocks),
  });
  const budget = new PeerTimeBudget(clock);
  try {
    // The peer proves its claim of a better chain when the node switches to the peer's branch, or appends a block of
    // the peer's chain.
    let isProved = !isOurs && (await changeBranch({ height: from.height, nextHeight }, batches, budget, dependencies));
    isOurs = true;
    for (;;) {
      const { value: batch, done } = await budget.during(batches.next());
      if (done === true || isStopped()) return true;
      const { height } = chain.tip.header;
      try {
        await batch.prepared;
        await chain.append(batch.blocks);
      } catch (error) {
        const isOfBatch = error instanceof BranchRejected || !(error instanceof ProtocolError);
        if (batch.peerId === peerId || !isOfBatch) throw error;
        peerFailed(batch.peerId, error);
        return false;
      }
      // The height of our tip can grow during the download, because blocks of other peers arrive. `Chain.append`
      // ignores downloaded blocks up to the height of our tip. Ignored blocks earn no time. If ignored blocks earned
      // time, a peer could prolong the sync by sending only such blocks.
      const appended = batch.blocks.filter((block) => block.height > height);
      isProved ||= appended.length > 0;
      account(appended, budget, isProved, dependencies);
    }
  } finally {
    // Ends the download, so that the node asks for no more blocks.
    await batches.return();
  }
}

/**
 * Adds time to the time budget of the peer for the blocks of a received batch (`PeerTimeBudget.reward`). Call this
 * function after each batch, except after the batch that caused the switch to the peer's branch. That batch adds no
 * time.
 *
 * @param earning the blocks of the batch that add time to the budget
 * @param isProved true if the peer has proved its claim. If false, the node gives up the peer when `othersWait` returns
 *   true
 * @throws ProtocolError `SYNC_TOO_SLOW` if the budget is used up, or if the node gives up the peer in favour of another
 *   peer
 */
function account(
  earning: readonly Block[],
  budget: PeerTimeBudget,
  isProved: boolean,
  { othersWait }: SyncFromPeerDependencies,
): void {
  budget.reward(earning);
  const { waitedMs } = budget;
  if (!isProved && othersWait(waitedMs)) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs });
}

/**
 * Returns a block that is in our chain and in the peer's chain. The node can revert all our blocks above the returned
 * block.
 */
async function commonBlockWith(peerId: PeerId, { chain, transport }: SyncFromPeerDependencies): Promise<CommonBlock> {
  const floorHeight = chain.floorHeight;
  const common = await findCommonBlock(chain.state, { peerId, transport }, floorHeight);
  if (common !== undefined) return common;
  if (floorHeight <= Math.max(1, chain.finalizedHeight)) {
    throw new ProtocolError('SYNC_NO_COMMON_BLOCK', { peer: peerId, floorHeight });
  }
  // The block at `floorHeight` is not final, so an honest peer can have another block at this height. But this node
  // cannot revert its own block at `floorHeight`, because the store has no undo record of this block.
  throw new ProtocolError(
    'SYNC_FORK_TOO_DEEP',
    { peer: peerId, floorHeight },
    `the peer's chain differs from this chain at height ${floorHeight}, and this block can no longer be reverted: ` +
      'if the network follows that chain, start again with an empty data folder',
  );
}

/**
 * Asks the peer for its tip, and returns whether the peer's chain is better than ours. The result can be true even for
 * a tip with a timestamp in the future, because it is possible that our clock is behind.
 */
async function hasBetterTip(peerId: PeerId, { chain, transport }: SyncFromPeerDependencies): Promise<boolean> {
  const block = chain.rules.codec.blockFromJson(await transport.request(peerId, { kind: 'tip' }));
  await chain.validator.validateDetached(block);
  const status = chain.rules.forkStatus(chain.tip, { header: block });
  return status === 'betterChain' || status === 'extends';
}

/**
 * Collects the blocks of a rival branch until fork choice prefers the branch, then switches to the branch.
 *
 * @returns true if the node switched to the branch; false if the peer has sent our own blocks up to our tip, so that
 *   the peer's further blocks extend our chain
 */
async function changeBranch(
  named: CommonBlock,
  batches: AsyncGenerator<Batch, void>,
  budget: PeerTimeBudget,
  dependencies: SyncFromPeerDependencies,
): Promise<boolean> {
  const { chain, isStopped, branchBytesMax = BRANCH_BYTES_MAX } = dependencies;
  const aheadOf = chain.tip.header.height;
  const { nextHeight = named.height + 1 } = named;
  let commonHeight = named.height;
  const branch: Block[] = [];
  let bytes = 0;
  for (;;) {
    const { value: batch, done } = await budget.during(batches.next());
    const end = branch.at(-1);
    if (done === true || isStopped() || (end !== undefined && end.height > aheadOf + BRANCH_AHEAD_BLOCKS_MAX)) {
      throw new ProtocolError('SYNC_BRANCH_NOT_BETTER', { commonHeight, blocks: branch.length });
    }
    await batch.prepared;
    const earning: Block[] = [];
    for (const block of batch.blocks) {
      // Blocks are validated on arrival, so that invalid blocks cannot fill the memory.
      chain.validator.validate(block);
      // The request for the common block contains the ids of our newest blocks. Of our older blocks, the request
      // contains only some ids (`common-block.ts`). The first blocks that the peer sends can therefore be blocks that
      // we already have. `nextHeight` is the lowest height above the named common block for which the request contained
      // the id of our block. The peer has stated that its chain does not contain our block at `nextHeight`. An honest
      // peer therefore repeats only blocks below `nextHeight`. Of the repeated blocks, only the blocks below
      // `nextHeight` add time to the peer's time budget (`PeerTimeBudget`).
      const isRepeated = branch.length === 0 && chain.state.header(block.height)?.id === block.id;
      if (!isRepeated || block.height < nextHeight) earning.push(block);
      if (isRepeated) commonHeight = block.height;
      else {
        branch.push(block);
        bytes += storedBytes(block, chain.rules.codec);
      }
    }
    const newest = branch.at(-1);
    if (newest !== undefined && chain.prefers(newest)) {
      await chain.switchTo(commonHeight, branch);
      return true;
    }
    account(earning, budget, false, dependencies);
    // Our chain already contains all blocks received so far. If the last of these blocks is our tip, the following
    // blocks extend our chain. If the last of these blocks is below our tip, the following blocks can belong to a rival
    // branch.
    if (newest === undefined && commonHeight === chain.tip.header.height) return false;
    if (bytes > branchBytesMax) {
      throw new ProtocolError(
        'SYNC_BRANCH_TOO_LARGE',
        { commonHeight, blocks: branch.length, bytes },
        `the peer's chain differs from this chain after height ${commonHeight}, and ${branch.length} blocks of it (${bytes} bytes) have ` +
          'not shown it to be the better one: if the network follows that chain, start again with an empty data folder',
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
