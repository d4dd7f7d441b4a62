/** Tests a reading process that sends wrong messages to its node, as if an attacker controlled this process. */

import { fileURLToPath } from 'node:url';
import test from 'ava';
import { SILENT, type LogFields, type Observer } from '../../../src/ports/observer.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { waitFor } from '../../support/devnet.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { watchForks } from '../../support/forked-readers.ts';
import { openFront } from '../../support/http-front.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const RUDE_READER = fileURLToPath(new URL('../../support/rude-reader-program.js', import.meta.url));
const WITHIN_MS = 60_000;

test('the node kills and replaces a reader that sends a wrong message, logs the member, and goes on', async (t) => {
  t.timeout(120_000);
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const lost: { readonly level: string; readonly fields: LogFields | undefined }[] = [];
  const observer: Observer = {
    ...SILENT,
    module: () => observer,
    log: (level, code, _message, fields) => void (code === 'HTTP_READER_LOST' && lost.push({ level, fields })),
  };
  const readers = watchForks(t);
  const front = await openFront({ api, processes: 1, directory, http: { observer }, program: RUDE_READER });
  t.teardown(async () => {
    await front.close();
    await chain.close();
  });
  const [rude] = readers;
  rude?.kill('SIGUSR2');
  await waitFor(
    'another reader',
    async () => {
      if (readers.length < 2) throw new Error('not yet');
      return true;
    },
    WITHIN_MS,
  );
  // The connection waits in the queue of the listening socket until the new reader is ready.
  t.is((await fetch(`${front.origin}/api/node/constants`)).status, 200);
  t.is(readers.length, 2);
  t.is(rude?.signalCode, 'SIGKILL');
  t.deepEqual(lost, [{ level: 'warn', fields: { pid: rude?.pid, member: 'message' } }]);
});
