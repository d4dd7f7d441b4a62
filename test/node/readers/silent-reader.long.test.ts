import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { FromReader } from '../../../src/node/readers/messages.ts';
import type { NodeListener } from '../../../src/ports/node-api.ts';
import { SILENT, type Observer } from '../../../src/ports/observer.ts';
import { fakeNode } from '../../http/fake-node.ts';
import { waitFor } from '../../support/devnet.ts';
import { watchForks } from '../../support/forked-readers.ts';
import { openFront } from '../../support/http-front.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';

const READER = fileURLToPath(new URL('../../../src/node/readers/reader-program.js', import.meta.url));
const GROWING_READER = fileURLToPath(new URL('../../support/growing-reader-program.js', import.meta.url));
/**
 * A reader that starts must send a message within 16 ping intervals of 250 ms (4 s). If it does not, the pool kills it,
 * and gives the next reader twice this time.
 */
const STARTING_PINGS_MAX = 16;
/** Number of readers that one test kills one after another. This test has one reader at a time. The default is 4. */
const READER_KILLS = Number(process.env['READER_KILLS'] ?? 4);

/** Sends a request over a new connection, and resolves with the HTTP status of the answer. */
function ask(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    }).on('error', reject);
  });
}

test.serial(
  'a reader that recovers from silence answers until its replacement does, and loses no request',
  async (t) => {
    const { api } = fakeNode(3);
    const directory = temporaryFolder(t);
    const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
    const readers = watchForks(t);
    const front = await openFront({ api, processes: 1, directory });
    t.teardown(async () => {
      await front.close();
      await chain.close();
    });
    const [silent] = readers;
    if (silent === undefined) throw new Error('a pool of one has a reader');
    silent.kill('SIGSTOP');
    await waitFor(
      'another reader',
      async () => {
        if (readers.length < 2) throw new Error('not yet');
        return true;
      },
      60_000,
    );
    silent.kill('SIGCONT');
    let asked = 0;
    for (; silent.exitCode === null && silent.signalCode === null; asked += 1)
      t.is(await ask(`${front.origin}/healthz`), 200);
    t.true(asked > 0);
    t.is(await ask(`${front.origin}/healthz`), 200);
  },
);

for (const [what, signal, limits] of [
  ['is killed', 'SIGKILL', {}],
  ['hangs', 'SIGSTOP', { startingPingsMax: STARTING_PINGS_MAX }],
] as const) {
  test.serial(`a first reader that ${what} before it is ready is replaced`, async (t) => {
    const { api } = fakeNode(3);
    const directory = temporaryFolder(t);
    const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
    const readers = watchForks(t, (child) => {
      // `watchForks` calls this function before the process of the reader exists, so the test sends the signal later.
      if (readers.length === 1) setImmediate(() => child.kill(signal));
    });
    const front = await openFront({ api, processes: 1, directory, ...limits });
    t.teardown(async () => {
      await front.close();
      await chain.close();
    });
    t.true(readers.length > 1);
    t.is(readers[0]?.signalCode, 'SIGKILL');
    t.is(await ask(`${front.origin}/healthz`), 200);
  });
}

test.serial('a reader whose process the system does not start is replaced when the system can start it', async (t) => {
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const readers = watchForks(t);
  const front = await openFront({ api, processes: 1, directory });
  const { execPath } = process;
  t.teardown(async () => {
    process.execPath = execPath;
    await front.close();
    await chain.close();
  });
  // `fork` runs a reader with the Node.js executable at `process.execPath`. This path now does not exist, so no reader
  // can start.
  process.execPath = join(directory, 'no-such-program');
  readers[0]?.kill('SIGKILL');
  const failed = (): number => readers.filter(({ pid }) => pid === undefined).length;
  await waitFor('two failed forks', async () => failed() >= 2 || Promise.reject(new Error('not yet')), 60_000);
  process.execPath = execPath;
  t.is(await ask(`${front.origin}/healthz`), 200);
});

test.serial('a first reader that ends itself is not replaced, because the next one would end, too', async (t) => {
  const { api } = fakeNode(3);
  const readers = watchForks(t);
  const directory = temporaryFolder(t);
  const program = join(directory, 'program.mjs');
  writeFileSync(program, 'process.exit(1);');
  const opening = openFront({ api, processes: 1, directory, program });
  await t.throwsAsync(opening, { code: 'HTTP_READER_FAILED', message: /exit code 1/ });
  t.is(readers.length, 1);
});

test.serial('a reader gets updates about blocks from before its start, and about later blocks', async (t) => {
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const listeners = new Set<NodeListener>();
  const listen = (listener: NodeListener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const sendReport = (): void => {
    for (const listener of listeners) listener.chainChanged?.();
  };
  let taken = 0;
  // The node sends an update as soon as the process of the reader exists, before the process runs the reader program.
  watchForks(t, (child) => {
    setImmediate(sendReport);
    child.on('message', (message) => {
      if ((message as FromReader).kind === 'taken') taken += 1;
    });
  });
  const front = await openFront({ api: { ...api, listen }, processes: 1, directory });
  t.teardown(async () => {
    await front.close();
    await chain.close();
  });
  const isTaken = (): Promise<boolean> =>
    taken > 0 ? Promise.resolve(true) : Promise.reject(new Error('it took nothing'));
  t.true(await waitFor('what came before', isTaken, 30_000));
  taken = 0;
  sendReport();
  t.true(await waitFor('what came later', isTaken, 30_000));
});

test.serial('no client is refused while the only reader is replaced again and again', async (t) => {
  t.timeout(300_000);
  const { api } = fakeNode(3);
  const directory = temporaryFolder(t);
  const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
  const readers = watchForks(t);
  const front = await openFront({ api, processes: 1, directory });
  t.teardown(async () => {
    await front.close();
    await chain.close();
  });
  const errors: string[] = [];
  const progress = { isOver: false, answered: 0 };
  t.teardown(() => {
    progress.isOver = true;
  });
  const client = async (): Promise<void> => {
    while (!progress.isOver) {
      await ask(`${front.origin}/healthz`).then(
        () => (progress.answered += 1),
        (error: NodeJS.ErrnoException) => errors.push(error.code ?? error.message),
      );
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const clients = Array.from({ length: 4 }, client);
  for (let kill = 0; kill < READER_KILLS; kill += 1) {
    const before = progress.answered;
    readers.at(-1)?.kill('SIGKILL');
    const isAnswered = (): Promise<boolean> =>
      progress.answered > before + 8 ? Promise.resolve(true) : Promise.reject(new Error('no answer'));
    await waitFor('answers of the next reader', isAnswered, 60_000);
  }
  progress.isOver = true;
  await Promise.all(clients);
  // When the test kills a reader, the open connections of this reader fail with ECONNRESET. Each of the four clients
  // has at most one open connection.
  t.deepEqual(
    errors.filter((code) => code !== 'ECONNRESET'),
    [],
  );
  t.true(errors.length <= 4 * READER_KILLS, `${errors.length} of ${progress.answered}`);
  t.log(`${READER_KILLS} kills: ${progress.answered} answers, ${errors.length} connections of killed readers`);
});

test.serial(
  'a reader with too much memory answers until its replacement does, and no client loses a request',
  async (t) => {
    t.timeout(300_000);
    const { api } = fakeNode(3);
    const directory = temporaryFolder(t);
    const chain = await openChainStore({ directory, codec: FAKE_CODEC, params: api.params });
    const readers = watchForks(t);
    const codes: string[] = [];
    const observer: Observer = { ...SILENT, log: (_level, code) => void codes.push(code) };
    const front = await openFront({
      ...{ api, processes: 1, directory, program: GROWING_READER, memoryBytesMax: 200_000_000, http: { observer } },
    });
    t.teardown(async () => {
      await front.close();
      await chain.close();
    });
    const [grown] = readers;
    if (grown === undefined) throw new Error('a pool of one has a reader');
    grown.kill('SIGUSR2');
    let asked = 0;
    for (; grown.exitCode === null && grown.signalCode === null; asked += 1)
      t.is(await ask(`${front.origin}/healthz`), 200);
    t.deepEqual([grown.exitCode, grown.signalCode], [0, null], 'it ends by itself');
    t.true(asked > 0);
    t.is(await ask(`${front.origin}/healthz`), 200);
    t.is(readers.length, 2);
    t.deepEqual(codes, ['HTTP_READER_MEMORY'], 'its end is no loss');
  },
);

test.serial("a reader whose node ends during the reader's start ends, too", async (t) => {
  for (const waitMs of [0, 50, 150]) {
    const child = fork(READER, [], { serialization: 'advanced' });
    const isEnded = once(child, 'exit');
    setTimeout(() => child.disconnect(), waitMs);
    const isLate = new Promise<readonly unknown[]>((resolve) => setTimeout(() => resolve(['late']), 60_000).unref());
    const [code] = (await Promise.race([isEnded, isLate])) as readonly unknown[];
    if (code !== 0) child.kill('SIGKILL');
    t.is(code, 0, `${waitMs} ms`);
  }
});
