import test from 'ava';
import { forkStatus, isBetterChain } from '../../../src/protocol/gen3/fork-choice.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';

const params = { blockTimeS: 10 };

function statusOf(
  tip: Partial<BlockHeader> & { receivedAtS?: number },
  received: Partial<BlockHeader> & { receivedAtS?: number },
): string {
  const view = ({ receivedAtS, ...header }: Partial<BlockHeader> & { receivedAtS?: number }) => ({
    header: headerWith({ height: 10, maxHeightPrevoted: 1, timestamp: 90, ...header }),
    ...(receivedAtS === undefined ? {} : { receivedAtS }),
  });
  return forkStatus(view({ id: 'tip', ...tip }), view({ id: 'rival', ...received }), params);
}

test('the block after the tip extends it', (t) => {
  t.is(statusOf({}, { height: 11, previousBlockId: 'tip' }), 'extends');
});

test('the tip itself counts as identical', (t) => {
  t.is(statusOf({}, { id: 'tip' }), 'same');
});

test('a rival of the tip by the same forger is double forging', (t) => {
  t.is(statusOf({}, { timestamp: 100 }), 'doubleForging');
});

const other = { generatorPublicKey: keyNumber(2) };

test('a rival that arrived in time beats a late tip of an earlier slot', (t) => {
  t.is(statusOf({ timestamp: 85, receivedAtS: 92 }, { ...other, timestamp: 90, receivedAtS: 92 }), 'tieBreak');
});

test('a tip that arrived in time, was forged or loaded beats its rivals', (t) => {
  t.is(statusOf({ timestamp: 85, receivedAtS: 89 }, { ...other, timestamp: 90, receivedAtS: 92 }), 'discard');
  t.is(statusOf({ timestamp: 85 }, { ...other, timestamp: 90, receivedAtS: 92 }), 'discard');
});

test('a rival that arrived late, or has no later slot, is discarded', (t) => {
  t.is(statusOf({ timestamp: 85, receivedAtS: 92 }, { ...other, timestamp: 90, receivedAtS: 100 }), 'discard');
  t.is(statusOf({ timestamp: 90, receivedAtS: 100 }, { ...other, timestamp: 95, receivedAtS: 95 }), 'discard');
});

test('a chain with a higher prevoted height is better, whatever its height', (t) => {
  t.is(statusOf({}, { height: 11, maxHeightPrevoted: 6, previousBlockId: 'else' }), 'betterChain');
  t.is(statusOf({}, { height: 3, maxHeightPrevoted: 2, previousBlockId: 'else' }), 'betterChain');
});

test('a higher chain with an equal prevoted height is better', (t) => {
  t.is(statusOf({}, { height: 11, previousBlockId: 'else' }), 'betterChain');
});

test('lower chains and those with a lower prevoted height are discarded', (t) => {
  t.is(statusOf({}, { height: 9 }), 'discard');
  t.is(statusOf({}, { height: 12, maxHeightPrevoted: 0, previousBlockId: 'else' }), 'discard');
});

test('announced tips are compared like blocks', (t) => {
  const tip = { height: 10, maxHeightPrevoted: 4 };
  t.true(isBetterChain(tip, { height: 9, maxHeightPrevoted: 5 }));
  t.true(isBetterChain(tip, { height: 11, maxHeightPrevoted: 4 }));
  t.false(isBetterChain(tip, tip));
  t.false(isBetterChain(tip, { height: 30, maxHeightPrevoted: 3 }));
});
