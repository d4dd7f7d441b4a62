/** The newest block of a delegate, held to a plain search of the whole chain. */

import test from 'ava';
import { NewestBlocks } from '../../../src/engine/forge/newest-blocks.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { fc } from '../../support/fast-check.ts';

const SETTLED = 5;

interface Entry {
  readonly id: string;
  readonly generatorPublicKey: string;
}

/** A chain of entries above the genesis block; the timestamp of each is its height. */
function chainOver(entries: readonly Entry[]) {
  const headerAt = (height: number): BlockHeader | undefined => {
    if (height === 1) return { id: 'genesis', height, timestamp: 1, generatorPublicKey: 'nobody' } as BlockHeader;
    const entry = entries[height - 2];
    return entry === undefined ? undefined : ({ ...entry, height, timestamp: height } as BlockHeader);
  };
  return {
    headerAt,
    chain: { state: { header: headerAt }, tip: { header: headerAt(entries.length + 1) } } as never,
  };
}

/** What a plain search finds: the newest, unless it is older than asked for and beyond what is searched anyway. */
function plain(entries: readonly Entry[], publicKey: string): number | undefined {
  const index = entries.map(({ generatorPublicKey }) => generatorPublicKey).lastIndexOf(publicKey);
  return index < 0 ? undefined : index + 2;
}

test('over growing and reverted chains the newest block of each delegate since any time is the one of a plain search', (t) => {
  const step = fc.record({ revert: fc.nat(12), forge: fc.array(fc.nat(3), { maxLength: 9 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(60), (steps, sinceS) => {
      const entries: Entry[] = [];
      const view = { current: chainOver(entries).chain as { state: unknown; tip: unknown } };
      const newest = new NewestBlocks(
        {
          get state() {
            return view.current.state;
          },
          get tip() {
            return view.current.tip;
          },
        } as never,
        SETTLED,
      );
      let made = 0;
      for (const { revert, forge } of steps) {
        entries.splice(Math.max(0, entries.length - revert));
        for (const delegate of forge) entries.push({ id: String((made += 1)), generatorPublicKey: `d${delegate}` });
        view.current = chainOver(entries).chain;
        for (const publicKey of ['d0', 'd1', 'd2', 'd3', 'd4']) {
          const found = newest.of(publicKey, sinceS);
          const expected = plain(entries, publicKey);
          if (expected !== undefined && expected > sinceS) t.is((found as BlockHeader | undefined)?.height, expected);
          else if (found !== undefined) t.is((found as BlockHeader | undefined)?.height, expected);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('a long search goes on in chunks, and once it is done a new block costs little', (t) => {
  const entries: Entry[] = Array.from({ length: 12_000 }, (_, index) => ({
    id: String(index),
    generatorPublicKey: index === 100 ? 'old' : 'others',
  }));
  const { chain, headerAt } = chainOver(entries);
  let reads = 0;
  const state = { header: (height: number) => ((reads += 1), headerAt(height)) };
  const newest = new NewestBlocks({ ...(chain as object), state } as never, SETTLED);
  t.is(newest.of('old', 0), 'unknown');
  t.is(newest.of('old', 0), 'unknown');
  t.is((newest.of('old', 0) as BlockHeader).height, 102);
  t.is(newest.of('never', 11_000), undefined, 'nothing since then');
  const before = reads;
  t.is((newest.of('old', 0) as BlockHeader).height, 102);
  t.true(reads - before < 10);
});
