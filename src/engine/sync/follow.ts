/**
 * Taking over what one peer has beyond the last block that we share: by appending when that is our tip, else by changing to
 * the peer's branch as soon as it has proved to be the better one.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { findCommonHeight } from './common-block.ts';
import { downloadAfter } from './download.ts';

/**
 * Blocks by which a rival branch may outgrow ours before it must have proved to be the better one: ten rounds beyond what
 * the finality protocol looks back.
 */
const BRANCH_AHEAD_BLOCKS_MAX = 1313;

export interface FollowDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request'>;
  readonly observer: Observer;
  /** False where peers have no answer to the question for their tip. */
  readonly isTipAsked: boolean;
  readonly isStopped: () => boolean;
}

/**
 * @param isShown true when the peer has just sent the tip of its chain; otherwise it is asked for it before anything else
 * @returns true when our tip changed
 * @throws ProtocolError `REQUEST_FAILED`, `SYNC_NO_COMMON_BLOCK`, `SYNC_BLOCKS_UNLINKED`, `SYNC_BRANCH_NOT_BETTER`, or what
 *   `Chain.append` and `Chain.switchTo` throw
 */
export async function follow(peerId: PeerId, isShown: boolean, dependencies: FollowDependencies): Promise<boolean> {
  const { chain, transport, observer, isTipAsked, isStopped } = dependencies;
  const before = chain.tip.header;
  if (!isShown && isTipAsked && !(await hasBetterTip(peerId, dependencies))) return false;
  const source = { peerId, transport, codec: chain.rules.codec };
  const commonHeight = await findCommonHeight(chain.state, source, chain.finalizedHeight);
  const fields = { peer: peerId, height: before.height, commonHeight };
  observer.log('info', 'SYNC_STARTED', 'downloading blocks', fields);
  const batches = downloadAfter(headerAt(commonHeight, chain), source);
  if (commonHeight < chain.tip.header.height) await changeBranch(commonHeight, batches, dependencies);
  for await (const batch of batches) {
    if (isStopped()) break;
    await chain.precheck(batch);
    await chain.append(batch);
  }
  const after = chain.tip.header;
  observer.log('info', 'SYNC_ENDED', 'downloaded all that the peer has', {
    peer: peerId,
    height: after.height,
    blocks: after.height - commonHeight,
  });
  return after.id !== before.id;
}

/** Whether the peer can show the tip of a chain to be preferred. One in the future counts: our clock may run slow. */
async function hasBetterTip(peerId: PeerId, { chain, transport }: FollowDependencies): Promise<boolean> {
  const block = chain.rules.codec.blockFromJson(await transport.request(peerId, { kind: 'tip' }));
  await chain.validateDetached(block);
  const status = chain.rules.forkStatus(chain.tip, { header: block });
  return status === 'betterChain' || status === 'extends';
}

/** Collects a rival branch until fork choice prefers it, then changes over. */
async function changeBranch(
  fromHeight: number,
  batches: AsyncGenerator<readonly Block[]>,
  { chain, isStopped }: FollowDependencies,
): Promise<void> {
  const aheadOf = chain.tip.header.height;
  let commonHeight = fromHeight;
  const branch: Block[] = [];
  for (;;) {
    const { value: batch, done } = await batches.next();
    const end = branch.at(-1);
    if (done === true || isStopped() || (end !== undefined && end.height > aheadOf + BRANCH_AHEAD_BLOCKS_MAX)) {
      throw new ProtocolError('SYNC_BRANCH_NOT_BETTER', { commonHeight, blocks: branch.length });
    }
    await chain.precheck(batch);
    for (const block of batch) {
      // Junk is found when it comes, not when the branch has filled the memory.
      chain.validate(block);
      // Heights far below the tip are asked for in steps, so the peer may begin with blocks that we have.
      if (branch.length === 0 && chain.state.header(block.height)?.id === block.id) commonHeight = block.height;
      else branch.push(block);
    }
    const newest = branch.at(-1);
    if (newest === undefined) {
      // All of ours, and more to come.
      if (commonHeight === chain.tip.header.height) return;
      continue;
    }
    if (chain.prefers(newest)) {
      await chain.switchTo(commonHeight, branch);
      return;
    }
  }
}

function headerAt(height: number, chain: Chain): BlockHeader {
  const header = chain.state.header(height);
  if (header === undefined) throw new ProtocolError('TIP_MOVED', { height });
  return header;
}
