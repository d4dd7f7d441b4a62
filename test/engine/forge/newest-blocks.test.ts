import test from 'ava';
import { type Newest, NewestBlocks, type SearchedChain } from '../../../src/engine/forge/newest-blocks.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { fc } from '../../support/fast-check.ts';
import { headerWith } from '../../support/fixtures.ts';

const SETTLED = 5;

interface Entry {
  readonly id: string;
  readonly generatorPublicKey: string;
}

/** Makes a chain with one block above the genesis block for each entry. The timestamp of each block is its height. */
function chainOver(entries: readonly Entry[]): SearchedChain {
  const genesis = headerWith({ id: 'genesis', height: 1, timestamp: 1, generatorPublicKey: 'nobody' });
  const header = (height: number): BlockHeader | undefined => {
    if (height === 1) return genesis;
    const entry = entries[height - 2];
    return entry === undefined ? undefined : headerWith({ ...entry, height, timestamp: height });
  };
  return { state: { header }, tip: { header: header(entries.length + 1) ?? genesis } };
}

/** Height of the found block; undefined if the block is unknown or does not exist. */
function heightOf(found: Newest): number | undefined {
  return found === 'unknown' ? undefined : found?.height;
}

/** Searches the entries from the end, and returns the height of the newest block of a delegate. */
function plain(entries: readonly Entry[], publicKey: string): number | undefined {
  const index = entries.map(({ generatorPublicKey }) => generatorPublicKey).lastIndexOf(publicKey);
  return index < 0 ? undefined : index + 2;
}

test('the newest block of each delegate since a given time matches a plain search, even after reverts', (t) => {
  const step = fc.record({ revert: fc.nat(12), forge: fc.array(fc.nat(3), { maxLength: 9 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(60), (steps, sinceS) => {
      const entries: Entry[] = [];
      const view = { current: chainOver(entries) };
      const newest = new NewestBlocks(
        {
          get state() {
            return view.current.state;
          },
          get tip() {
            return view.current.tip;
          },
        },
        SETTLED,
      );
      let made = 0;
      for (const { revert, forge } of steps) {
        entries.splice(Math.max(0, entries.length - revert));
        for (const delegate of forge) entries.push({ id: String((made += 1)), generatorPublicKey: `d${delegate}` });
        view.current = chainOver(entries);
        for (const publicKey of ['d0', 'd1', 'd2', 'd3', 'd4']) {
          const found = newest.of(publicKey, sinceS);
          const expected = plain(entries, publicKey);
          if (expected !== undefined && expected > sinceS) t.is(heightOf(found), expected);
          else if (found !== undefined) t.is(heightOf(found), expected);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('a long search runs in chunks, and afterwards a new block costs little', (t) => {
  const entries: Entry[] = Array.from({ length: 12_000 }, (_, index) => ({
    id: String(index),
    generatorPublicKey: index === 100 ? 'old' : 'others',
  }));
  const chain = chainOver(entries);
  let reads = 0;
  const state = { header: (height: number) => ((reads += 1), chain.state.header(height)) };
  const newest = new NewestBlocks({ ...chain, state }, SETTLED);
  t.is(newest.of('old', 0), 'unknown');
  t.is(newest.of('old', 0), 'unknown');
  t.is(heightOf(newest.of('old', 0)), 102);
  t.is(newest.of('never', 11_000), undefined, 'nothing since then');
  const before = reads;
  t.is(heightOf(newest.of('old', 0)), 102);
  t.true(reads - before < 10);
});
