/** Blocks from a peer, batch after batch, the next one asked for while the present one is at work. */

import { ProtocolError } from '../../primitives/errors.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';

/** More blocks in one answer than any node of the family sends. */
const BLOCKS_PER_ANSWER_MAX = 100;

export interface DownloadSource {
  readonly peerId: PeerId;
  readonly transport: Pick<Transport, 'request'>;
  readonly codec: Codec;
}

/**
 * Batches of blocks that follow `from`, each linked to the one before it, until the peer has no more.
 *
 * @throws ProtocolError `REQUEST_FAILED` from the transport, `SYNC_BLOCKS_UNLINKED` when an answer is no continuation
 * @throws BlockRejected when an answer holds something that is no block
 */
export async function* downloadAfter(from: BlockHeader, source: DownloadSource): AsyncGenerator<readonly Block[]> {
  let last: { readonly id: string; readonly height: number } = from;
  let pending = ask(last.id, source);
  for (;;) {
    const batch = decodeBatch(await pending, last, source);
    const end = batch.at(-1);
    if (end === undefined) return;
    last = end;
    pending = ask(last.id, source);
    // Nobody may be waiting when it fails: the consumer can stop early.
    pending.catch(() => undefined);
    yield batch;
  }
}

function ask(blockId: string, source: DownloadSource): Promise<readonly unknown[]> {
  return source.transport.request(source.peerId, { kind: 'blocksAfter', blockId });
}

function decodeBatch(
  answer: readonly unknown[],
  after: { readonly id: string; readonly height: number },
  source: DownloadSource,
): readonly Block[] {
  if (answer.length > BLOCKS_PER_ANSWER_MAX) {
    throw new ProtocolError('SYNC_BLOCKS_UNLINKED', { peer: source.peerId, blocks: answer.length });
  }
  let previous = after;
  return answer.map((json) => {
    const block = source.codec.blockFromJson(json);
    if (block.previousBlockId !== previous.id || block.height !== previous.height + 1) {
      throw new ProtocolError('SYNC_BLOCKS_UNLINKED', {
        peer: source.peerId,
        height: block.height,
        afterHeight: previous.height,
      });
    }
    previous = block;
    return block;
  });
}
