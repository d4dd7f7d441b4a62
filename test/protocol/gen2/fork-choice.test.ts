import test from 'ava';
import { forkStatus, isLonger } from '../../../src/protocol/gen2/fork-choice.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';

const tip = headerWith({ id: '500', height: 10, timestamp: 100, previousBlockId: '400', version: 1 });

const statusOf = (changes: Partial<BlockHeader>): string =>
  forkStatus({ header: tip }, { header: { ...tip, id: '600', ...changes } });

test('the next block extends the tip, whenever it was forged', (t) => {
  t.is(statusOf({ height: 11, previousBlockId: '500', timestamp: 110 }), 'extends');
  t.is(statusOf({ height: 11, previousBlockId: '500', timestamp: 90 }), 'extends');
});

test('the tip itself is the same, even with a changed height', (t) => {
  t.is(statusOf({ id: '500' }), 'same');
  t.is(statusOf({ id: '500', height: 99 }), 'same');
});

test('the older of two blocks at one height wins', (t) => {
  t.is(statusOf({ timestamp: 90, generatorPublicKey: keyNumber(2) }), 'tieBreak');
  t.is(statusOf({ timestamp: 110, generatorPublicKey: keyNumber(2) }), 'discard');
});

test('when two blocks have the same timestamp, the block with the smaller id as text wins', (t) => {
  t.is(statusOf({ id: '499', generatorPublicKey: keyNumber(2) }), 'tieBreak');
  t.is(statusOf({ id: '4999', generatorPublicKey: keyNumber(2) }), 'tieBreak');
  t.is(statusOf({ id: '501', generatorPublicKey: keyNumber(2) }), 'discard');
  t.is(statusOf({ id: '60', generatorPublicKey: keyNumber(2) }), 'discard');
});

test("a second block by the tip's forger is reported when it loses, and wins when it is older", (t) => {
  t.is(statusOf({ timestamp: 110 }), 'doubleForging');
  t.is(statusOf({ timestamp: 90 }), 'tieBreak');
});

test('two nodes with rival blocks decide alike', (t) => {
  const rival = { ...tip, id: '600', timestamp: 90, generatorPublicKey: keyNumber(2) };
  t.is(forkStatus({ header: tip }, { header: rival }), 'tieBreak');
  t.is(forkStatus({ header: rival }, { header: tip }), 'discard');
});

test('a block above the tip that does not follow it belongs to a longer chain', (t) => {
  t.is(statusOf({ height: 11, previousBlockId: '499' }), 'betterChain');
  t.is(statusOf({ height: 50, previousBlockId: '499' }), 'betterChain');
});

test('blocks below the tip are ignored', (t) => {
  t.is(statusOf({ height: 9, previousBlockId: '300' }), 'discard');
  t.is(statusOf({ height: 9, previousBlockId: '300', timestamp: 1 }), 'discard');
});

test('when two chains have equal length, the chain with the older tip is followed', (t) => {
  const beside = { previousBlockId: '401', generatorPublicKey: keyNumber(2) };
  t.is(statusOf({ ...beside, timestamp: 90 }), 'betterChain');
  t.is(statusOf({ ...beside, timestamp: 110 }), 'discard');
  t.is(statusOf({ ...beside, id: '499' }), 'betterChain');
  t.is(statusOf({ ...beside, id: '501' }), 'discard');
});

test('the genesis block has no rival', (t) => {
  const { previousBlockId: _, ...genesis } = headerWith({ id: '5', height: 1, timestamp: 0 });
  t.is(forkStatus({ header: genesis }, { header: { ...genesis, id: '4' } }), 'discard');
});

test('the higher of two announced tips is preferred', (t) => {
  t.true(isLonger({ height: 11, maxHeightPrevoted: 0 }, { height: 10, maxHeightPrevoted: 9 }));
  t.false(isLonger({ height: 10, maxHeightPrevoted: 9 }, { height: 10, maxHeightPrevoted: 0 }));
});
