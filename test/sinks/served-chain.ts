/** Serves a chain over HTTP, as a node does. A test can append blocks to the chain and revert them. */

import type { ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { LocalNodeApi, NodeListener } from '../../src/ports/node-api.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import { createChainLog } from '../../src/store/chain/chain-log.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import { fakeNode } from '../http/fake-node.ts';

export interface ServedChain {
  readonly url: string;
  append(blocks: readonly Block[]): void;
  /** Reverts all blocks above a height. */
  revertTo(height: number): void;
  /** Closes the server and all connections, runs `change`, and starts the server again at the same address. */
  restart(change: () => void): Promise<void>;
}

export async function serveChain(t: ExecutionContext, rules: Rules, blocks: readonly Block[]): Promise<ServedChain> {
  const { codec, params } = rules;
  const store = openMemoryChainStore({ codec, params });
  const log = createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
  const { api: fake } = fakeNode(params.generation);
  const listeners = new Set<NodeListener>();
  const api: LocalNodeApi = {
    ...fake,
    params,
    log,
    chain: createQueries(store, params),
    status: () => {
      const tip = store.tip()?.height ?? 0;
      const status = fake.status();
      return {
        ...status,
        height: tip,
        networkHeight: tip,
        finalizedHeight: rules.finalizedHeight(store),
      } as typeof status;
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const changed = (): void => {
    for (const listener of listeners) listener.chainChanged?.();
  };
  const append = (added: readonly Block[]): void => {
    for (const block of added)
      store.transact((writer) =>
        writer.append(block, (state) => {
          if (block.height === 1) rules.applyGenesis(state, block);
          else rules.applyBlock(state, block, { nowS: block.timestamp, verify: () => true });
        }),
      );
    changed();
  };
  append(blocks);
  let server = createHttpServer(api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return {
    url: `http://127.0.0.1:${port}`,
    append,
    revertTo(height) {
      while ((store.tip()?.height ?? 0) > height) store.transact((writer) => writer.revert());
      changed();
    },
    async restart(change) {
      await server.close();
      change();
      server = createHttpServer(api, { port, address: '127.0.0.1' });
      await server.start();
    },
  };
}
