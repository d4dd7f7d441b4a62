import test from 'ava';
import { commitBlocks } from '../../../src/engine/commit.ts';
import { DoubleForgingGuard, type Clearance } from '../../../src/engine/forge/double-forging-guard.ts';
import { openGenesis } from '../../../src/engine/genesis.ts';
import type { RecalledHeader, SigningJournal } from '../../../src/ports/journal.ts';
import type { ChainReader } from '../../../src/ports/store.ts';
import type { HandOverRequest, Rules, SignedHeader } from '../../../src/protocol/rules.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { WaitUpdates } from '../../../src/engine/forge/wait-updates.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';
import { chainUntil, OWN, ownerOf, rulesOf, signedHeaderOf } from '../../sim/records/header-chain.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';

const last: SignedHeader = {
  blockId: '9',
  height: 1,
  timestamp: 0,
  maxHeightPrevoted: 0,
  maxHeightPreviouslyForged: 0,
};
/** The tip check of a node that has the newest block of its network, and only some of the delegates. */
const SURE_TIP = {
  doubt: () => undefined,
  doubtBeforeFirstBlock: () => undefined,
  hasAllDelegates: () => false,
  hasTwoThirds: () => true,
  isTipSurelyNewest: () => true,
};
/**
 * Returns a watermark: a record of the last header that a delegate signed, stored outside of the data folder. The
 * header in this record is the header of block 2 of the test's chain. This block has the given id.
 */
const recalledOn = (blockId: string): RecalledHeader => ({
  last: { ...last, height: 2, blockId },
  firstBlockId: blockId,
});

/** A chain of two blocks: the genesis block, and a block that a delegate has forged. */
function chainOfTwo(generation: 2 | 3) {
  const maker = new ChainMaker(makeNetwork({ generation }));
  const { rules, network } = maker;
  const { params } = network;
  const store = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params }, 'test');
  openGenesis(store, rules, network.genesis);
  const first = maker.forge();
  commitBlocks(store, rules, { blocks: [first] }, { nowS: first.timestamp, verify: () => true });
  return { maker, rules, network, params, store, first };
}

/**
 * Makes a double-forging guard, which decides whether a delegate may sign a header, on a chain of two blocks. The test
 * sets the clock of the guard.
 */
function setUp(generation: 2 | 3, isRecalled: boolean) {
  const { maker, rules, network, params, store, first } = chainOfTwo(generation);
  const publicKey = first.generatorPublicKey;
  const other = publicKeyOf(network.delegates.find((each) => publicKeyOf(each) !== publicKey)!);
  let slot = 1000;
  const adopted: SignedHeader[] = [];
  const journal: SigningJournal = {
    ...NO_JOURNAL,
    heldSinceS: () => slot * params.blockTimeS,
    recalled: () => (isRecalled && adopted.length === 0 ? recalledOn(first.id) : undefined),
    adopt: (_publicKey, header) => void adopted.push(header),
  };
  const guard = new DoubleForgingGuard({
    chain: {
      rules,
      state: store,
      tip: { header: maker.tip },
      currentSlot: () => slot,
      nowS: () => slot * params.blockTimeS,
    },
    journal,
    tipCheck: {
      doubt: () => undefined,
      doubtBeforeFirstBlock: () => undefined,
      hasAllDelegates: () => false,
      hasTwoThirds: () => true,
      isTipSurelyNewest: () => false,
    },
    riskDoubleForging: false,
  });
  return { guard, publicKey: isRecalled ? publicKey : other, adopted, setSlot: (to: number) => (slot = to) };
}

for (const isRecalled of [false, true])
  test(`generation 2: no delegate signs in the slot that it leaves unused, even at its end (watermark: ${isRecalled})`, (t) => {
    const { guard, publicKey, adopted, setSlot } = setUp(2, isRecalled);
    t.like(guard.clearance(publicKey, 1000), { granted: false, code: 'FORGING_WAITS_FOR_EMPTY_SLOT' });
    // The test simulates a forging scheduler that reads the clock just before the end of slot 1000, and then asks the
    // guard. The slot ends before the guard reads the clock.
    setSlot(1001);
    t.like(guard.clearance(publicKey, 1000), { granted: false, code: 'FORGING_WAITS_FOR_EMPTY_SLOT' });
    t.deepEqual(adopted, []);
    setSlot(1101);
    const { granted } = guard.clearance(publicKey, 1101);
    if (isRecalled) t.is(adopted.length, 1, 'the header of the watermark is known from now on');
    else t.true(granted);
  });

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a delegate whose record is a copy leaves two slots unused, although the tip is new`, (t) => {
    const { rules, params, store, first: tip } = chainOfTwo(generation);
    const publicKey = tip.generatorPublicKey;
    const copied = { ...last, blockId: tip.id, height: 2, timestamp: tip.timestamp };
    const hold = { isOver: false };
    const guardWith = (heldSinceS: number) =>
      new DoubleForgingGuard({
        chain: {
          rules: { ...rules, handOver: (...args) => (hold.isOver ? OVER : rules.handOver(...args)) },
          state: store,
          tip: { header: tip },
          currentSlot: () => slotAt(tip.timestamp, params) + 1,
          nowS: () => tip.timestamp + params.blockTimeS,
        },
        journal: { ...NO_JOURNAL, last: () => copied, heldSinceS: () => heldSinceS, isCopyFor: () => heldSinceS > 0 },
        tipCheck: SURE_TIP,
        riskDoubleForging: false,
      });
    const next = slotAt(tip.timestamp, params) + 1;
    t.true(guardWith(0).clearance(publicKey, next).granted, 'the record is complete');
    const guard = guardWith(tip.timestamp + 1);
    if (generation === 3) {
      t.like(guard.clearance(publicKey, next), { granted: false, code: 'FORGING_HAND_OVER' });
      t.notRegex(guard.waiting(publicKey)?.reason ?? '', /risk-double-forging/);
      const { reason } = guardWith(tip.timestamp + 1_000_000).clearance(publicKey, next) as { reason?: string };
      t.regex(reason ?? '', /; the wait has begun in the future, .* it begins again in a slot of the delegate/);
    }
    // The record of the delegate is a copy. During the hand-over (a wait until the rules allow the delegate to sign),
    // another node with the original record perhaps waits, too, and makes no block in the slots of the delegate. Only
    // an unused slot after the end of the hand-over therefore counts as a sign that no such node signs.
    hold.isOver = generation === 3;
    for (const ahead of [0, 0, 101, 101])
      t.like(guard.clearance(publicKey, next + ahead), { granted: false, code: 'FORGING_WAITS_FOR_EMPTY_SLOT' });
    t.true(guard.clearance(publicKey, next + 202).granted);
  });

/**
 * The result of `Rules.handOver` after the end of the hand-over. The hand-over is the move of a delegate's forging
 * from another node to this node.
 */
const OVER = { ready: true, previouslyForged: undefined } as const;

for (const generation of [2, 3] as const) {
  /**
   * Makes a double-forging guard for a delegate that has signed no block of the chain. The tip is only one slot old.
   */
  const guardOf = (isCopy: boolean) => {
    const { rules, params, store, first: tip, network } = chainOfTwo(generation);
    const other = network.delegates.find((each) => publicKeyOf(each) !== tip.generatorPublicKey);
    if (other === undefined) throw new Error('the network has several delegates');
    const slot = slotAt(tip.timestamp, params) + 1;
    const guard = new DoubleForgingGuard({
      chain: {
        ...{ rules: afterHandOver(rules), state: store, tip: { header: tip } },
        ...{ currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
      },
      journal: { ...NO_JOURNAL, heldSinceS: () => tip.timestamp, isCopyFor: () => isCopy },
      tipCheck: SURE_TIP,
      riskDoubleForging: false,
    });
    return { guard, publicKey: publicKeyOf(other), slot, tip };
  };

  test(`generation ${generation}: a delegate without a header leaves two slots unused only if its record is a copy`, (t) => {
    const first = guardOf(false);
    t.not(codeOf(first.guard.clearance(first.publicKey, first.slot)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    const { guard, publicKey, slot } = guardOf(true);
    for (const ahead of [0, 101])
      t.is(codeOf(guard.clearance(publicKey, slot + ahead)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    t.not(codeOf(guard.clearance(publicKey, slot + 202)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
  });

  test(`generation ${generation}: a block of another node counts even if the chain no longer has it`, (t) => {
    const { guard, publicKey, slot, tip } = guardOf(false);
    t.not(codeOf(guard.clearance(publicKey, slot)), 'FORGING_ELSEWHERE');
    guard.noteElsewhere({ ...tip, generatorPublicKey: publicKey }, []);
    t.is(codeOf(guard.clearance(publicKey, slot)), 'FORGING_ELSEWHERE');
  });

  test(`generation ${generation}: a copied record leaves slots unused although the chain has only its genesis block`, (t) => {
    const { rules, network } = new ChainMaker(makeNetwork({ generation }));
    const { params } = network;
    const store = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params }, 'test');
    openGenesis(store, rules, network.genesis);
    const tip = store.tip();
    if (tip === undefined) throw new Error('the store has the genesis block');
    const [publicKey = ''] = rules.forgers(store, 2);
    for (const isCopy of [false, true]) {
      const guard = new DoubleForgingGuard({
        chain: {
          ...{ rules: afterHandOver(rules), state: store, tip: { header: tip } },
          currentSlot: () => 101,
          nowS: () => 1010,
        },
        journal: { ...NO_JOURNAL, heldSinceS: () => 0, isCopyFor: () => isCopy },
        tipCheck: SURE_TIP,
        riskDoubleForging: false,
      });
      const code = codeOf(guard.clearance(publicKey, 101));
      t.is(code === 'FORGING_WAITS_FOR_EMPTY_SLOT', isCopy, code);
    }
  });

  test(`generation ${generation}: after a block of another node, the delegate leaves slots unused, however old the block is`, (t) => {
    const { maker, rules, params, store, first } = chainOfTwo(generation);
    const publicKey = first.generatorPublicKey;
    // Another node has signed block 2 for the delegate, and then no block of the delegate for more than three rounds.
    while (slotAt(maker.tip.timestamp, params) - slotAt(first.timestamp, params) <= 3 * params.activeDelegates) {
      let missed = 0;
      while (publicKeyOf(maker.nextSlot(missed).keyPair) === publicKey) missed += 1;
      const block = maker.forge({ missedSlots: missed });
      commitBlocks(store, rules, { blocks: [block] }, { nowS: block.timestamp, verify: () => true });
    }
    const slot = slotAt(maker.tip.timestamp, params) + 1;
    const guardWith = (heldSinceS: number) =>
      new DoubleForgingGuard({
        chain: {
          ...{ rules: afterHandOver(rules), state: store, tip: { header: maker.tip } },
          ...{ currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
        },
        journal: { ...NO_JOURNAL, last: () => last, heldSinceS: () => heldSinceS, isCopyFor: () => heldSinceS > 0 },
        tipCheck: SURE_TIP,
        riskDoubleForging: false,
      });
    // The delegate waits although block 2 is old. Perhaps the delegate has had no slot since block 2, or only two
    // slots, and the other node was off in both slots because of one restart.
    for (const heldSinceS of [0, first.timestamp + 1])
      t.is(codeOf(guardWith(heldSinceS).clearance(publicKey, slot)), 'FORGING_ELSEWHERE');
  });
}

for (const generation of [2, 3] as const) {
  /**
   * Makes a double-forging guard, and a journal that stores the waits of its delegate. Another node has signed the
   * newest block for the delegate. With `isCopy`, the record of the delegate is a copy, and the other node is a third
   * node: neither this node nor the node with the original record.
   */
  const guardAfterForeign = (isCopy: boolean, hasLast = true, hasTwoThirds = true) => {
    const { maker, rules, params, store, first } = chainOfTwo(generation);
    const held: (readonly [sinceS: number, isCopy: boolean | undefined])[] = isCopy
      ? [[first.timestamp + 1, true]]
      : [];
    const noted: number[] = [];
    const chain = {
      ...{ rules: afterHandOver(rules), state: store, tip: { header: first as BlockHeader } },
      ...{
        currentSlot: () => slotAt(chain.nowS(), params),
        nowS: () => chain.tip.header.timestamp + params.blockTimeS,
      },
    };
    const guard = new DoubleForgingGuard({
      chain,
      journal: {
        ...NO_JOURNAL,
        last: () => (hasLast ? last : undefined),
        heldSinceS: () => held.at(-1)?.[0] ?? (hasLast ? undefined : 1),
        isCopyFor: () => held.at(-1)?.[1] === true,
        foreignS: () => noted.at(-1),
        hold: (_publicKey, sinceS, isOfCopy, foreignS) => {
          held.push([sinceS, isOfCopy]);
          if (foreignS !== undefined) noted.push(foreignS);
        },
      },
      tipCheck: { ...SURE_TIP, hasTwoThirds: () => hasTwoThirds },
      riskDoubleForging: false,
    });
    const publicKey = first.generatorPublicKey;
    /** Adds the block of another delegate after at least `slots` slots. */
    const forge = (slots: number): void => {
      let missedSlots = slots;
      while (publicKeyOf(maker.nextSlot(missedSlots).keyPair) === publicKey) missedSlots += 1;
      const block = maker.forge({ missedSlots });
      commitBlocks(store, rules, { blocks: [block] }, { nowS: block.timestamp, verify: () => true });
      chain.tip = { header: block };
    };
    const slot = chain.currentSlot();
    /** The chain gets blocks of another node in the slots directly before and after a slot. */
    const hearAround = (ahead: number): void => {
      for (const each of [slot + ahead - 1, slot + ahead + 1]) guard.hear({ timestamp: each * params.blockTimeS });
    };
    return { guard, forge, hearAround, held, noted, params, publicKey, slot, nowS: chain.nowS() };
  };

  test(`generation ${generation}: after a block of a third node, the copy leaves two more slots unused than the original`, (t) => {
    const [original, copy] = [guardAfterForeign(false), guardAfterForeign(true)];
    for (const { guard, publicKey, slot, forge, hearAround } of [original, copy]) {
      t.is(codeOf(guard.clearance(publicKey, slot)), 'FORGING_ELSEWHERE');
      hearAround(0);
      forge(2);
      t.is(codeOf(guard.clearance(publicKey, slot + 20)), 'FORGING_ELSEWHERE', 'less than a round later');
    }
    // The test asks the guard twice in each slot, because the forging scheduler also asks several times in one slot.
    const codesIn = (ahead: number) =>
      [original, copy].map(({ guard, publicKey, slot }) => {
        guard.clearance(publicKey, slot + ahead);
        return codeOf(guard.clearance(publicKey, slot + ahead));
      });
    const waits = 'FORGING_WAITS_FOR_EMPTY_SLOT';
    const hearBoth = (ahead: number) =>
      [original, copy].forEach(({ forge, hearAround }) => {
        hearAround(ahead);
        forge(101);
      });
    t.deepEqual(codesIn(101), [waits, waits], 'the third node may have been off for one slot');
    hearBoth(101);
    t.deepEqual(codesIn(202), ['granted', waits]);
    hearBoth(202);
    t.is(codesIn(250)[1], waits, 'a restart of the original could cover two slots that are so close');
    copy.hearAround(250);
    t.is(codesIn(303)[1], waits);
    copy.forge(60);
    t.is(codesIn(360)[1], waits, 'no block of another node came after the last unused slot');
    hearBoth(303);
    t.is(codesIn(404)[1], 'granted');
  });

  test(`generation ${generation}: the blocks of a node without two thirds of the delegates do not show that it hears the others`, (t) => {
    const { guard, publicKey, slot, forge, hearAround, params } = guardAfterForeign(false, true, false);
    const codeIn = (ahead: number): string => codeOf(guard.clearance(publicKey, slot + ahead));
    for (const ahead of [0, 101, 202]) {
      t.is(codeIn(ahead), 'FORGING_ELSEWHERE');
      forge(101);
      guard.refresh([publicKey]);
    }
    t.regex(guard.waiting(publicKey)?.reason ?? '', /no block of another node has come for a round/);
    // For a round, the chain has got no block that another node signed for any delegate. The next such block does not
    // show whether this node would have got a block of another node in that round.
    guard.hear({ timestamp: (slot + 315) * params.blockTimeS });
    t.is(codeIn(404), 'FORGING_ELSEWHERE');
    // The next two blocks are old, as in a download. They do not show, either, whether this node would have got a block
    // of another node in their slots.
    for (const each of [slot + 201, slot + 203]) guard.hear({ timestamp: each * params.blockTimeS });
    t.is(codeIn(404), 'FORGING_ELSEWHERE');
    hearAround(404);
    forge(101);
    t.is(codeIn(505), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    forge(101);
    t.is(codeIn(606), 'FORGING_WAITS_FOR_EMPTY_SLOT', 'no block of another node came after the last unused slot');
    hearAround(606);
    t.is(codeIn(707), 'granted');
  });

  test(`generation ${generation}: the hand-over begins with the end of the slot that a delegate leaves to another node`, (t) => {
    for (const isCopy of [false, true]) {
      const { guard, publicKey, slot, held, params } = guardAfterForeign(isCopy);
      guard.hold(publicKey);
      const before = held.length;
      for (const each of [slot, slot, slot + 101]) guard.clearance(publicKey, each);
      const ends = [slot + 1, slot + 102].map((each) => [each * params.blockTimeS, isCopy]);
      t.deepEqual(held.slice(before), generation === 3 ? ends : []);
    }
  });

  test(`generation ${generation}: a block of another node makes the record of its delegate incomplete`, (t) => {
    for (const [block, hasLast, isNoted] of [
      [{ id: 'k', height: 9, timestamp: 500 }, true, true],
      [{ id: 'k', height: 9, timestamp: 500 }, false, true],
      [{ id: last.blockId, height: 9, timestamp: last.timestamp }, true, false],
      [{ id: 'k', height: 0, timestamp: last.timestamp - 1 }, true, false],
      // The block is older than the last header in our journal, but on a longer branch.
      [{ id: 'k', height: 9, timestamp: last.timestamp - 1 }, true, true],
    ] as const) {
      const { guard, publicKey: generatorPublicKey, held, noted, nowS } = guardAfterForeign(false, hasLast);
      // The second copy of the block changes nothing.
      for (const _ of [1, 2]) guard.waits.noteForeign({ ...block, generatorPublicKey });
      // If the clock is behind the block, the wait begins one second after the timestamp of the block.
      const sinceS = Math.max(nowS, block.timestamp + 1);
      // In generation 2, the guard assumes that this node signed each block of the delegate that is older than the
      // delegate's last header in the journal.
      const isExpected = isNoted && (generation === 3 || block.timestamp >= last.timestamp);
      t.deepEqual(held, isExpected ? [[sinceS, false]] : []);
      t.deepEqual(noted, isExpected ? [block.timestamp] : []);
    }
  });
}

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a reverted block of another node is known after a restart, also if its delegate was disabled`, (t) => {
    const { rules, params, store, first } = chainOfTwo(generation);
    const tip = { header: { ...first, id: 'own', timestamp: first.timestamp + 1000 } };
    const publicKey = first.generatorPublicKey;
    const own = { ...last, blockId: first.id, height: 2, timestamp: first.timestamp };
    const slot = slotAt(tip.header.timestamp, params) + 1;
    const stored: { heldSinceS?: number; foreignS?: number } = {};
    const startGuard = () =>
      new DoubleForgingGuard({
        chain: {
          ...{ rules: afterHandOver(rules), state: store, tip },
          ...{ currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
        },
        journal: {
          ...NO_JOURNAL,
          last: () => own,
          heldSinceS: () => stored.heldSinceS,
          foreignS: () => stored.foreignS,
          hold: (_publicKey, heldSinceS, _isCopy, foreignS) =>
            void Object.assign(stored, { heldSinceS }, foreignS === undefined ? {} : { foreignS }),
        },
        tipCheck: SURE_TIP,
        riskDoubleForging: false,
      });
    t.is(codeOf(startGuard().clearance(publicKey, slot)), 'granted');
    const block = { id: 'reverted', height: 3, generatorPublicKey: publicKey, timestamp: first.timestamp + 500 };
    new WaitUpdates(startGuard(), () => []).noteForeign([block]);
    t.is(stored.foreignS, block.timestamp);
    t.is(codeOf(startGuard().clearance(publicKey, slot)), 'FORGING_ELSEWHERE');
  });

/**
 * Returns `previouslyForged.maxHeightPreviouslyForged` of a clearance (the decision of the guard about a slot). After a
 * hand-over, this value is an upper limit for the heights of all headers that the delegate has signed. The result is
 * undefined if the guard refused the slot, or if the clearance has no `previouslyForged`.
 */
function namedBy(clearance: Clearance): number | undefined {
  return clearance.granted ? clearance.previouslyForged?.maxHeightPreviouslyForged : undefined;
}

test('generation 3: the block of another node of an unknown delegate, or with riskDoubleForging, is not noted', (t) => {
  const { rules, store, first } = chainOfTwo(3);
  for (const [heldSinceS, riskDoubleForging] of [
    [undefined, false],
    [1, true],
  ] as const) {
    const guard = new DoubleForgingGuard({
      chain: { rules, state: store, tip: { header: first }, currentSlot: () => 1, nowS: () => 9 },
      journal: { ...NO_JOURNAL, heldSinceS: () => heldSinceS, hold: () => t.fail('a wait was stored') },
      tipCheck: SURE_TIP,
      riskDoubleForging,
    });
    guard.waits.noteForeign({ ...first, id: 'k' });
    guard.waits.clockSetForward(riskDoubleForging ? [first.generatorPublicKey] : [], undefined);
  }
  t.pass();
});

/**
 * Makes a double-forging guard on a chain of two blocks, and a journal that stores the waits of a delegate. At first,
 * the journal has no header that the delegate signed.
 */
function guardWithWaits(generation: 2 | 3 = 3) {
  const { rules, store, first, params } = chainOfTwo(generation);
  const held: (readonly [sinceS: number, isCopy: boolean | undefined])[] = [];
  const now = {
    ...{
      s: 0,
      slot: 1,
      last: undefined as SignedHeader | undefined,
      recalled: undefined as RecalledHeader | undefined,
    },
    ...{
      isTipNewest: false,
      isBroken: false,
      tipHeight: first.height,
      outside: 'unknown' as 'unknown' | 'later',
      finalizedHeight: 1,
      doubt: undefined as { readonly reason: string } | undefined,
      doubtBefore: undefined as { readonly reason: string } | undefined,
    },
  };
  const noted: number[] = [];
  const guard = new DoubleForgingGuard({
    chain: {
      ...{ state: store, currentSlot: () => now.slot, nowS: () => now.s },
      get tip() {
        return { header: { ...first, height: now.tipHeight } };
      },
      rules: { ...rules, finalizedHeight: () => now.finalizedHeight },
    },
    journal: {
      ...NO_JOURNAL,
      foreignS: () => noted.at(-1),
      last: () => now.last,
      outside: () => now.outside,
      recalled: () => now.recalled,
      heldSinceS: () => held.at(-1)?.[0],
      isCopyFor: () => held.at(-1)?.[1] === true,
      hold: (_publicKey, sinceS, isCopy, foreignS) => {
        if (now.isBroken) throw new ProtocolError('JOURNAL_WRITE_FAILED');
        held.push([sinceS, isCopy]);
        if (foreignS !== undefined) noted.push(foreignS);
      },
      adopt: () => void held.push([0, false]),
    },
    tipCheck: {
      ...{ doubt: () => now.doubt, doubtBeforeFirstBlock: () => now.doubtBefore, hasTwoThirds: () => true },
      ...{ isTipSurelyNewest: () => now.isTipNewest, hasAllDelegates: () => now.isTipNewest },
    },
    riskDoubleForging: false,
  });
  return { guard, held, noted, now, first, params };
}

test('a wait begins after the tip, and again after the clock was set forward', (t) => {
  const { guard, held, now, first, params } = guardWithWaits();
  const afterTipS = first.timestamp + params.blockTimeS;
  guard.hold('a');
  t.deepEqual(held.splice(0), [[afterTipS, false]], 'the clock is behind the tip');
  now.s = afterTipS + 1000;
  held.push([5, true]);
  guard.waits.clockSetForward(['a'], undefined);
  guard.waits.clockSetForward(['a'], undefined);
  t.deepEqual(held.splice(1), [[now.s, true]]);
  held.push([now.s, true]);
  now.last = { ...last, timestamp: now.s };
  now.s += 5;
  guard.waits.clockSetForward(['a'], undefined);
  t.is(held.length, 2, 'the record is complete');
});

test('a step of the clock begins no wait again of a delegate that has signed nothing since the beginning', (t) => {
  const { guard, held, noted, now, first } = guardWithWaits();
  const begins = (): boolean => {
    const { length } = held;
    guard.waits.clockSetForward(['a'], undefined);
    return held.length > length;
  };
  const reset = (): void => {
    held.splice(0, held.length, [first.timestamp, false]);
    noted.length = 0;
    Object.assign(now, { s: first.timestamp + 1000, outside: 'unknown', last: undefined });
    guard.waits.noteBeginning(['a']);
  };
  reset();
  t.false(begins());
  for (const change of [
    () => held.push([first.timestamp, true]),
    () => noted.push(5),
    () => (now.outside = 'later'),
    () => (now.last = { ...last, timestamp: first.timestamp - 1 }),
  ]) {
    reset();
    change();
    t.true(begins());
  }
  reset();
  guard.waits.begin('a');
  now.s += 100;
  t.true(begins(), 'it was enabled again');
});

test('a wait begins again when its delegate is enabled', (t) => {
  const { guard, held, now, first, params } = guardWithWaits();
  now.s = first.timestamp + 100;
  held.push([5, true]);
  guard.hold('a');
  t.deepEqual(held.splice(1), [[now.s, true]]);
  for (const [heldSinceS, lastS, nowS, expected] of [
    [5, 4, now.s, now.s],
    // The clock is behind the header, or behind the tip.
    [now.s + 51, now.s + 50, now.s, undefined],
    [now.s + 1, now.s, 3, undefined],
    [2, 1, 3, first.timestamp + params.blockTimeS],
    // The record is complete.
    [5, 5, now.s, undefined],
  ] as const) {
    held.length = 0;
    held.push([heldSinceS, false]);
    now.last = { ...last, timestamp: lastS };
    now.s = nowS;
    guard.hold('a');
    t.deepEqual(held.slice(1), expected === undefined ? [] : [[expected, false]]);
    now.s = first.timestamp + 100;
  }
});

test('a delegate that was enabled before its first possible slot does not wait', (t) => {
  const { maker, rules: base, params, store, network } = chainOfTwo(3);
  for (let height = 3; height <= 104; height += 1) {
    const block = maker.forge();
    commitBlocks(store, base, { blocks: [block] }, { nowS: block.timestamp, verify: () => true });
  }
  // The account is in none of the final lists of delegates. Round 4 is the first round whose list is not final.
  const publicKey = publicKeyOf(network.accounts[0]!);
  const finalizedHeight = 50;
  const first = slotAt(store.header(finalizedHeight)!.timestamp, params) + 304 - finalizedHeight;
  const now = { enabledSlot: first - 2, finalizedHeight, foreignS: undefined as number | undefined };
  const record = { isCopy: false, outside: 'unknown' as 'unknown' | 'later' };
  const rules: Rules = { ...base, finalizedHeight: () => now.finalizedHeight };
  const node = { hasAll: false, signed: new Map<string, SignedHeader>(), copyOf: '' };
  const guard = new DoubleForgingGuard({
    chain: {
      ...{
        rules,
        state: store,
        tip: {
          get header() {
            return maker.tip;
          },
        },
      },
      ...{ currentSlot: () => first + 9, nowS: () => (first + 9) * params.blockTimeS },
    },
    journal: {
      ...NO_JOURNAL,
      ...{ heldSinceS: () => (now.enabledSlot + 1) * params.blockTimeS - 1, foreignS: () => now.foreignS },
      ...{ isCopyFor: (key) => record.isCopy || key === node.copyOf, outside: () => record.outside },
      last: (key) => node.signed.get(key),
    },
    tipCheck: {
      doubt: () => undefined,
      doubtBeforeFirstBlock: () => undefined,
      hasAllDelegates: () => node.hasAll,
      hasTwoThirds: () => true,
      isTipSurelyNewest: () => true,
    },
    riskDoubleForging: false,
  });
  const clearance = (): Clearance => guard.clearance(publicKey, first + 9);
  // The state keeps only the newest lists of delegates. If no block becomes final for many rounds, the state drops
  // lists with which the guard proves that no other node can have signed for the delegate. The guard therefore stores
  // the result of the proof at a check (`refresh`). After the check, the test makes a new proof impossible: it sets the
  // height of the final block to 0, and no block has this height.
  guard.refresh([publicKey]);
  now.finalizedHeight = 0;
  t.is(namedBy(clearance()), 303, 'a branch from below could have a block in each slot up to the enabling');
  now.finalizedHeight = finalizedHeight;
  now.enabledSlot += 1;
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER', 'another node may have used the slot after the enabling');
  now.enabledSlot -= 1;
  now.foreignS = 5;
  t.is(codeOf(clearance()), 'FORGING_ELSEWHERE');
  now.foreignS = undefined;
  record.isCopy = true;
  t.not(codeOf(clearance()), 'granted');
  Object.assign(record, { isCopy: false, outside: 'later' });
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER');
  record.outside = 'unknown';

  now.finalizedHeight = 1;
  now.enabledSlot = slotAt(maker.tip.timestamp, params);
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER', 'a young network');
  node.hasAll = true;
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER', 'another node may have begun the chain');
  const sign = (height: number): void => {
    const { id: blockId, ...header } = store.header(height)!;
    node.signed.set(header.generatorPublicKey, { ...header, blockId });
  };
  // The guard remembers the result for a tip, so each case has another tip.
  const afterBlock = (): Clearance => {
    const block = maker.forge();
    commitBlocks(store, base, { blocks: [block] }, { nowS: block.timestamp, verify: () => true });
    sign(block.height);
    return clearance();
  };
  sign(2);
  t.is(codeOf(afterBlock()), 'FORGING_HAND_OVER', 'another node has made further blocks');
  for (let height = 2; height <= maker.tip.height; height += 1) sign(height);
  t.is(namedBy(afterBlock()), 105, 'this node makes all blocks');
  node.hasAll = false;
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER');
  node.hasAll = true;
  now.finalizedHeight = 2;
  t.is(codeOf(clearance()), 'FORGING_HAND_OVER', 'the network is no longer young');
  now.finalizedHeight = 1;
  // Another node has signed a block for another delegate of this node.
  guard.noteElsewhere({ ...store.header(50)!, generatorPublicKey: 'another delegate' }, [publicKey]);
  for (const ahead of [9, 9, 110])
    t.is(
      codeOf(guard.clearance(publicKey, first + ahead)),
      'FORGING_WAITS_FOR_EMPTY_SLOT',
      'two slots are left unused',
    );
  guard.noteElsewhere({ ...store.header(50)!, generatorPublicKey: 'another delegate' }, [publicKey]);
  t.true((namedBy(guard.clearance(publicKey, first + 211)) ?? 0) > 105, 'only once, and the header covers the slots');
  node.copyOf = store.header(90)!.generatorPublicKey;
  t.is(codeOf(afterBlock()), 'FORGING_HAND_OVER', 'a record is a copy');
  node.copyOf = '';
  const other = store.header(80)!.generatorPublicKey;
  node.signed.set(other, {
    ...node.signed.get(other)!,
    blockId: '1',
    timestamp: 5,
    height: 3,
    maxHeightPreviouslyForged: 0,
  });
  t.is(codeOf(afterBlock()), 'FORGING_HAND_OVER', 'another node has made a block of a delegate of this node');
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a delegate without a header signs neither in the slot in which it was enabled nor in the next one`, (t) => {
    const { guard, held, now, first, params } = guardWithWaits(generation);
    now.isTipNewest = true;
    now.slot = slotAt(first.timestamp, params) + 5;
    now.s = now.slot * params.blockTimeS;
    guard.hold(OWN);
    for (const ahead of [0, 1])
      t.is(codeOf(guard.clearance(OWN, now.slot + ahead)), 'FORGING_WAITS_FOR_EMPTY_SLOT', `${ahead}`);
    t.not(codeOf(guard.clearance(OWN, now.slot + 2)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    // Forging is enabled again.
    now.slot += 7;
    now.s = now.slot * params.blockTimeS;
    guard.hold(OWN);
    t.is(codeOf(guard.clearance(OWN, now.slot + 1)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    t.not(codeOf(guard.clearance(OWN, now.slot + 2)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    // The clock was behind when the delegate was enabled. After the clock is set forward, the guard therefore treats
    // the slot that the corrected clock shows as the slot in which the delegate was enabled. Perhaps another node
    // signed for the delegate in this slot before the delegate was enabled here.
    guard.clockSetForward([OWN], 3 * params.blockTimeS - 1);
    now.slot += 3;
    now.s = now.slot * params.blockTimeS;
    guard.clockSetForward([OWN], 3 * params.blockTimeS - 1);
    t.is(codeOf(guard.clearance(OWN, now.slot + 1)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    guard.clockSetForward([OWN], undefined);
    t.is(codeOf(guard.clearance(OWN, now.slot + 1)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    t.not(codeOf(guard.clearance(OWN, now.slot + 2)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    // The clock was ahead by many slots.
    now.slot -= 500;
    t.is(codeOf(guard.clearance(OWN, now.slot)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    t.not(codeOf(guard.clearance(OWN, now.slot + 2)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    now.last = { ...last, timestamp: (held.at(-1)?.[0] ?? 0) + 1 };
    now.slot = slotAt(now.last.timestamp, params) + 1;
    guard.hold(OWN);
    t.is(codeOf(guard.clearance(OWN, now.slot)), 'granted', 'its record is complete');
  });
}

test('a wait in the future begins again in a slot in which the tip is new', (t) => {
  const { guard, held, now, first, params } = guardWithWaits();
  const tipSlot = slotAt(first.timestamp, params);
  const { publicKey, futureS } = { publicKey: 'a', futureS: first.timestamp + 9000 };
  now.last = { ...last, timestamp: 1 };
  for (const [ahead, doubt, isCorrected] of [
    [2, undefined, true],
    [3, undefined, false],
    [-1, undefined, false],
    [1, { reason: 'no peer' }, false],
  ] as const) {
    held.push([futureS, true]);
    now.slot = tipSlot + ahead;
    now.s = now.slot * params.blockTimeS;
    now.doubt = doubt;
    guard.clearance(publicKey, now.slot);
    t.deepEqual(held.at(-1), [isCorrected ? Math.max(now.s, first.timestamp + 1) : futureS, true], `${ahead}`);
  }
  held.push([now.s + params.blockTimeS, true]);
  now.doubt = undefined;
  guard.clearance(publicKey, now.slot);
  t.deepEqual(held.at(-1), [now.s + params.blockTimeS, true], 'the end of a slot that was left to another node');

  // The chain has only the genesis block.
  for (const [doubtBefore, lastHeader, isCorrected] of [
    [undefined, undefined, true],
    [{ reason: 'no peer' }, undefined, false],
    [undefined, { ...last, timestamp: 1 }, false],
  ] as const) {
    held.splice(0, held.length, [futureS, false]);
    Object.assign(now, { tipHeight: 1, doubtBefore, last: lastHeader, s: 0 });
    guard.waits.correctFuture(publicKey);
    t.deepEqual(held.at(-1), [isCorrected ? first.timestamp + params.blockTimeS : futureS, false]);
  }
});

test('a wait that began by a clock that was behind begins later by the step of the clock, but not in the future', (t) => {
  const { guard, held, now, first } = guardWithWaits();
  held.push([5, false]);
  now.s = first.timestamp + 1000;
  guard.waits.clockSetForward(['a'], 2);
  t.deepEqual(held.at(-1), [7, false]);
  guard.waits.clockSetForward(['a'], 9000);
  t.deepEqual(held.at(-1), [now.s, false]);
});

test('a block that a wait covers is noted without a new begin', (t) => {
  const { guard, held, noted, now, first } = guardWithWaits();
  const { generatorPublicKey } = first;
  now.s = first.timestamp + 500;
  held.push([first.timestamp + 400, true]);
  const block = { id: 'k', height: 9, timestamp: first.timestamp + 300, generatorPublicKey };
  guard.waits.noteForeign(block);
  guard.waits.noteForeign(block);
  guard.waits.noteForeign({ ...block, id: 'j', timestamp: block.timestamp - 10 });
  t.deepEqual(held.splice(1), [[first.timestamp + 400, true]]);
  t.deepEqual(noted, [block.timestamp]);
  now.doubt = { reason: 'the node syncs' };
  guard.waits.noteForeign({ ...block, timestamp: block.timestamp + 10 });
  t.deepEqual(noted, [block.timestamp], 'the next decision notes the newest of many old blocks');
});

test('the wait after the block of another node begins after our last header, even if that header is in the future', (t) => {
  const { guard, held, now, first } = guardWithWaits();
  now.last = { ...last, timestamp: first.timestamp + 900 };
  now.s = first.timestamp + 10;
  guard.waits.noteForeign({ id: 'k', height: 9, timestamp: now.s, generatorPublicKey: first.generatorPublicKey });
  t.deepEqual(held, [[first.timestamp + 901, false]]);
});

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a delegate that signed for a later slot by a clock that was ahead signs only after that slot`, (t) => {
    const { rules, store, first, params } = chainOfTwo(generation);
    const signed = { ...last, timestamp: 900 * params.blockTimeS };
    const make = (riskDoubleForging: boolean) =>
      new DoubleForgingGuard({
        chain: {
          rules,
          state: store,
          tip: { header: first },
          currentSlot: () => 850,
          nowS: () => 850 * params.blockTimeS,
        },
        journal: { ...NO_JOURNAL, last: () => signed },
        tipCheck: SURE_TIP,
        riskDoubleForging,
      });
    const guard = make(false);
    const waiting = { code: 'FORGING_LATER_SLOT', untilS: 901 * params.blockTimeS };
    t.like(guard.waiting('a'), waiting);
    for (const slot of [850, 899]) t.like(guard.clearance('a', slot), { granted: false, ...waiting });
    // The rules refuse a second block for slot 900 itself (`Rules.forge`).
    for (const slot of [900, 901]) t.like(guard.clearance('a', slot), { granted: true, previouslyForged: signed });
    t.like(make(true).clearance('a', 850), { granted: false, ...waiting }, 'with riskDoubleForging, too');
  });

test('a slot is left to another node only if the journal says so', (t) => {
  const { guard, held, now, first } = guardWithWaits();
  const { generatorPublicKey } = first;
  now.s = first.timestamp + 3;
  guard.hold(generatorPublicKey);
  now.isBroken = true;
  t.throws(() => guard.clearance(generatorPublicKey, 900), { code: 'JOURNAL_WRITE_FAILED' });
  now.isBroken = false;
  t.is(codeOf(guard.clearance(generatorPublicKey, 950)), 'FORGING_ELSEWHERE');
  t.true((held.at(-1)?.[0] ?? 0) > 950);
});

test('a header of a later slot in a watermark delays signatures until the end of its slot', (t) => {
  const { guard, now, first, params } = guardWithWaits();
  const { generatorPublicKey, id } = first;
  const slot = slotAt(first.timestamp, params) + 900;
  now.recalled = { last: { ...last, blockId: id, timestamp: slot * params.blockTimeS }, firstBlockId: id };
  for (const early of [slot - 101, slot])
    t.is(codeOf(guard.clearance(generatorPublicKey, early)), 'FORGING_LATER_SLOT');
  t.not(codeOf(guard.clearance(generatorPublicKey, slot + 1)), 'FORGING_LATER_SLOT');
});

for (const generation of [2, 3] as const)
  test(`generation ${generation}: an old watch, or one by a wrong clock or before a new enabling, does not count`, (t) => {
    const { rules, params, store, first: tip } = chainOfTwo(generation);
    const publicKey = tip.generatorPublicKey;
    const copied = { ...last, blockId: tip.id, height: 2, timestamp: tip.timestamp };
    const held = [tip.timestamp + 1];
    const now = { slot: slotAt(tip.timestamp, params) + 1 };
    const guard = new DoubleForgingGuard({
      chain: {
        ...{ rules: afterHandOver(rules), state: store, tip: { header: tip } },
        ...{ currentSlot: () => now.slot, nowS: () => now.slot * params.blockTimeS },
      },
      journal: {
        ...NO_JOURNAL,
        ...{ last: () => copied, heldSinceS: () => held.at(-1), isCopyFor: () => true },
        hold: (_publicKey, sinceS) => void held.push(sinceS),
      },
      tipCheck: SURE_TIP,
      riskDoubleForging: false,
    });
    const codeAfter = (slots: number, event: () => void = () => undefined): string => {
      t.is(codeOf(guard.clearance(publicKey, now.slot)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
      now.slot += 101;
      t.is(codeOf(guard.clearance(publicKey, now.slot)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
      now.slot += slots;
      event();
      return codeOf(guard.clearance(publicKey, now.slot));
    };
    t.is(codeAfter(202), 'FORGING_WAITS_FOR_EMPTY_SLOT');
    t.is(
      codeAfter(101, () => guard.hold(publicKey)),
      'FORGING_WAITS_FOR_EMPTY_SLOT',
    );
    t.is(
      codeAfter(101, () => guard.clockSetForward([], params.blockTimeS)),
      'FORGING_WAITS_FOR_EMPTY_SLOT',
    );
    t.is(
      codeAfter(101, () => guard.clockSetForward([publicKey], 1)),
      'granted',
    );
    now.slot += 202;
    // After the last slot that the delegate left unused, 400 slots pass. Then the clock is set back by 300 slots, the
    // guard makes a check (`refresh`), and the clock is set forward by 300 slots again.
    t.is(
      codeAfter(400, () => {
        now.slot -= 300;
        guard.refresh([]);
        now.slot += 300;
      }),
      'FORGING_WAITS_FOR_EMPTY_SLOT',
    );
    t.is(
      codeAfter(101, () => guard.refresh([])),
      'granted',
    );
  });

test('the block of another node from before the start is noted, and after a failed write before the next decision', (t) => {
  const { guard, held, noted, now, first } = guardWithWaits();
  const { generatorPublicKey } = first;
  held.push([1, false]);
  now.s = first.timestamp + 7;
  guard.hold(generatorPublicKey);
  t.deepEqual(held.splice(1).at(-1), [now.s, false]);
  t.deepEqual(noted, [first.timestamp]);
  now.isBroken = true;
  const later = { ...first, id: 'k', timestamp: first.timestamp + 3 };
  t.throws(() => guard.waits.noteForeign(later), { code: 'JOURNAL_WRITE_FAILED' });
  t.throws(() => guard.clearance(generatorPublicKey, 900), { code: 'JOURNAL_WRITE_FAILED' });
  now.isBroken = false;
  guard.clearance(generatorPublicKey, 900);
  t.deepEqual(held[1], [now.s, false]);
});

test('after the block of another node, the header of a watermark is not the last one of its delegate', (t) => {
  const { guard, held, now, first } = guardWithWaits();
  const { generatorPublicKey, timestamp, id } = first;
  held.push([timestamp + 900, false]);
  now.recalled = { last: { ...last, height: 2, blockId: id, timestamp }, firstBlockId: id };
  guard.waits.noteForeign(first);
  guard.waits.noteForeign({ ...first, id: 'older', height: 0, timestamp: timestamp - 1 });
  t.is(held.length, 1, 'these blocks are in the watermark, or older');
  guard.waits.noteForeign({ ...first, id: 'k', height: 5, timestamp: timestamp + 20 });
  t.deepEqual(held.splice(1), [[timestamp + 21, true]]);
  held.push([timestamp + 21, true]);
  for (const slot of [900, 1001, 1102]) guard.clearance(generatorPublicKey, slot);
  t.false(
    held.some(([sinceS]) => sinceS === 0),
    'the header of the watermark was not adopted',
  );
});

/**
 * Makes a double-forging guard for a delegate. The signing record of the delegate on this node is a copy of the record
 * of another node. The chain ends directly before a slot of the delegate. In generation 3, the hand-over (the move of
 * the delegate's forging to this node) has ended.
 */
function guardOfCopy(generation: 2 | 3) {
  const its = { chain: chainUntil(43) };
  const held: number[] = [401];
  const rules = { ...rulesOf(generation), ...(generation === 3 && { handOver: () => OVER }) };
  const guard = new DoubleForgingGuard({
    chain: {
      ...{ rules, currentSlot: () => its.chain.slotOfTip(rules) + 1, nowS: () => its.chain.tip.timestamp + 11 },
      get state() {
        return its.chain.state as ChainReader;
      },
      get tip() {
        return { header: its.chain.tip };
      },
    },
    journal: {
      ...NO_JOURNAL,
      last: () => signedHeaderOf(its.chain.state.header(41)!),
      heldSinceS: () => held.at(-1),
      isCopyFor: () => true,
      hold: (_publicKey, sinceS) => void held.push(sinceS),
    },
    tipCheck: SURE_TIP,
    riskDoubleForging: false,
  });
  return { its, guard };
}

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a copy leaves a slot unused anew after the block of a third node`, (t) => {
    const { its, guard } = guardOfCopy(generation);
    const codes = new Map<number, string>();
    for (let slot = 44; slot <= 72; slot += 1) {
      // A third node (neither this node nor the node with the original record) signs the block of slot 52.
      if (ownerOf(slot) === OWN) codes.set(slot, codeOf(guard.clearance(OWN, slot)));
      if (ownerOf(slot) !== OWN || slot === 52) its.chain = its.chain.extend(slot);
      guard.refresh([OWN]);
    }
    const [unused, elsewhere] = ['FORGING_WAITS_FOR_EMPTY_SLOT', 'FORGING_ELSEWHERE'];
    t.deepEqual([...codes.values()], [unused, unused, 'granted', elsewhere, unused, unused, unused, 'granted']);
  });

test('a copy leaves a slot unused anew after a block of another node that the chain no longer has', (t) => {
  const { its, guard } = guardOfCopy(3);
  const codes: string[] = [];
  for (let slot = 44; codes.length < 4; slot += 1) {
    if (ownerOf(slot) !== OWN) {
      its.chain = its.chain.extend(slot);
      continue;
    }
    codes.push(codeOf(guard.clearance(OWN, slot)));
    const { height, timestamp } = its.chain.tip;
    // After the first slot that the delegate leaves unused, the chain applies a block that another node signed for the
    // delegate, and then reverts this block.
    if (codes.length === 1)
      guard.waits.noteForeign({ id: '9', height: height + 1, generatorPublicKey: OWN, timestamp });
  }
  t.deepEqual(codes, [...Array<string>(3).fill('FORGING_WAITS_FOR_EMPTY_SLOT'), 'granted']);
});

test('on the genesis block, a watermark with a header makes the delegate wait for the peers', (t) => {
  const { rules, network } = new ChainMaker(makeNetwork({ generation: 3 }));
  const store = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params: network.params }, 'test');
  openGenesis(store, rules, network.genesis);
  const [publicKey = ''] = rules.forgers(store, 2);
  for (const [outside, tipDoubt, beginningDoubt, isWaiting] of [
    ['unknown', 'no peer', undefined, false],
    ['unknown', undefined, 'a peer is ahead', true],
    ['later', 'no peer', undefined, true],
    ['later', undefined, 'a peer is ahead', true],
    ['later', undefined, undefined, false],
  ] as const) {
    const doubtOf = (reason: string | undefined) => () => (reason === undefined ? undefined : { reason });
    const guard = new DoubleForgingGuard({
      chain: { rules, state: store, tip: { header: network.genesis }, currentSlot: () => 101, nowS: () => 1010 },
      journal: { ...NO_JOURNAL, heldSinceS: () => 5, outside: () => outside },
      tipCheck: {
        doubt: doubtOf(tipDoubt),
        doubtBeforeFirstBlock: doubtOf(beginningDoubt),
        hasAllDelegates: () => false,
        hasTwoThirds: () => true,
        isTipSurelyNewest: () => true,
      },
      riskDoubleForging: false,
    });
    t.is(guard.waiting(publicKey)?.code, isWaiting ? 'FORGING_OLD_TIP' : undefined, `${outside} ${tipDoubt}`);
  }
});

test('a slot during the search for other blocks is no slot that a copy left unused', (t) => {
  // Another node has signed the block of slot 20 for the delegate, and no later block of the delegate. The guard
  // searches the chain backwards for such a block, and reads at most 5,000 headers in each call of `clearance`.
  let chain = chainUntil(20);
  for (let slot = 21; slot < 16_000; slot += 1) if (ownerOf(slot) !== OWN) chain = chain.extend(slot);
  const rules = { ...rulesOf(3), handOver: () => OVER };
  const held = [5];
  const noted: number[] = [];
  const guard = new DoubleForgingGuard({
    chain: {
      ...{ rules, state: chain.state as ChainReader, tip: { header: chain.tip } },
      ...{ currentSlot: () => 16_000, nowS: () => 160_001 },
    },
    journal: {
      ...NO_JOURNAL,
      last: () => last,
      heldSinceS: () => held.at(-1),
      isCopyFor: () => true,
      foreignS: () => noted.at(-1),
      hold: (_publicKey, sinceS, _isCopy, foreignS) => {
        held.push(sinceS);
        if (foreignS !== undefined) noted.push(foreignS);
      },
    },
    tipCheck: SURE_TIP,
    riskDoubleForging: false,
  });
  const outcomes: string[] = [];
  for (let slot = 16_001; outcomes.length < 9 && outcomes.at(-1) !== 'granted'; slot += 4) {
    const clearance = guard.clearance(OWN, slot);
    const isSearching = !clearance.granted && /still searches/.test(clearance.reason);
    outcomes.push(isSearching ? 'searching' : codeOf(clearance));
  }
  t.deepEqual([...new Set(outcomes)], ['searching', 'FORGING_ELSEWHERE']);
  t.deepEqual(
    held.slice(0, 2),
    [5, 160_001],
    'the other node may have signed more than the block that the search has found',
  );
});

test('generation 3: a slot that a copy left unused before the end of the hand-over does not count', (t) => {
  const { rules, params, store, first: tip } = chainOfTwo(3);
  const publicKey = tip.generatorPublicKey;
  const slot = slotAt(tip.timestamp, params) + 1;
  const now = { isOver: false, recalled: recalledOn(tip.id) as RecalledHeader | undefined };
  const guard = new DoubleForgingGuard({
    chain: {
      rules: { ...rules, handOver: (...args) => (now.isOver ? OVER : rules.handOver(...args)) },
      ...{ state: store, tip: { header: tip }, currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
    },
    journal: {
      ...NO_JOURNAL,
      ...{ last: () => ({ ...last, blockId: tip.id, timestamp: tip.timestamp }), heldSinceS: () => tip.timestamp + 1 },
      // Before the end of the hand-over (a wait until the rules allow the delegate to sign), the record of the delegate
      // in this journal is not a copy. The delegate then waits because of its watermark, a record outside of the data
      // folder. From the end of the hand-over on, the record in the journal is a copy.
      isCopyFor: () => now.isOver,
      recalled: () => now.recalled,
    },
    tipCheck: SURE_TIP,
    riskDoubleForging: false,
  });
  t.is(codeOf(guard.clearance(publicKey, slot)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
  Object.assign(now, { isOver: true, recalled: undefined });
  t.is(codeOf(guard.clearance(publicKey, slot + 101)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
  t.is(codeOf(guard.clearance(publicKey, slot + 202)), 'FORGING_WAITS_FOR_EMPTY_SLOT');
  t.is(codeOf(guard.clearance(publicKey, slot + 303)), 'granted');
});

test('the hand-over covers the slot that a delegate left unused, and knows the header of a watermark', (t) => {
  const { rules, params, store, network, first: tip } = chainOfTwo(3);
  // A delegate that has signed on a branch that the network has abandoned.
  const publicKey = publicKeyOf(network.delegates.find((each) => publicKeyOf(each) !== tip.generatorPublicKey)!);
  const slot = slotAt(tip.timestamp, params) + 1;
  const requests: HandOverRequest[] = [];
  const guard = new DoubleForgingGuard({
    chain: {
      rules: { ...rules, handOver: (_state, _tip, request) => (requests.push(request), OVER) },
      ...{ state: store, tip: { header: tip }, currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
    },
    journal: {
      ...NO_JOURNAL,
      ...{ heldSinceS: () => tip.timestamp + 1, isCopyFor: () => true, recalled: () => recalledOn(tip.id) },
    },
    tipCheck: SURE_TIP,
    riskDoubleForging: false,
  });
  for (const ahead of [0, 101]) guard.clearance(publicKey, slot + ahead);
  t.true(requests.length > 0);
  t.true(requests.every((request) => request.last?.blockId === tip.id));
  t.is(requests[0]?.coveredUntilS, 0);
  t.is(requests.at(-1)?.coveredUntilS, (slot + 1) * params.blockTimeS);
});

test('with riskDoubleForging, a header also follows the blocks of its delegate on the chain', (t) => {
  const { rules, params, store, first: tip } = chainOfTwo(3);
  const publicKey = tip.generatorPublicKey;
  const slot = slotAt(tip.timestamp, params) + 101;
  const previousOf = (journalLast: SignedHeader | undefined): SignedHeader | undefined => {
    const guard = new DoubleForgingGuard({
      chain: {
        ...{ rules, state: store, tip: { header: tip } },
        ...{ currentSlot: () => slot, nowS: () => slot * params.blockTimeS },
      },
      journal: { ...NO_JOURNAL, last: () => journalLast },
      tipCheck: {
        doubt: () => undefined,
        doubtBeforeFirstBlock: () => undefined,
        hasAllDelegates: () => false,
        hasTwoThirds: () => true,
        isTipSurelyNewest: () => false,
      },
      riskDoubleForging: true,
    });
    const clearance = guard.clearance(publicKey, slot);
    return clearance.granted ? clearance.previouslyForged : undefined;
  };
  t.like(previousOf(undefined), { blockId: tip.id, height: 2 });
  t.like(previousOf({ ...last, timestamp: tip.timestamp - 1, height: 9, maxHeightPrevoted: 7 }), {
    ...{ blockId: tip.id, height: 2 },
    ...{ maxHeightPreviouslyForged: 9, maxHeightPrevoted: 7 },
  });
  const newer = { ...last, timestamp: tip.timestamp + 1, maxHeightPreviouslyForged: tip.height };
  t.deepEqual(previousOf(newer), newer);
  // The block of the delegate on the chain is older than the last header in the journal, but on a longer branch. The
  // result still has the slot of the last header, and names the height of the block.
  t.like(previousOf({ ...newer, maxHeightPreviouslyForged: 0 }), {
    ...{ blockId: newer.blockId, timestamp: newer.timestamp, maxHeightPreviouslyForged: tip.height },
  });
});

function afterHandOver(rules: Rules): Rules {
  return rules.params.generation === 3 ? { ...rules, handOver: () => OVER } : rules;
}

function codeOf(clearance: Clearance): string {
  return clearance.granted ? 'granted' : clearance.code;
}

test('a delegate whose network makes no more blocks is told how to end its wait', (t) => {
  const { rules, params, store, first: tip } = chainOfTwo(2);
  const publicKey = tip.generatorPublicKey;
  const tipSlot = slotAt(tip.timestamp, params);
  let slot = tipSlot + 1;
  const guard = new DoubleForgingGuard({
    chain: {
      rules,
      state: store,
      tip: { header: tip },
      currentSlot: () => slot,
      nowS: () => slot * params.blockTimeS,
    },
    journal: { ...NO_JOURNAL, heldSinceS: () => tip.timestamp + 1 },
    tipCheck: {
      doubt: () => undefined,
      doubtBeforeFirstBlock: () => undefined,
      hasAllDelegates: () => false,
      hasTwoThirds: () => true,
      isTipSurelyNewest: () => false,
    },
    riskDoubleForging: false,
  });
  t.like(guard.clearance(publicKey, slot), { granted: false, code: 'FORGING_ELSEWHERE' });
  const first = guard.waiting(publicKey);
  t.notRegex(first?.reason ?? '', /risk-double-forging/);
  t.not(first?.untilS, undefined);
  slot = tipSlot + params.activeDelegates + 1;
  t.notRegex(guard.waiting(publicKey)?.reason ?? '', /risk-double-forging/, 'not yet a round since the start');
  slot += 1;
  const later = guard.waiting(publicKey);
  t.regex(later?.reason ?? '', /; no block of another node has come for a round: .*--risk-double-forging$/);
  t.is(later?.untilS, undefined);
});
