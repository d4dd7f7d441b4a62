/** Tests the advice in the log of a node whose tip no peer has confirmed. */

import test from 'ava';
import { TipCheck, type PeerTips } from '../../../src/engine/forge/tip-check.ts';
import type { RecalledHeader } from '../../../src/ports/journal.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';
import { ChainMaker } from '../../support/chain-maker.ts';

const NOBODY: PeerTips = {
  tips: [],
  fixed: 0,
  fixedHeard: 0,
  areExpected: true,
  areDialsExpected: true,
  areChosen: false,
  namedTips: [],
};

/**
 * Makes the tip check of a node that has just started. The newest header that its delegate has signed is `signedBeyond`
 * heights above the tip. If `signedBeyond` is 0, the delegate has signed no header.
 */
function node(peerTips: PeerTips, signedBeyond: number, onAsked: (sinceMs: number) => unknown = () => undefined) {
  const maker = new ChainMaker();
  maker.forge();
  maker.forge();
  const { rules, tip } = maker;
  const { epochMs, activeDelegates, blockTimeS } = rules.params;
  const now = { s: tip.timestamp + 600 };
  const [publicKey = ''] = rules.forgers(maker.state, tip.height + 1);
  const last = { ...tip, blockId: '1', height: tip.height + signedBeyond, maxHeightPreviouslyForged: 0 };
  const chain = {
    ...{ rules, state: maker.state, tip: { header: tip }, listen: () => undefined, nowS: () => now.s },
    currentSlot: () => Math.floor(now.s / blockTimeS),
  };
  const setUp = { isCopy: false, areAllEnabled: false, recalled: undefined as RecalledHeader | undefined };
  const tipCheck = new TipCheck({
    chain,
    journal: {
      ...NO_JOURNAL,
      last: (key) => (signedBeyond > 0 && key === publicKey ? last : undefined),
      isCopyFor: () => setUp.isCopy,
      recalled: () => setUp.recalled,
    },
    clock: { nowMs: () => epochMs + now.s * 1000 },
    isEnabled: (key) => setUp.areAllEnabled || key === publicKey,
    peerTips: (sinceMs) => {
      onAsked(sinceMs);
      return peerTips;
    },
  });
  const waitARound = (): void => {
    for (let second = 0; second <= (activeDelegates + 1) * blockTimeS; second += 1) {
      now.s += 1;
      tipCheck.tick();
    }
  };
  const pass = (seconds: number): void => void (now.s += seconds);
  return { tipCheck, waitARound, pass, setUp, tip, firstBlockId: maker.state.header(2)?.id ?? '' };
}

for (const [what, peerTips, signedBeyond, safe] of [
  ['without a peer', NOBODY, 0, /see `bloomery peers` and connect a peer/],
  [
    'that has lost blocks',
    { ...NOBODY, tips: [{ height: 2, maxHeightPrevoted: 0 }] },
    5,
    /from peers or from a newer backup/,
  ],
] as const) {
  test(`the log of a node ${what} names the safe remedy first, and the unsafe flag only after a round`, (t) => {
    const { tipCheck, waitARound } = node(peerTips, signedBeyond);
    const reason = tipCheck.doubt()?.reason ?? '';
    t.regex(reason, safe);
    t.notRegex(reason, /risk-double-forging/);
    waitARound();
    t.regex(tipCheck.doubt()?.reason ?? '', new RegExp(`${safe.source}; if .*--risk-double-forging`));
  });
}

test('before the first block, an expected peer must have reported its tip, and no peer may be ahead', (t) => {
  const { tip } = node(NOBODY, 0);
  const heard: PeerTips = { ...NOBODY, tips: [tip], areChosen: true };
  const after = (peerTips: PeerTips, isLate = false, settleS = 6): string | undefined => {
    const { tipCheck, waitARound, pass } = node(peerTips, 0);
    if (isLate) waitARound();
    else pass(settleS);
    return tipCheck.doubtBeforeFirstBlock()?.reason;
  };
  t.regex(after(NOBODY, true) ?? '', /no peer that it dialled has reported its tip yet/);
  t.is(after({ ...NOBODY, areDialsExpected: false }), undefined);
  t.is(after({ ...heard, areDialsExpected: false, areChosen: false }), undefined, 'a seed with inbound peers alone');
  t.is(after(heard), undefined);
  t.regex(after(heard, false, 1) ?? '', /^0 of 0 fixed peers/, 'further peers may connect');
  t.regex(after({ ...heard, areChosen: false }, true) ?? '', /no peer that it dialled/, 'only strangers');
  t.regex(after({ ...heard, fixed: 3, fixedHeard: 1 }) ?? '', /^1 of 3 fixed peers have reported their tip/);
  t.is(after({ ...heard, fixed: 3, fixedHeard: 1 }, true), undefined);
  t.is(after({ ...heard, fixed: 3, fixedHeard: 3 }, false, 0), undefined);
  const tips = [tip, tip, { ...tip, height: tip.height + 1 }];
  const isAhead = { ...heard, tips, namedTips: tips.slice(1) };
  t.regex(after(isAhead, true) ?? '', /^1 peers have a longer chain/);
  const dialledAhead = { ...isAhead, namedTips: [tip] };
  t.regex(after(dialledAhead) ?? '', /^1 peers have a longer chain/);
  t.is(after(dialledAhead, true), undefined, 'a stranger that announced its address, and that this node dialled');
  const strangerAhead = { ...isAhead, areDialsExpected: false, areChosen: false, namedTips: [] };
  t.regex(after(strangerAhead) ?? '', /^1 peers have a longer chain/);
  t.is(after(strangerAhead, true), undefined, 'a stranger that does not send its chain');
  t.regex(after({ ...isAhead, areChosen: false, namedTips: [] }, true) ?? '', /no peer that it dialled/);
  const lost = node(heard, 5);
  t.regex(lost.tipCheck.doubtBeforeFirstBlock()?.reason ?? '', /its delegates have signed block.*a newer backup$/);
  lost.waitARound();
  t.regex(
    lost.tipCheck.doubtBeforeFirstBlock()?.reason ?? '',
    /a newer backup; if .*--risk-double-forging waives this$/,
  );
  const withAll = (peerTips: PeerTips): ReturnType<typeof node> => {
    const its = node(peerTips, 0);
    its.setUp.areAllEnabled = true;
    return its;
  };
  t.is(withAll(NOBODY).tipCheck.doubtBeforeFirstBlock(), undefined, 'all delegates are on this node');
  for (const [peerTips, lasts] of [
    [isAhead, true],
    [dialledAhead, false],
    [strangerAhead, false],
  ] as const) {
    const { tipCheck, waitARound } = withAll(peerTips);
    t.regex(tipCheck.doubtBeforeFirstBlock()?.reason ?? '', /^1 peers have a longer chain/);
    waitARound();
    t.is(tipCheck.doubtBeforeFirstBlock() !== undefined, lasts);
  }
});

test('a node has all delegates if those of the round of the next block are enabled', (t) => {
  const { rules, state, tip } = new ChainMaker();
  const tipCheck = new TipCheck({
    chain: {
      rules: { ...rules, forgers: (_state, height) => (height === tip.height + 1 ? ['a', 'b'] : ['c']) },
      ...{ state, tip: { header: tip }, listen: () => undefined, nowS: () => 0, currentSlot: () => 0 },
    },
    journal: NO_JOURNAL,
    clock: { nowMs: () => 0 },
    isEnabled: (key) => key !== 'c',
    peerTips: () => NOBODY,
  });
  t.true(tipCheck.hasAllDelegates());
});

test('a node has two thirds of the delegates by the round of the next block', (t) => {
  const { rules, state, tip } = new ChainMaker();
  for (const [forgers, waits, isExpected] of [
    [['a', 'b', 'c'], '', true],
    [['a', 'b', 'c'], 'b', false],
    [['a', 'c', 'd'], '', false],
    [['a', 'b', 'c', 'd'], '', false],
  ] as const) {
    const tipCheck = new TipCheck({
      chain: {
        rules: { ...rules, forgers: (_state, height) => (height === tip.height + 1 ? forgers : ['a']) },
        ...{ state, tip: { header: tip }, listen: () => undefined, nowS: () => 0, currentSlot: () => 0 },
      },
      journal: NO_JOURNAL,
      clock: { nowMs: () => 0 },
      isEnabled: (key) => key === 'a' || key === 'b',
      peerTips: () => NOBODY,
    });
    t.is(
      tipCheck.hasTwoThirds((key) => key !== waits),
      isExpected,
      `${forgers}`,
    );
  }
});

test('before the first block, connections from before a stall do not count at first', (t) => {
  const sinceMs: number[] = [];
  const { tipCheck, pass } = node(NOBODY, 0, (since) => sinceMs.push(since));
  tipCheck.tick();
  pass(60);
  tipCheck.tick();
  tipCheck.doubtBeforeFirstBlock();
  t.true(Number.isFinite(sinceMs.at(-1)));
});

for (const isCopy of [false, true])
  test(`a delegate without a header ${isCopy ? 'from a copy may have' : 'has'} signed nothing above the tip`, (t) => {
    const { tipCheck, setUp } = node(NOBODY, 0);
    Object.assign(setUp, { isCopy, areAllEnabled: true });
    t.is(tipCheck.isTipSurelyNewest(), !isCopy);
  });

test('the header in the watermark of this chain counts as known, and shows lost blocks', (t) => {
  const { tipCheck, setUp, tip, firstBlockId } = node(NOBODY, 0);
  const last = { ...tip, blockId: tip.id, maxHeightPreviouslyForged: 0 };
  Object.assign(setUp, { isCopy: true, areAllEnabled: true, recalled: { last, firstBlockId } });
  t.true(tipCheck.isTipSurelyNewest());
  t.is(tipCheck.doubt(), undefined);
  Object.assign(setUp, { recalled: { last: { ...last, blockId: '1' }, firstBlockId: 'other' } });
  t.false(tipCheck.isTipSurelyNewest(), 'the watermark is of another chain');
  const lost = node(NOBODY, 0);
  const height = tip.height + 5;
  lost.setUp.recalled = { last: { ...last, blockId: '1', height }, firstBlockId: lost.firstBlockId };
  t.regex(lost.tipCheck.doubt()?.reason ?? '', new RegExp(`its delegates have signed block ${height}:`));
});

test('the log of a node with lost blocks names no unsafe flag before its known peers have answered', (t) => {
  const { tipCheck, waitARound } = node(NOBODY, 5);
  waitARound();
  t.regex(tipCheck.doubt()?.reason ?? '', /newer backup$/);
});
