import test from 'ava';
import { hasGap, withAnswered, withApplied } from '../../src/dashboard/block-list.ts';

function block(height: number, branch = 'a') {
  return { height, id: `${branch}${height}`, previousBlockId: `${branch}${height - 1}` };
}

/** Blocks of a branch from height `from` down to height `to`. */
function chain(from: number, to: number, branch = 'a') {
  return Array.from({ length: from - to + 1 }, (_, index) => block(from - index, branch));
}
const heights = (blocks: readonly { readonly height: number }[]) => blocks.map(({ height }) => height);

test('a block that the stream announced during a request stays in the list', (t) => {
  const blocks = withApplied(chain(15, 1), block(16));
  t.deepEqual(heights(withAnswered(blocks, chain(15, 1))), heights(chain(16, 1)));
  t.deepEqual(heights(withAnswered(blocks, chain(17, 8))), heights(chain(17, 1)));
});

test('a block that the stream skipped is missing until an answer fills it in', (t) => {
  const missing = withApplied(chain(15, 1), block(17));
  t.true(hasGap(missing));
  const filled = withAnswered(missing, chain(17, 1));
  t.false(hasGap(filled));
  t.deepEqual(heights(filled), heights(chain(17, 1)));
  t.true(hasGap(withAnswered(missing, chain(15, 1))));
});

test('blocks of a reverted branch leave the list', (t) => {
  const parents = chain(9, 1);
  t.deepEqual(withApplied(chain(12, 1), block(10, 'b')).slice(1), parents);
  const other = chain(11, 1, 'b');
  t.deepEqual(withAnswered(chain(12, 1), other), other);
});

test('a late answer that returns reverted blocks causes a gap at the next block', (t) => {
  const blocks = withApplied(chain(12, 1), block(12, 'b'));
  const late = withAnswered(blocks, chain(12, 3));
  t.false(hasGap(late));
  const next = { ...block(13, 'b'), previousBlockId: 'b12' };
  t.true(hasGap(withApplied(late, next)));
  t.false(hasGap(withApplied(blocks.slice(0, 1), next)));
});

test('an old list that the answer does not reach is replaced', (t) => {
  t.deepEqual(withAnswered(chain(50, 1), chain(300, 101)), chain(300, 101));
});

test('an empty answer changes nothing, and the first answer fills an empty list', (t) => {
  t.deepEqual(withAnswered(chain(3, 1), []), chain(3, 1));
  t.deepEqual(withAnswered([], chain(3, 1)), chain(3, 1));
  t.false(hasGap([]));
});
