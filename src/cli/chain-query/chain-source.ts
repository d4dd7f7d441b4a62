/**
 * Makes the source of answers for commands that query a chain. The source is a running node (`ask-node.ts`), or the
 * data folder of a stopped or running node.
 */

import { createAnswers } from '../../http/answers.ts';
import { chainDirectory } from '../../node/chain-tool.ts';
import { openStoppedNode } from '../../node/stopped-node.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { Shape } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import { locationOfData } from '../chain-location.ts';
import type { SourceFlags } from '../flags.ts';
import { withDamageReport } from '../damage-report.ts';

/**
 * A source answers queries. Error messages contain `base` as the name of the source: the address of the node, or the
 * path of the data folder. For a data folder, `ask` throws ProtocolError `CHAIN_ANSWER_UNEXPECTED` for an error status,
 * an answer without data, or data of a wrong shape.
 */
export type Source = Pick<NodeAsker, 'base' | 'ask'>;

/**
 * HTTP statuses of answers for a path that the server does not serve. For example, a proxy can send a web page (200),
 * or refuse the request (403).
 */
const UNKNOWN_PATH_STATUSES: ReadonlySet<unknown> = new Set([200, 403, 404]);

/**
 * Calls `work` with the source that the flags name. With `--data-dir` or `--network`, the source is a read-only view of
 * the chain on the disk. Without these flags, the source is a node.
 *
 * @throws ProtocolError in the same cases as `nodeAsker` for a node, and in the same cases as `withStoppedNode` for a
 *   chain on the disk; errors of `work`
 */
export async function askSource<T>(flags: SourceFlags, work: (source: Source) => Promise<T>): Promise<T> {
  if (!isStopped(flags)) return work(runningSource(flags.node));
  return withStoppedNode(flags, (api, base) => work(stoppedSource(api, base)));
}

/** True when the flags name a chain on the disk. */
export function isStopped({ dataDir, network }: Omit<SourceFlags, 'node'>): boolean {
  return dataDir !== undefined || network !== undefined;
}

/**
 * Calls `work` with a read-only view of the chain on the disk. If a killed import or sync left the indexes incomplete,
 * the function first writes the missing index entries.
 *
 * @throws ProtocolError in the same cases as `locationOfData`, `openStoppedNode` and `withDamageReport`; errors of
 *   `work`
 */
export async function withStoppedNode<T>(
  flags: Omit<SourceFlags, 'node'>,
  work: (api: NodeApi, base: string) => Promise<T>,
): Promise<T> {
  const location = locationOfData(flags);
  return withDamageReport(chainDirectory(location), async () => {
    const { api, close } = await openStoppedNode(location);
    try {
      return await work(api, location.dataDirectory);
    } finally {
      await close();
    }
  });
}

/**
 * Returns a source that first sends each query to the path without the prefix `/api`, because `http.strictDialect`
 * removes members from the answers at paths below `/api`. If the server does not serve this path, for example because
 * the server is a proxy or runs other software, the source sends the query to the path below `/api`.
 */
function runningSource(url: string): Source {
  const own = nodeAsker(url, { isOwnKind: true });
  const any = nodeAsker(url);
  return {
    base: own.base,
    async ask<T>(path: string, shape?: Shape) {
      try {
        return await own.ask<T>(path, shape);
      } catch (error) {
        const isPathUnknown =
          error instanceof ProtocolError &&
          error.code === 'NODE_ANSWER_UNEXPECTED' &&
          UNKNOWN_PATH_STATUSES.has(error.data['status']);
        if (!isPathUnknown) throw error;
        return any.ask<T>(path, shape);
      }
    },
  };
}

function stoppedSource(api: NodeApi, base: string): Source {
  const answers = createAnswers(api);
  return {
    base,
    async ask<T>(path: string, shape?: Shape) {
      const { status, body } = await answers(`/${path}`);
      const { data, message } = body as { readonly data?: unknown; readonly message?: string };
      if (status !== 200 || data === undefined) {
        const reason = message ?? `status ${status}`;
        throw new ProtocolError('CHAIN_ANSWER_UNEXPECTED', { base, path, status }, `${base}: ${path}: ${reason}`);
      }
      const wrong = shape?.(data);
      if (wrong === undefined) return data as T;
      throw new ProtocolError('CHAIN_ANSWER_UNEXPECTED', { base, path, wrong }, `${base}: ${path}: data${wrong}`);
    },
  };
}
