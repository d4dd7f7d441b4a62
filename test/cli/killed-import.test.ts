import { join } from 'node:path';
import test from 'ava';
import { chainDirectory } from '../../src/node/chain-tool.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { writeIndexWatermark } from '../../src/store/index/index-watermark.ts';
import { madeChain, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { runCli } from '../support/cli.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const { network, blocks } = madeChain(10);
const NOTICE =
  /^The last process ended before all index entries were written: the entries of \d+ blocks and transactions/;

test('a command says that it writes the index entries that a killed import left out', async (t) => {
  const folder = temporaryFolder(t);
  const networkFolder = writeNetworkFolder(join(folder, 'net'), network);
  const dataDir = join(folder, 'data');
  const place = locationIn(dataDir, network);
  await storeChain(place, blocks);
  const location = ['--data-dir', dataDir, '--network', networkFolder];
  for (const command of [['verify'], ['block', '5', '--json'], ['upgrade'], ['rollback', '--to', '9', '--yes']]) {
    const keys = openLmdb(chainDirectory(place), false);
    keys.transact((writer) => writeIndexWatermark(writer, 1));
    await keys.close();
    const killed = await runCli([...command, ...location]);
    t.is(killed.code, 0, killed.stderr);
    t.regex(killed.stderr, NOTICE, command.join(' '));
    if (command.includes('--json')) t.notThrows(() => void JSON.parse(killed.stdout));
    const next = await runCli([...command, ...location]);
    t.notRegex(next.stderr, NOTICE, command.join(' '));
  }
});
