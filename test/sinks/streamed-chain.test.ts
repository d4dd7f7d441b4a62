import test from 'ava';
import { StreamedChain } from '../../src/cli/sink/streamed-chain.ts';
import type { Block } from '../../src/protocol/types.ts';

function take(chain: StreamedChain, height: number): void {
  for (const _ of chain.applied({ height, id: String(height) } as Block));
}

test('the stream of a long tail without final blocks is opened at its first block', (t) => {
  const chain = new StreamedChain(7, 1_000_000);
  t.is(chain.resumeHeight(), 7);
  for (let height = 7; height < 200_000; height += 1) take(chain, height);
  t.is(chain.resumeHeight(), 7);
});

test('a stream is opened at the newest final block, which the node sends again', (t) => {
  const chain = new StreamedChain(1, 10);
  for (let height = 1; height <= 30; height += 1) take(chain, height);
  t.is(chain.resumeHeight(), 20);
  for (const _ of chain.reverted({ height: 21, id: '21' }));
  t.is(chain.resumeHeight(), 20);
  for (const _ of chain.reverted({ height: 20, id: '20' }));
  t.is(chain.resumeHeight(), 20);
});
