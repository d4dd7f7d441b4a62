/** Asks a node's HTTP interface the few things that commands need. */

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
  /** By how much the peers' clocks are ahead of the node's, told when it is much. */
  readonly clockOffsetMs?: number;
  /** Told when the clock of a peer differs by much and it is not known which is wrong. */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /** Told when the node has no peers and is short of none. */
  readonly isAlone?: true;
  /** Processes that answer HTTP beside the node; absent where it answers itself. */
  readonly readers?: {
    readonly wanted: number;
    readonly restarts: number;
    readonly each: readonly {
      readonly reader: number;
      readonly state: string;
      /** ISO 8601. */
      readonly since: string;
      readonly memoryBytes: number;
      readonly requests: number;
    }[];
  };
  /** While blocks are downloaded. */
  readonly syncProgress?: { readonly targetHeight: number; readonly blocksPerS: number; readonly secondsLeft?: number };
}

export interface DiagnosticState extends Omit<Diagnostic, 'timeMs'> {
  /** ISO 8601. */
  readonly time: string;
}

/** What the node thinks of a peer address. Times are ISO 8601. */
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
  /** `version` is that of the protocol's software, as peers are told; `build` that of this one, from nodes that tell it. */
  constants(): Promise<{ readonly version: string; readonly build?: string; readonly nethash: string }>;
  connectedPeers(): Promise<number>;
  /** Undefined when the node has no block at that height. */
  blockId(height: number): Promise<string | undefined>;
  /** The best delegates, at most 101. */
  delegates(): Promise<readonly DelegateCounts[]>;
  /** Generators of the first blocks after the genesis block, at most 100, by height. */
  firstForgers(count: number): Promise<readonly string[]>;
  /** The latest diagnostics, newest first. */
  diagnostics(limit: number): Promise<readonly DiagnosticState[]>;
  /** Peer addresses with what the node thinks of them, connected ones first. */
  peerVerdicts(limit: number): Promise<readonly PeerVerdictState[]>;
  /** SHA-256 over all consensus state at the tip. */
  digest(): Promise<{ readonly height: number; readonly blockId: string; readonly digest: string }>;
}

/**
 * @param url base address, with or without `/api`
 * @param timeoutMs time that an answer may take
 * @throws ProtocolError `USAGE` when it is no http(s) address. Questions throw `NODE_UNREACHABLE` or
 *   `NODE_ANSWER_UNEXPECTED`
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
    firstForgers: async (count) => {
      const blocks = await ask<{ generatorPublicKey: string }[]>(`blocks?sort=height:asc&offset=1&limit=${count}`);
      return blocks.map(({ generatorPublicKey }) => generatorPublicKey);
    },
    digest: () => ask('node/digest'),
    peerVerdicts: (limit) => ask(`node/peers?limit=${limit}`),
    diagnostics: (limit) => ask(`node/diagnostics?limit=${limit}`),
  };
}

interface DelegateJson {
  readonly account: { readonly publicKey: string };
  readonly producedBlocks: number;
  readonly missedBlocks: number;
}
