import cluster from 'node:cluster';
import { get } from 'node:http';
import test from 'ava';
import type { FromReader } from '../../../src/node/readers/messages.ts';
import type { NodeListener } from '../../../src/ports/node-api.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { waitFor } from '../../support/devnet.ts';
import { openFront } from '../../support/http-front.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';

/** On a connection of its own. */
function ask(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    }).on('error', reject);
  });
}

test.serial(
  'a reader that comes back after it was silent answers until another one does, and loses no request then',
  async (t) => {
    const { api } = fakeNode(3);
    const directory = temporaryFolder(t);
    const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
    const front = await openFront({ api, processes: 1, directory });
    t.teardown(async () => {
      await front.close();
      await chain.close();
    });
    const [silent] = Object.values(cluster.workers ?? {});
    if (silent === undefined) throw new Error('a pool of one has a worker');
    silent.process.kill('SIGSTOP');
    await waitFor(
      'another reader',
      async () => {
        if (Object.keys(cluster.workers ?? {}).length < 2) throw new Error('not yet');
        return true;
      },
      60_000,
    );
    silent.process.kill('SIGCONT');
    let asked = 0;
    for (; !silent.isDead(); asked += 1) t.is(await ask(`${front.origin}/healthz`), 200);
    t.true(asked > 0);
    t.is(await ask(`${front.origin}/healthz`), 200);
  },
);

test.serial('a reader is told of blocks that came before it could hear, and of all later ones', async (t) => {
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const listeners = new Set<NodeListener>();
  const listen = (listener: NodeListener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const tell = (): void => {
    for (const listener of listeners) listener.chainChanged?.();
  };
  let taken = 0;
  const count = (_worker: unknown, { kind }: FromReader): void => {
    if (kind === 'taken') taken += 1;
  };
  cluster.on('message', count);
  // Told as soon as the process is there, and its program is not.
  cluster.once('fork', tell);
  const front = await openFront({ api: { ...api, listen }, processes: 1, directory });
  t.teardown(async () => {
    cluster.off('message', count);
    await front.close();
    await chain.close();
  });
  const isTaken = (): Promise<boolean> =>
    taken > 0 ? Promise.resolve(true) : Promise.reject(new Error('it took nothing'));
  t.true(await waitFor('what came before', isTaken, 30_000));
  taken = 0;
  tell();
  t.true(await waitFor('what came later', isTaken, 30_000));
});
