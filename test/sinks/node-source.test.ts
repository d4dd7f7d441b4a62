import test from 'ava';
import { openNodeSource } from '../../src/cli/sink/node-source.ts';
import type { Network } from '../../src/config/network.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import type { Block } from '../../src/protocol/types.ts';
import { emptyMemorySink, MemorySink } from '../../src/sinks/memory-sink.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { runSink } from '../../src/sinks/run.ts';
import { joinedRows } from '../../src/sinks/tables.ts';
import type { TestNetwork } from '../support/chain-maker.ts';
import { sorted } from './contract.ts';
import { fullChain, type FullChain } from './full-chain.ts';
import { serveChain } from './served-chain.ts';

const FORK = 54;

function networkOf({ params, genesisJson }: TestNetwork): Network {
  return { name: 'made', params, genesisJson } as unknown as Network;
}

function rowsOf({ maker }: FullChain, blocks: readonly Block[]): unknown {
  const rows = new RowMaker(maker.rules);
  return sorted(joinedRows(blocks.map((block) => rows.rowsOf(block))));
}

for (const generation of [2, 3] as const) {
  const chain = fullChain(generation, 58);
  const branch = fullChain(generation, 61, 1, FORK);

  test(`generation ${generation}: a node tells a sink of all its blocks, and the sink goes on at its place`, async (t) => {
    const { url, append } = await serveChain(t, chain.maker.rules, chain.blocks.slice(0, 44));
    const source = await openNodeSource(url, networkOf(chain.network), { depth: 10 });
    const content = emptyMemorySink();
    const run = { source, rangeBlocks: 10, signal: new AbortController().signal, follows: false };
    await runSink({ ...run, sink: new MemorySink(content) });
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks.slice(0, 44)));
    t.is(content.ranges.length, 3);
    append(chain.blocks.slice(44));
    await runSink({ ...run, sink: new MemorySink(content) });
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks));
    t.true(content.ranges.length >= 4);
  });

  test(`generation ${generation}: a sink follows a node through reorganisations, one of them while cut off`, async (t) => {
    const served = await serveChain(t, chain.maker.rules, chain.blocks.slice(0, 50));
    const source = await openNodeSource(served.url, networkOf(chain.network), { depth: 10 });
    const content = emptyMemorySink();
    const abort = new AbortController();
    let wake: () => void = () => undefined;
    const run = runSink({
      source,
      sink: new MemorySink(content),
      rangeBlocks: 10,
      signal: abort.signal,
      follows: true,
      onProgress: () => wake(),
    });
    const reached = async (tipId: string | undefined): Promise<void> => {
      while (content.tail.at(-1)?.blockId !== tipId) await new Promise<void>((resolve) => (wake = resolve));
    };
    await Promise.race([run, reached(chain.blocks[49]?.id)]);
    served.append(chain.blocks.slice(50));
    await Promise.race([run, reached(chain.blocks.at(-1)?.id)]);
    served.revertTo(FORK - 1);
    served.append(branch.blocks.slice(FORK - 1, 58));
    await Promise.race([run, reached(branch.blocks[57]?.id)]);
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(branch, branch.blocks.slice(0, 58)));
    await served.restart(() => {
      served.revertTo(FORK - 1);
      served.append(chain.blocks.slice(FORK - 1, 57));
    });
    await Promise.race([run, reached(chain.blocks[56]?.id)]);
    t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks.slice(0, 57)));
    abort.abort();
    await run;
  });
}

test('a node of another network is refused', async (t) => {
  const [two, three] = [fullChain(2, 5), fullChain(3, 5)];
  const { url } = await serveChain(t, three.maker.rules, three.blocks);
  const error = await t.throwsAsync(openNodeSource(url, networkOf(two.network), { depth: 10 }));
  t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN');
});
