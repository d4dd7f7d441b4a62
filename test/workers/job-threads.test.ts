import test from 'ava';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { packParts, unpackBlock, unpackParts } from '../../src/protocol/block/packed-block.ts';
import { NO_EXCEPTIONS, type ChainParams, type Exceptions } from '../../src/protocol/params.ts';
import { JobThreads, programBeside } from '../../src/workers/job-threads.ts';
import { madeChain } from '../support/chain-folder.ts';

const { maker, blocks } = madeChain(12);
const lines = blocks.map((block) => Buffer.from(lineOfBlock(block, maker.rules.codec)));

/** Starts a worker thread that reads blocks from lines of JSON, and collects the log events of this thread. */
function readers(params: ChainParams): { readonly threads: JobThreads; readonly logged: string[] } {
  const logged: string[] = [];
  const threads = new JobThreads({
    threads: 1,
    program: programBeside(new URL('../../src/workers/line-reader.js', import.meta.url).href, 'line-worker'),
    workerData: { params, knownHeight: 1 },
    waitingMax: Number.POSITIVE_INFINITY,
    observer: { ...SILENT, log: (_level, code, _message, data) => logged.push(`${code} ${JSON.stringify(data)}`) },
  });
  return { threads, logged };
}

test('a thread reads lines by itself, without help of the main thread', async (t) => {
  const { threads, logged } = readers(maker.rules.params);
  const answer = await threads.ask(packParts(lines), 1);
  t.deepEqual(logged, []);
  const read = unpackParts(Buffer.from(answer ?? []));
  t.deepEqual(
    read.map((packed) => (packed.length === 0 ? undefined : unpackBlock(packed, maker.rules.codec))),
    [undefined, ...blocks.slice(1)],
  );
  await threads.close();
});

for (const name of ['devnet', 'devnet-gen2']) {
  test(`a thread gets the parameters of ${name}, and its exceptions, too`, async (t) => {
    const exceptions: Exceptions = {
      ...NO_EXCEPTIONS,
      signatures: new Set(['1']),
      duplicatedSignatures: new Map([['2', ['aa']]]),
      rounds: new Map([[5, { rewardsFactor: 2, feesFactor: 1, feesBonus: 10n }]]),
    };
    const { threads, logged } = readers({ ...loadNetwork(packagedNetworkDirectory(name)).params, exceptions });
    const answer = await threads.ask(packParts([Buffer.from('{}')]), 1);
    t.deepEqual(logged, []);
    // For each line, the answer has the length of the packed block (four bytes), and then the packed block. The line of
    // this test is not a block. The length is therefore 0, and no packed block follows.
    t.deepEqual(answer, Uint8Array.of(0, 0, 0, 0));
    await threads.close();
  });
}

test('a second close during work waits for the threads as well', async (t) => {
  t.timeout(300_000);
  const { threads } = readers(maker.rules.params);
  const answer = threads.ask(packParts(lines), 1);
  await Promise.all([threads.close(), threads.close()]);
  t.not(await answer, undefined);
});
