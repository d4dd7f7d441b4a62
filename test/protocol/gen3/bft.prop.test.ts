import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { addHeader, bftLimits, emptyBftState, type BftState } from '../../../src/protocol/gen3/bft.ts';
import { decodeBftState, encodeBftState } from '../../../src/protocol/gen3/bft-state.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { BftModel } from '../../support/bft-model.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';

interface Step {
  /**
   * Index of the delegate that forges the block of this step. If the run has too few delegates for this index, the
   * remainder of the height divided by the number of delegates is the index.
   */
  readonly forger: number;
  /**
   * Selects the value of `maxHeightPreviouslyForged` in the header. The value is the height of the delegate's previous
   * block, 0, a wrong height, or a height that is not below the height of the block.
   */
  readonly memory: 'right' | 'none' | 'wrong' | 'above';
  readonly activeForRounds: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  forger: fc.integer({ min: 0, max: 40 }),
  memory: fc.oneof(
    { weight: 8, arbitrary: fc.constant('right' as const) },
    fc.constantFrom('none' as const, 'wrong' as const, 'above' as const),
  ),
  activeForRounds: fc.integer({ min: 0, max: 12 }),
});

const run = fc.record({
  delegates: fc.constantFrom(1, 2, 4, 5, 7, 11),
  steps: fc.array(step, { minLength: 1, maxLength: 150, size: 'max' }),
});

/** Adds a header for each step to a BFT state and to the simple model (`BftModel`). Calls `look` after each header. */
function play(
  delegates: number,
  steps: readonly Step[],
  look: (bftState: BftState, model: BftModel, headers: readonly BlockHeader[]) => void,
): void {
  const limits = bftLimits(delegates);
  const model = new BftModel(delegates);
  const lastForged = new Map<string, number>();
  const headers: BlockHeader[] = [];
  let bftState = emptyBftState(0);
  steps.forEach(({ forger, memory, activeForRounds }, index) => {
    const height = index + 1;
    const generatorPublicKey = keyNumber(forger < delegates ? forger : height % delegates);
    const previous = lastForged.get(generatorPublicKey) ?? 0;
    const named = { right: previous, none: 0, wrong: Math.floor(height / 2), above: height + (forger % 3) };
    const header = headerWith({
      height,
      generatorPublicKey,
      maxHeightPreviouslyForged: named[memory],
      maxHeightPrevoted: bftState.maxPrevoted,
    });
    // The delegate has been active since the start of the header's round, or since the start of one of the three rounds
    // before it.
    const round = Math.ceil(height / delegates);
    const minHeightActive = Math.max(0, round - 1 - Math.min(activeForRounds, 3)) * delegates + 1;
    lastForged.set(generatorPublicKey, height);
    headers.push(header);
    bftState = addHeader(bftState, header, minHeightActive, limits);
    model.add({ ...header, minHeightActive });
    look(bftState, model, headers);
  });
}

test('votes and heights match the simple model at each block', (t) => {
  fc.assert(
    fc.property(run, ({ delegates, steps }) => {
      play(delegates, steps, (bftState, model) => {
        t.is(bftState.maxPrevoted, model.maxPrevoted);
        t.is(bftState.finalized, model.finalized);
        bftState.generators.forEach((_, index) => {
          const height = bftState.firstHeight + index;
          if (bftState.prevotes[index] !== (model.prevotes.get(height) ?? 0)) t.fail(`prevotes of ${height}`);
          if (bftState.precommits[index] !== (model.precommits.get(height) ?? 0)) t.fail(`precommits of ${height}`);
        });
      });
    }),
    { numRuns: 150 },
  );
});

test('the prevoted and the finalized height never decrease, and finality follows prevotes', (t) => {
  fc.assert(
    fc.property(run, ({ delegates, steps }) => {
      let before = { maxPrevoted: 0, finalized: 0 };
      play(delegates, steps, (bftState, _, headers) => {
        t.true(bftState.maxPrevoted >= before.maxPrevoted && bftState.finalized >= before.finalized);
        t.true(bftState.finalized <= bftState.maxPrevoted && bftState.maxPrevoted <= headers.length);
        before = bftState;
      });
    }),
    { numRuns: 50 },
  );
});

test('a BFT state is read back as it was written', (t) => {
  fc.assert(
    fc.property(run, ({ delegates, steps }) => {
      play(delegates, steps, (bftState, _, headers) => {
        if (headers.length !== steps.length) return;
        t.deepEqual(
          decodeBftState(encodeBftState(bftState), (height) => headers[height - 1]),
          bftState,
        );
      });
    }),
    { numRuns: 100 },
  );
});
