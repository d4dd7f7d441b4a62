import test from 'ava';
import { SlotWatch } from '../../../src/engine/forge/slot-watch.ts';
import { WaitUpdates } from '../../../src/engine/forge/wait-updates.ts';
import { WatchedSlots } from '../../../src/engine/forge/watched-slots.ts';
import { DoubleForgingGuard } from '../../../src/engine/forge/double-forging-guard.ts';
import { openGenesis } from '../../../src/engine/genesis.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';
import { headerWith } from '../../support/fixtures.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';

/**
 * Makes a `SlotWatch`, which decides how many slots a delegate must leave unused before it signs. The node starts in
 * slot 1000. Another node has signed the block of slot 900 for the delegate.
 */
function setUp() {
  const { rules, network } = new ChainMaker(makeNetwork({ generation: 2 }));
  const { params } = network;
  const state = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params }, 'test');
  openGenesis(state, rules, network.genesis);
  const publicKey = publicKeyOf(network.delegates[0]!);
  const now = { slot: 1000, tipSlot: 999, movedAtS: undefined as number | undefined, isOverTwoThirds: false };
  const watched = new WatchedSlots(params.activeDelegates);
  const signing: boolean[] = [];
  const watch = new SlotWatch({
    chain: {
      ...{ rules, state },
      currentSlot: () => now.slot,
      get tip() {
        return { header: headerWith({ height: 9, timestamp: now.tipSlot * params.blockTimeS }) };
      },
    },
    journal: {
      ...NO_JOURNAL,
      last: () => ({ blockId: '1', height: 2, timestamp: 0, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 }),
      movedAtS: () => now.movedAtS,
    },
    tipCheck: {
      isTipSurelyNewest: () => false,
      hasTwoThirds: (isSigning) => {
        signing.push(isSigning('other'));
        return now.isOverTwoThirds;
      },
    },
    foreignBlocks: {
      newest: (key) => (key === publicKey ? { timestamp: 900 * params.blockTimeS, height: 5 } : undefined),
      note: () => undefined,
      isOnChain: () => false,
    },
    handOvers: { of: () => undefined },
    needless: { has: () => false, isOnlyForgerByWatermarks: () => false },
    watched,
  });
  const hear = (slot: number): void => watch.hear({ timestamp: slot * params.blockTimeS });
  const reason = (slot: number): string => watch.waiting(publicKey, slot)?.reason ?? '';
  return { watch, watched, hear, reason, now, signing, publicKey, round: params.activeDelegates, rules, state, params };
}

const ADVICE = /no block of another node has come for a round/;

test('a block shows that the node hears the network if it is at most two slots old', (t) => {
  const { watched, hear } = setUp();
  hear(997);
  t.is(watched.newestHeard, -Infinity);
  hear(998);
  t.is(watched.newestHeard, 998);
});

test('the blocks of the node itself count only with two thirds, and only while they are new', (t) => {
  const { watch, watched, now, signing } = setUp();
  watch.refresh([]);
  t.is(watched.newestHeard, -Infinity);
  t.deepEqual(signing, [true]);
  now.movedAtS = 5;
  watch.refresh([]);
  t.deepEqual(signing, [true, false], 'a delegate that was exported does not sign here');
  now.isOverTwoThirds = true;
  now.tipSlot = 997;
  watch.refresh([]);
  t.is(watched.newestHeard, -Infinity, 'the tip is old');
  now.tipSlot = 999;
  watch.refresh([]);
  t.is(watched.newestHeard, 999);
});

test('the remedy is named after a round of silence in which the delegate left a slot unused', (t) => {
  const { watched, hear, reason, now, publicKey, round } = setUp();
  now.slot = 1000 + round;
  t.notRegex(reason(now.slot + 1), ADVICE, 'the delegate left no slot unused');
  watched.note(publicKey, 1000, false);
  t.notRegex(reason(1000 + round), ADVICE);
  t.regex(reason(1001 + round), ADVICE);
  hear(1000 + round);
  t.notRegex(reason(1001 + round), ADVICE, 'a block came');
  watched.note(publicKey, 1001 + round, false);
  now.slot += round;
  t.notRegex(reason(1000 + 2 * round), ADVICE);
  t.regex(reason(1001 + 2 * round), ADVICE);
});

test('the time of silence begins at a clock that was set back', (t) => {
  const { watch, watched, hear, reason, now, publicKey, round } = setUp();
  now.slot = 5000;
  hear(5000);
  now.slot = 1000;
  watched.forgetFuture(1000);
  watch.refresh([]);
  watched.note(publicKey, 1000, false);
  now.slot += round + 1;
  t.regex(reason(now.slot), ADVICE);
});

test('while the network makes no blocks, the delegate waits as after a block of another node', (t) => {
  const { watch, watched, hear, now, publicKey, round } = setUp();
  watched.note(publicKey, 1000, false);
  hear(998);
  now.slot = 1001;
  hear(1001);
  const codeIn = (slot: number) => watch.waiting(publicKey, slot)?.code;
  [now.slot, now.tipSlot] = [1000 + round, 1000];
  t.is(codeIn(1000 + round), 'FORGING_WAITS_FOR_EMPTY_SLOT');
  [now.slot, now.tipSlot] = [1000 + round, 999 - 1];
  t.is(codeIn(1000 + round), 'FORGING_ELSEWHERE');
});

test('the blocks of other nodes reach the watch, and those of this node do not', (t) => {
  const { rules, state, params } = setUp();
  const last = { blockId: 'own', height: 2, timestamp: 5000, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 };
  const guard = new DoubleForgingGuard({
    chain: {
      ...{ rules, state, tip: { header: headerWith({ height: 9, timestamp: 5000 }) } },
      ...{ currentSlot: () => slotAt(5000, params), nowS: () => 5000 },
    },
    journal: { ...NO_JOURNAL, last: (key) => (key === 'own' ? last : undefined) },
    tipCheck: {
      doubt: () => undefined,
      doubtBeforeFirstBlock: () => undefined,
      hasAllDelegates: () => false,
      hasTwoThirds: () => false,
      isTipSurelyNewest: () => false,
    },
    riskDoubleForging: false,
  });
  const heard: number[] = [];
  guard.hear = ({ timestamp }) => void heard.push(timestamp);
  const updates = new WaitUpdates(guard, () => []);
  updates.noteForeign([
    { id: 'other', height: 3, generatorPublicKey: 'other', timestamp: 4990 },
    { id: 'own', height: 2, generatorPublicKey: 'own', timestamp: 5000 },
    { id: 'old', height: 1, generatorPublicKey: 'own', timestamp: 10 },
  ]);
  t.deepEqual(heard, [4990]);
});
