import test from 'ava';
import { contradictionOf } from '../../../src/protocol/gen3/bft.ts';
import type { HandOverRequest, SignedHeader } from '../../../src/protocol/rules.ts';
import { ChainMaker, makeNetwork, publicKeyOf, type TestNetwork } from '../../support/chain-maker.ts';

function grown(height: number, missedSlots = 0): ChainMaker {
  const maker = new ChainMaker(makeNetwork());
  maker.growTo(20);
  if (missedSlots > 0) maker.forge({ missedSlots });
  maker.growTo(height);
  return maker;
}

function delegateOf({ delegates }: TestNetwork, index: number): string {
  const keyPair = delegates[index];
  if (keyPair === undefined) throw new Error(`no delegate ${index}`);
  return publicKeyOf(keyPair);
}

function ask(maker: ChainMaker, changes: Partial<HandOverRequest>) {
  const publicKey = delegateOf(maker.network, 0);
  return maker.rules.handOver(maker.state, maker.tip, {
    publicKey,
    sinceS: 0,
    last: undefined,
    nowS: maker.tip.timestamp,
    isWaitNeedless: false,
    hasMadeAllBlocks: false,
    coveredUntilS: 0,
    ...changes,
  });
}

test('until a block after the last possible signature is final, the answer is to wait, with an estimate', (t) => {
  const maker = grown(260);
  const finalized = maker.state.header(maker.rules.finalizedHeight(maker.state));
  t.true(finalized !== undefined && finalized.height > 20);
  const finalizedS = finalized?.timestamp ?? 0;
  const early = ask(maker, { sinceS: finalizedS });
  t.false(early.ready);
  if (!early.ready) t.true((early.untilS ?? 0) > maker.tip.timestamp, `${early.untilS}`);
  const late = ask(maker, { sinceS: maker.tip.timestamp });
  t.false(late.ready);
  const { blockTimeS } = maker.network.params;
  if (!late.ready) t.is(late.untilS, 2 * maker.tip.timestamp - finalizedS + blockTimeS);
  t.true(ask(maker, { sinceS: finalizedS - 1 }).ready);
});

test('without a possible header above the final block there is no wait, and the header names what another branch could reach', (t) => {
  for (const [height, missedSlots] of [
    [260, 0],
    [260, 7],
    [40, 0],
    [40, 7],
  ] as const) {
    const maker = grown(height, missedSlots);
    const { blockTimeS } = maker.network.params;
    // The time `sinceS` is in the fourth slot after the slot of the tip. Until `sinceS`, another node whose clock is
    // ahead can have signed for the fifth slot, too. The expected height therefore counts five slots after the tip.
    const sinceS = maker.tip.timestamp + 5 * blockTimeS - 1;
    const over = ask(maker, { sinceS, isWaitNeedless: true });
    t.true(over.ready);
    if (!over.ready) return;
    t.is(over.previouslyForged?.maxHeightPreviouslyForged, height + missedSlots + 5);
    t.is(over.previouslyForged?.height, 0);
  }
});

test('a new delegate from before the first forged block names the slots that another node may have used', (t) => {
  const maker = grown(10);
  const { blockTimeS } = maker.network.params;
  const first = maker.state.header(2)!;
  const isNew = [...maker.network.delegates].find(
    (each) =>
      ![2, 3, 4, 5, 6, 7, 8, 9, 10].some((at) => maker.state.header(at)?.generatorPublicKey === publicKeyOf(each)),
  )!;
  const named = (sinceS: number): number | undefined => {
    const over = ask(maker, { publicKey: publicKeyOf(isNew), sinceS });
    return over.ready ? (over.previouslyForged?.maxHeightPreviouslyForged ?? 0) : undefined;
  };
  t.is(named(first.timestamp - 2 * blockTimeS), 0);
  t.is(
    named(first.timestamp - blockTimeS),
    2,
    'it may have used the slot of the first block, by a clock that is ahead',
  );
  t.is(named(first.timestamp + blockTimeS - 1), 3);
  t.is(named(first.timestamp + blockTimeS), undefined, 'it waits');
});

test('on a young chain, a delegate that signs late names the height at the end of its wait, not at the tip', (t) => {
  const maker = grown(20);
  const { blockTimeS } = maker.network.params;
  const sinceS = maker.tip.timestamp;
  // Finality usually takes 136 slots. No block is final yet, because few delegates have forged.
  const named = (slots: number): unknown => {
    const tip = { ...maker.tip, timestamp: sinceS + slots * blockTimeS };
    const over = maker.rules.handOver(maker.state, tip, {
      ...{ publicKey: delegateOf(maker.network, 0), sinceS, last: undefined, nowS: tip.timestamp },
      ...{ isWaitNeedless: false, hasMadeAllBlocks: false, coveredUntilS: 0 },
    });
    return over.ready ? over.previouslyForged?.maxHeightPreviouslyForged : undefined;
  };
  t.is(named(135), undefined);
  t.deepEqual([136, 150, 1000].map(named), [156, 156, 156]);
});

test('on a young chain, a header also covers the time until which another node may have signed unseen', (t) => {
  const maker = grown(40);
  const { blockTimeS } = maker.network.params;
  const sinceS = maker.tip.timestamp;
  const named = (slots: number): unknown => {
    const over = ask(maker, { sinceS, isWaitNeedless: true, coveredUntilS: sinceS + slots * blockTimeS });
    return over.ready ? over.previouslyForged?.maxHeightPreviouslyForged : undefined;
  };
  t.deepEqual([-100, 0, 30].map(named), [41, 41, 70]);
});

test('on an old chain, a header also covers the slot in which another node may have signed unseen', (t) => {
  const maker = grown(260);
  const { blockTimeS } = maker.network.params;
  const finalizedHeight = maker.rules.finalizedHeight(maker.state);
  const finalizedS = maker.state.header(finalizedHeight)?.timestamp ?? 0;
  const named = (slots: number): unknown => {
    const coveredUntilS = slots === 0 ? 0 : finalizedS + slots * blockTimeS;
    const over = ask(maker, { sinceS: finalizedS - 1, coveredUntilS });
    return over.ready ? over.previouslyForged?.maxHeightPreviouslyForged : undefined;
  };
  const least = named(0);
  t.true(typeof least === 'number' && least < finalizedHeight + 60);
  t.deepEqual([60, 150].map(named), [finalizedHeight + 60, finalizedHeight + 150]);
});

test('on a young chain of which this node made all blocks, a header names the height of the tip', (t) => {
  const maker = grown(40, 7);
  const sinceS = maker.tip.timestamp + 1000 * maker.network.params.blockTimeS;
  const over = ask(maker, { sinceS, isWaitNeedless: true, hasMadeAllBlocks: true });
  t.is(over.ready ? over.previouslyForged?.maxHeightPreviouslyForged : undefined, 40);
});

test('on a chain without final blocks the estimate counts from now, not from the epoch', (t) => {
  const maker = grown(40);
  const { blockTimeS } = maker.network.params;
  t.is(maker.rules.finalizedHeight(maker.state) < 2, true);
  const sinceS = maker.tip.timestamp;
  const over = ask(maker, { sinceS });
  t.false(over.ready);
  const untilS = over.ready ? 0 : (over.untilS ?? 0);
  t.true(untilS > sinceS + 100 * blockTimeS && untilS < sinceS + 202 * blockTimeS);
});

test('while finality is stalled, the answer gives the cause instead of an estimate', (t) => {
  const maker = grown(260);
  maker.forge({ missedSlots: 500 });
  const over = ask(maker, { sinceS: maker.tip.timestamp });
  t.false(over.ready);
  if (over.ready) return;
  t.is(over.untilS, undefined);
  t.regex(
    over.reason,
    /^no block became final for \d+ (h|min) [^,]+, .* import their signing records, or skip the wait with --risk-double-forging$/,
  );
});

test('when the chain is stalled, the answer gives no time in the past', (t) => {
  for (const maker of [grown(40), grown(260)]) {
    const sinceS = maker.tip.timestamp;
    const before = ask(maker, { sinceS });
    const untilS = before.ready ? 0 : (before.untilS ?? 0);
    t.true(untilS > sinceS);
    const over = ask(maker, { sinceS, nowS: untilS + 1 });
    t.false(over.ready);
    if (over.ready) return;
    t.is(over.untilS, undefined);
    t.regex(
      over.reason,
      /no block has arrived since height \d+; .*: import their signing records, or skip the wait with --risk/,
    );
  }
});

test("the answer's height is above the final block by the number of missed slots", (t) => {
  for (const missed of [0, 7]) {
    const maker = grown(260, missed);
    const finalized = maker.rules.finalizedHeight(maker.state);
    const over = ask(maker, { publicKey: 'ab'.repeat(32) });
    if (!over.ready) return t.fail(over.reason);
    t.is(over.previouslyForged?.maxHeightPreviouslyForged, finalized + missed);
  }
  return undefined;
});

test('a greater height from the chain or the journal is used instead', (t) => {
  const maker = grown(303);
  const newest = maker.tip;
  const over = ask(maker, { publicKey: newest.generatorPublicKey });
  t.true(over.ready && over.previouslyForged?.maxHeightPreviouslyForged === newest.height);
  const last: SignedHeader = {
    blockId: 'elsewhere',
    height: 290,
    timestamp: 5,
    maxHeightPrevoted: 10,
    maxHeightPreviouslyForged: 900,
  };
  const higher = ask(maker, { publicKey: 'ab'.repeat(32), last });
  t.true(higher.ready && higher.previouslyForged?.maxHeightPreviouslyForged === 900);
});

test('the delegate waits while the chain is below the height or prevoted height of its journal', (t) => {
  const maker = grown(260);
  const prevoted = maker.rules.maxHeightPrevoted(maker.state);
  const last: SignedHeader = {
    blockId: 'elsewhere',
    height: 400,
    timestamp: 5,
    maxHeightPrevoted: prevoted,
    maxHeightPreviouslyForged: 0,
  };
  t.false(ask(maker, { last }).ready);
  t.false(ask(maker, { last: { ...last, height: 250, maxHeightPrevoted: prevoted + 1 } }).ready);
  t.true(ask(maker, { last: { ...last, height: 250 } }).ready);
});

test('the next forged header contradicts no header that the delegate signed', (t) => {
  const maker = grown(305);
  const { keyPair } = maker.nextSlot();
  const publicKey = publicKeyOf(keyPair);
  const over = ask(maker, { publicKey });
  if (!over.ready || over.previouslyForged === undefined) return t.fail('not ready');
  const block = maker.build({ previouslyForged: over.previouslyForged });
  t.is(block.maxHeightPreviouslyForged, over.previouslyForged.maxHeightPreviouslyForged);
  for (let height = 2; height <= maker.tip.height; height += 1) {
    const header = maker.state.header(height);
    if (header?.generatorPublicKey === publicKey) t.is(contradictionOf(header, block), undefined);
  }
  maker.apply(block);
  t.is(maker.tip.id, block.id);
  return undefined;
});

test('generation 2 does not wait, because its own record suffices', (t) => {
  const maker = new ChainMaker(makeNetwork({ generation: 2, delegateListRoundOffset: 0 }));
  maker.growTo(5);
  t.deepEqual(ask(maker, { sinceS: 1e9 }), { ready: true, previouslyForged: undefined });
});
