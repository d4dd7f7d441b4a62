/**
 * A node whose chain is in a folder and does not grow. If `processes` is more than 0, reading processes (separate
 * processes that read the same folder) answer the HTTP requests.
 */

import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { HttpOptions } from '../../src/http/options.ts';
import { chainDirectory, openChain } from '../../src/node/chain-tool.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { openFront } from '../support/http-front.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { idleNode } from '../support/idle-node.ts';
import { askAt, type Ask } from './fake-node.ts';

const HEIGHT = 30;

/** Serves a node until the test ends. Every answer must match the OpenAPI document. */
export async function serveFolder(
  t: ExecutionContext,
  generation: Generation,
  processes: number,
  http: Partial<HttpOptions> = {},
): Promise<Ask> {
  const { network, blocks } = madeChain(HEIGHT, { generation });
  const place = locationIn(join(temporaryFolder(t), 'data'), network);
  await storeChain(place, blocks);
  const { store: chain, rules, genesis, close } = await openChain(place, false);
  const nowMs = network.params.epochMs + (blocks[HEIGHT - 1]?.timestamp ?? 0) * 1000 + 3000;
  const identity = { version: '3.0.0', protocolVersion: generation === 2 ? '1.1' : '2.0' };
  const idle = idleNode({ chain, rules, genesis, identity, nowMs: () => nowMs });
  const api = { ...idle, metricsText: () => Promise.resolve('# none\n') };
  const front = await openFront({ api, processes, directory: chainDirectory(place), http });
  t.teardown(async () => {
    await front.close();
    await close();
  });
  return askAt(t, front.origin, generation, http);
}
