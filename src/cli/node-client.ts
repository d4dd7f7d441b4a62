/** Typed queries that the commands for operators and for devnets send to a running node, through `ask-node.ts`. */

import type { Diagnostic, PeerVerdict } from '../ports/node-api.ts';
import { FULL_STATUS, NODE_IDENTITY } from './answer-shapes.ts';
import { nodeAsker } from './ask-node.ts';

export interface NodeState {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
  readonly networkHeight: number;
  readonly consensus: number;
  readonly syncing: boolean;
  readonly transactions: { readonly confirmed: number; readonly total: number };
  /**
   * Offset of the peers' clocks from the node's clock: the median offset in the largest group of peers whose clocks
   * agree. The offset is positive when these clocks are ahead of the node's clock. The node reports only offsets of at
   * least 2 s.
   */
  readonly clockOffsetMs?: number;
  /**
   * Present when the clock of a peer differs from the node's clock by at least 2 s, and the node does not know which of
   * the two clocks is wrong. `offsetMs` is positive when the peer's clock is ahead of the node's clock.
   */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /**
   * Present when the node has no peers and needs none: its configuration allows no peers, or its configuration names no
   * other node as a peer, and all delegates of the round of the next block forge on this node.
   */
  readonly isAlone?: true;
  /**
   * The reading processes (extra processes of the node that answer HTTP requests); absent when the node's own process
   * answers the requests.
   */
  readonly readers?: {
    readonly wanted: number;
    readonly restarts: number;
    readonly each: readonly {
      readonly reader: number;
      readonly state: string;
      /**
       * Time at which the node started this reading process (an extra process that answers HTTP requests), ISO 8601.
       */
      readonly since: string;
      readonly memoryBytes: number;
      readonly requests: number;
    }[];
  };
  /** Present while the node downloads blocks. */
  readonly syncProgress?: { readonly targetHeight: number; readonly blocksPerS: number; readonly secondsLeft?: number };
}

export interface DiagnosticState extends Omit<Diagnostic, 'timeMs'> {
  /** Time at which the node recorded the diagnostic, ISO 8601. */
  readonly time: string;
}

/** State of a peer address in the answer of a node. Times are ISO 8601. */
export interface PeerVerdictState extends Omit<PeerVerdict, 'sinceMs' | 'untilMs' | 'roles'> {
  readonly since?: string;
  readonly until?: string;
  readonly roles: readonly string[];
}

export interface DelegateCounts {
  readonly publicKey: string;
  readonly produced: number;
  readonly missed: number;
}

export interface NodeClient {
  status(): Promise<NodeState>;
  /**
   * `version` is the application version that the node reports to peers. `build` is the version of the node's software,
   * followed by the build time if the time is known; `build` is absent if the node does not report this version.
   */
  constants(): Promise<{ readonly version: string; readonly build?: string; readonly nethash: string }>;
  /** Number of connected peers. If the node has more than 100 connected peers, the result is 100. */
  connectedPeers(): Promise<number>;
  /** Returns the id of the block at this height; undefined when the node has no such block. */
  blockId(height: number): Promise<string | undefined>;
  /** The delegates with the most votes, at most 101. */
  delegates(): Promise<readonly DelegateCounts[]>;
  /**
   * Returns the first `count` blocks after the genesis block, in the order of height. `count` is at most 100.
   */
  firstBlocks(count: number): Promise<readonly ForgedBlock[]>;
  /** The latest diagnostics, newest first. */
  diagnostics(limit: number): Promise<readonly DiagnosticState[]>;
  /** Peer addresses with their states, connected peers first. */
  peerVerdicts(limit: number): Promise<readonly PeerVerdictState[]>;
  /** SHA-256 of all consensus state at the tip. */
  digest(): Promise<{ readonly height: number; readonly blockId: string; readonly digest: string }>;
}

/**
 * @param url base address, with or without `/api`
 * @param timeoutMs time limit for an answer, in milliseconds; `AskerOptions` states the default
 * @throws ProtocolError in the same cases as `nodeAsker`. The queries throw errors in the same cases as `NodeAsker.ask`
 */
export function nodeClient(url: string, timeoutMs?: number): NodeClient {
  const { ask } = nodeAsker(url, { isOwnKind: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  return {
    status: () => ask('node/status', FULL_STATUS),
    constants: () => ask('node/constants', NODE_IDENTITY),
    connectedPeers: async () => (await ask<unknown[]>('peers?state=connected&limit=100')).length,
    blockId: async (height) => (await ask<{ id: string }[]>(`blocks?height=${height}`))[0]?.id,
    delegates: async () => {
      const delegates = await ask<DelegateJson[]>('delegates?limit=101');
      return delegates.map(({ account, producedBlocks, missedBlocks }) => ({
        publicKey: account.publicKey,
        produced: producedBlocks,
        missed: missedBlocks,
      }));
    },
    firstBlocks: (count) => ask(`blocks?sort=height:asc&offset=1&limit=${count}`),
    digest: () => ask('node/digest'),
    peerVerdicts: (limit) => ask(`node/peers?limit=${limit}`),
    diagnostics: (limit) => ask(`node/diagnostics?limit=${limit}`),
  };
}

/** The members of a block that tell who forged it, and when. */
export interface ForgedBlock {
  readonly generatorPublicKey: string;
  /** Seconds since the epoch of the network; the start of the slot of the block. */
  readonly timestamp: number;
}

interface DelegateJson {
  readonly account: { readonly publicKey: string };
  readonly producedBlocks: number;
  readonly missedBlocks: number;
}
