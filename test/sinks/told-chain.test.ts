import test from 'ava';
import { ToldChain } from '../../src/cli/sink/told-chain.ts';
import type { Block } from '../../src/protocol/types.ts';

function take(told: ToldChain, height: number): void {
  for (const _ of told.applied({ height, id: String(height) } as Block));
}

test('the stream of a long tail without final blocks is opened at its first block', (t) => {
  const told = new ToldChain(7, 1_000_000);
  t.is(told.firstOpen(), 7);
  for (let height = 7; height < 200_000; height += 1) take(told, height);
  t.is(told.firstOpen(), 7);
});

test('a stream is opened at the newest final block, which is told again', (t) => {
  const told = new ToldChain(1, 10);
  for (let height = 1; height <= 30; height += 1) take(told, height);
  t.is(told.firstOpen(), 20);
  for (const _ of told.reverted({ height: 21, id: '21' }));
  t.is(told.firstOpen(), 20);
  for (const _ of told.reverted({ height: 20, id: '20' }));
  t.is(told.firstOpen(), 20);
});
