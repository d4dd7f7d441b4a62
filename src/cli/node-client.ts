/** Asks a node's HTTP interface the few things that commands need. */

import { ProtocolError, messageOf } from '../primitives/errors.ts';

export interface NodeState {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
  readonly networkHeight: number;
  readonly consensus: number;
  readonly syncing: boolean;
  readonly transactions: { readonly confirmed: number; readonly total: number };
  /** While blocks are downloaded. */
  readonly syncProgress?: { readonly targetHeight: number; readonly blocksPerS: number; readonly secondsLeft?: number };
}

export interface DecisionState {
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly room: string;
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export interface DelegateCounts {
  readonly publicKey: string;
  readonly produced: number;
  readonly missed: number;
}

export interface NodeClient {
  status(): Promise<NodeState>;
  constants(): Promise<{ readonly version: string; readonly nethash: string }>;
  connectedPeers(): Promise<number>;
  /** Undefined when the node has no block at that height. */
  blockId(height: number): Promise<string | undefined>;
  /** The best delegates, at most 101. */
  delegates(): Promise<readonly DelegateCounts[]>;
  /** The latest decisions, newest first. */
  decisions(limit: number): Promise<readonly DecisionState[]>;
  /** SHA-256 over all consensus state at the tip. */
  digest(): Promise<{ readonly height: number; readonly blockId: string; readonly digest: string }>;
}

const TIMEOUT_MS = 5000;

/**
 * @param url base address, with or without `/api`
 * @throws ProtocolError `USAGE` when it is no http(s) address. Questions throw `NODE_UNREACHABLE` or
 *   `NODE_ANSWER_UNEXPECTED`
 */
export function nodeClient(url: string): NodeClient {
  const base = baseOf(url);

  async function ask<T>(path: string): Promise<T> {
    let response: Response;
    try {
      response = await fetch(`${base}/api/${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      throw new ProtocolError(
        'NODE_UNREACHABLE',
        { url: base },
        `no node answers at ${base} (${reasonOf(error)}): start one or name another with --node`,
        { cause: error },
      );
    }
    const answer = (await response.json().catch(() => undefined)) as { data?: T; message?: string } | undefined;
    if (!response.ok || answer?.data === undefined) {
      const reason = answer?.message ?? `status ${response.status}`;
      throw new ProtocolError(
        'NODE_ANSWER_UNEXPECTED',
        { url: base, path, status: response.status },
        `${base}/api/${path} answered: ${reason}; is it a node that lets this machine ask?`,
      );
    }
    return answer.data;
  }

  return {
    status: () => ask('node/status'),
    constants: () => ask('node/constants'),
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
    digest: () => ask('node/digest'),
    decisions: (limit) => ask(`node/decisions?limit=${limit}`),
  };
}

interface DelegateJson {
  readonly account: { readonly publicKey: string };
  readonly producedBlocks: number;
  readonly missedBlocks: number;
}

function baseOf(url: string): string {
  if (!/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url)) {
    throw new ProtocolError(
      'USAGE',
      { url },
      `\`${url}\` is no address of a node: give one such as http://127.0.0.1:4000`,
    );
  }
  return url.replace(/\/+$/, '').replace(/\/api$/, '');
}

/** What `fetch` hides behind "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof AggregateError) return messageOf(cause.errors[0]);
  return messageOf(cause ?? error);
}
