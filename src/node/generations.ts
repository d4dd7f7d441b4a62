/**
 * Selects the parts of a node that depend on the generation: wire dialect (the form of the messages between peers),
 * maximum number of gossip peers, and generation profile (settings that control how the node works, but are not rules
 * of the chain). Other files select two further parts: the rules (`protocol/generations.ts`) and the HTTP dialect
 * (`http/http-server.ts`).
 */

import type { GenerationProfile } from '../engine/generation-profile.ts';
import { gen2Dialect } from '../p2p/dialect-gen2.ts';
import { gen3Dialect } from '../p2p/dialect-gen3.ts';
import type { WireDialect } from '../p2p/dialect.ts';
import type { NodeIdentity } from '../ports/node-api.ts';
import type { ChainParams, Generation } from '../protocol/params.ts';

export interface GenerationParts {
  readonly createDialect: (params: ChainParams, identity: NodeIdentity) => WireDialect;
  /**
   * Maximum number of peers to which this node sends a broadcast. The releases of Lisk have the same maximum. These
   * peers pass the broadcast on, so the broadcast reaches all nodes in a few steps.
   */
  readonly gossipPeersMax: number;
  readonly profile: Partial<GenerationProfile>;
}

const GENERATIONS: Readonly<Record<Generation, GenerationParts>> = {
  2: {
    createDialect: ({ nethash }, { protocolVersion, nonce }) => gen2Dialect({ nethash, protocolVersion, nonce }),
    gossipPeersMax: 25,
    profile: {
      transactionGossip: 'whole',
      isTipAsked: false,
      rivalsAtOurHeight: true,
      blocksPerAnswerMax: 33,
      // This limit counts the bytes of the blocks as JSON. A frame of generation 2 is longer than this JSON. The frame
      // has a row for each transaction, and each row contains all members of the block (id, height and so on) in
      // addition to the transaction. The limit is therefore only about a third of `FRAME_BYTES_MAX`, the maximum size
      // of a frame.
      blocksAnswerBytesMax: 1_000_000,
      sharedPerAnswerMax: 100,
    },
  },
  3: {
    createDialect: ({ networkIdentifier }, { protocolVersion }) => gen3Dialect({ networkIdentifier, protocolVersion }),
    gossipPeersMax: 16,
    profile: {},
  },
};

export function partsOf({ generation }: Pick<ChainParams, 'generation'>): GenerationParts {
  return GENERATIONS[generation];
}
