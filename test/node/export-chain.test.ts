import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openSnapshot } from '../../src/node/chain-tool.ts';
import { exportChain } from '../../src/node/export-chain.ts';
import { removeTemporaryPaths } from '../../src/node/temporary-paths.ts';
import { locationIn, madeChain, storeChain } from '../support/chain-folder.ts';
import { recordFlushSteps } from '../support/flush-steps.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const HEIGHT = 20;
const { network, blocks } = madeChain(HEIGHT);

test.serial('a stop of an export removes the incomplete file', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'origin'), network);
  await storeChain(place, blocks);
  const { store, rules } = await openSnapshot(place);
  t.teardown(() => store.close());
  const file = join(folder, 'chain.ndjson');
  let removed = 0;
  const onProgress = (): void => void (removed = removeTemporaryPaths());
  await t.throwsAsync(exportChain({ chain: store, codec: rules.codec, from: 1, to: HEIGHT, file, onProgress }));
  t.is(removed, 1);
  t.deepEqual(readdirSync(folder), ['origin']);
});

test.serial('an export is on the disk before it gets its name, and the name is on the disk at the end', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(join(folder, 'origin'), network);
  await storeChain(place, blocks);
  const { store, rules } = await openSnapshot(place);
  t.teardown(() => store.close());
  const steps = recordFlushSteps(t, folder);
  const file = join(folder, 'chain.ndjson');
  await exportChain({ chain: store, codec: rules.codec, from: 1, to: HEIGHT, file });
  t.deepEqual(steps, ['flush chain.ndjson.part', 'rename chain.ndjson', 'flush .']);
});
