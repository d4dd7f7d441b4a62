import test from 'ava';
import { ForeignBlocks } from '../../../src/engine/forge/foreign-blocks.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { ChainMaker } from '../../support/chain-maker.ts';
import { headerWith } from '../../support/fixtures.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';

/** A chain of blocks at the heights 1, 2 and so on. The timestamp of each block is ten times its height. */
function chainOf(...forgers: readonly string[]) {
  const header = (height: number): BlockHeader | undefined => {
    const generatorPublicKey = height === 1 ? 'nobody' : forgers[height - 2];
    if (generatorPublicKey === undefined) return undefined;
    return headerWith({ id: `${height}${generatorPublicKey}`, height, timestamp: 10 * height, generatorPublicKey });
  };
  return { state: { header }, tip: { header: header(forgers.length + 1)! } };
}

function setUp(options: { readonly lastS?: number; readonly foreignS?: number }, ...forgers: readonly string[]) {
  const { lastS, foreignS } = options;
  const { rules } = new ChainMaker();
  const last = {
    blockId: 'last',
    height: 1,
    timestamp: lastS ?? 0,
    maxHeightPrevoted: 0,
    maxHeightPreviouslyForged: 9,
  };
  return new ForeignBlocks({
    chain: { rules, ...chainOf(...forgers) },
    journal: { ...NO_JOURNAL, last: () => (lastS === undefined ? undefined : last), foreignS: () => foreignS },
  });
}

test('a block of the chain counts if it is newer than the last header of this node', (t) => {
  t.like(setUp({}, 'a', 'b').onChain('a'), { height: 2 });
  t.like(setUp({ lastS: 20 }, 'a', 'b').onChain('a'), { height: 2 });
  t.is(setUp({ lastS: 21 }, 'a', 'b').onChain('a'), undefined);
  t.deepEqual(
    ['a', 'c'].map((publicKey) => setUp({}, 'a', 'b').isOnChain(publicKey)),
    [true, false],
  );
});

test('the newest block also counts if the chain no longer has it', (t) => {
  const blocks = setUp({ lastS: 25 }, 'a', 'b');
  t.is(blocks.newest('a'), undefined);
  blocks.note('a', { height: 3, timestamp: 30 });
  blocks.note('a', { height: 2, timestamp: 26 });
  t.deepEqual(blocks.newest('a'), { height: 3, timestamp: 30 });
  t.like(blocks.newest('b'), { height: 3, timestamp: 30 }, 'a block of the chain');
  t.deepEqual(setUp({ lastS: 25, foreignS: 40 }, 'a').newest('a'), { timestamp: 40 }, 'only the journal knows it');
  const old = setUp({ lastS: 25, foreignS: 25 }, 'a');
  old.note('a', { height: 3, timestamp: 25 });
  t.is(old.newest('a'), undefined, 'this node has signed since');
});
