import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { openChainStore, openMemoryChainStore } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { dump, temporaryFolder } from '../backends.ts';
import { followHistory } from '../world.ts';

const WRITER = fileURLToPath(new URL('./killed-writer.js', import.meta.url));
/** For each kill: the number of new blocks that the test waits for before it kills the writer. */
const BLOCKS_BEFORE_KILL = [1, 18, 7, 33, 2];

test('a killed writer loses no confirmed write, leaves no partial write, and locks out no other process', async (t) => {
  t.timeout(300_000);
  const directory = temporaryFolder();
  try {
    let reached = 0;
    for (const blocks of BLOCKS_BEFORE_KILL) {
      const child = spawn(process.execPath, [WRITER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      const exited = once(child, 'exit');
      let reported = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        reported = Number(line);
        if (reported >= reached + blocks && !child.killed) child.kill('SIGKILL');
      }
      const [, signal] = (await exited) as [number | null, string | null];
      t.is(signal, 'SIGKILL');

      const store = await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith() });
      const height = store.tip()?.height ?? 0;
      t.true(height >= reported, `the store holds height ${height}, and ${reported} was reported`);
      t.true(reported > reached);
      // A store with the same history up to this height, but without a kill, must have the same keys and values.
      const whole = openMemoryChainStore({ codec: FAKE_CODEC, params: paramsWith() });
      followHistory(whole, height);
      t.deepEqual(dump(store), dump(whole));
      t.is(store.stateDigest(), whole.stateDigest());
      reached = height;
      await store.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
