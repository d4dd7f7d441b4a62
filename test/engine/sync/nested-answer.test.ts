/** Tests that a node can download a block whose asset contains deeply nested JSON. */

import test from 'ava';

import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { downloadAfter } from '../../../src/engine/sync/download.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import type { AnswerTo, PeerRequest } from '../../../src/ports/transport.ts';
import { signedBytes } from '../../../src/protocol/gen3/codec.ts';
import type { Json } from '../../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, publicKeyOf, signBlock, withPayload } from '../../support/chain-maker.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';

/** Nesting depth of the asset. Some lisk-sdk nodes can store such an asset, so a block of a network may contain it. */
const LEVELS = 3_000;

test('a block whose asset nests three thousand levels is downloaded', async (t) => {
  const maker = new ChainMaker(makeNetwork());
  const { codec, params } = maker.rules;
  const [sender] = maker.network.accounts;
  if (sender === undefined) return t.fail();
  const unsigned = {
    type: 10,
    timestamp: maker.tip.timestamp,
    senderPublicKey: publicKeyOf(sender),
    asset: { username: 'alice', note: JSON.parse('['.repeat(LEVELS) + ']'.repeat(LEVELS)) as Json },
    signature: '00'.repeat(64),
  };
  const bytes = signedBytes(codec.transactionFromJson(unsigned), params.networkIdentifier);
  const signature = hexOf(selectEd25519().sign(sha256(bytes), sender.privateKey));
  // A Bloomery node does not forge a block with such a transaction. This block stands for a block of a lisk-sdk node.
  const { keyPair } = maker.nextSlot();
  const transactions = [codec.transactionFromJson({ ...unsigned, signature })];
  const block = signBlock(withPayload(maker.build(), keyPair, transactions), {}, keyPair);

  const answers: unknown[][] = [[codec.blockToJson(block)], []];
  const download = downloadAfter(maker.network.genesis, {
    syncPeer: 'peer',
    sameTipPeers: () => [],
    isSyncPeerConnected: () => true,
    joinsAnswers: () => true,
    transport: {
      request: <R extends PeerRequest>() => Promise.resolve((answers.shift() ?? []) as unknown as AnswerTo<R>),
    },
    clock: new VirtualTime(0).clock(),
    codec,
    peerFailed: () => undefined,
    prepare: () => Promise.resolve(),
  });
  const ids: string[] = [];
  for await (const { blocks } of download) ids.push(...blocks.map(({ id }) => id));
  t.deepEqual(ids, [block.id]);
});
