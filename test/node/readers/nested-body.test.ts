/** Tests requests whose body has very many levels, in a reading process. */

import { fileURLToPath } from 'node:url';
import test from 'ava';
import { BODY_LEVELS_MAX } from '../../../src/http/admission/limits.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { watchForks } from '../../support/forked-readers.ts';
import { openFront } from '../../support/http-front.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const READER = fileURLToPath(new URL('../../support/fake-reader-program.js', import.meta.url));

test('a body with very many levels ends neither the node nor its reader', async (t) => {
  t.timeout(120_000);
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const readers = watchForks(t);
  const front = await openFront({ api, processes: 1, directory, program: READER });
  t.teardown(async () => {
    await front.close();
    await chain.close();
  });
  const headers = { 'Content-Type': 'application/json' };
  const signed = JSON.stringify({ transactionId: '1', publicKey: 'ab'.repeat(32), signature: 'ab'.repeat(64) });
  const statusOf = async (levels: number): Promise<number> => {
    const nested = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const body = signed.replace('{', `{"other":${nested},`);
    return (await fetch(`${front.origin}/api/signatures`, { method: 'POST', headers, body })).status;
  };
  t.is(await statusOf(20), 200);
  t.is(await statusOf(BODY_LEVELS_MAX - 1), 200);
  t.is(await statusOf(BODY_LEVELS_MAX), 400);
  // In a reader without the limit, Node.js can send a body with 1,950 levels, but the node cannot read it.
  for (let levels = 1_000; levels < 3_200; levels += 50) t.is(await statusOf(levels), 400, `${levels} levels`);
  t.is(await statusOf(20_000), 400);
  t.is(await statusOf(20), 200);
  t.is(readers.length, 1);
});
