import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { addHeader, bftLimits, emptyLedger, type BftLedger } from '../../../src/protocol/gen3/bft.ts';
import { decodeLedger, encodeLedger } from '../../../src/protocol/gen3/ledger.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import { BftModel } from '../../support/bft-model.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';

interface Step {
  /** Index of the delegate that forges. If no delegate has this index, the height selects the delegate. */
  readonly forger: number;
  /**
   * Value of `maxHeightPreviouslyForged`: the right height, 0, a wrong height, or a height that is not below the block.
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

/** Calls `look` after each block of the run. */
function play(
  delegates: number,
  steps: readonly Step[],
  look: (ledger: BftLedger, model: BftModel, headers: readonly BlockHeader[]) => void,
): void {
  const limits = bftLimits(delegates);
  const model = new BftModel(delegates);
  const lastForged = new Map<string, number>();
  const headers: BlockHeader[] = [];
  let ledger = emptyLedger(0);
  steps.forEach(({ forger, memory, activeForRounds }, index) => {
    const height = index + 1;
    const generatorPublicKey = keyNumber(forger < delegates ? forger : height % delegates);
    const previous = lastForged.get(generatorPublicKey) ?? 0;
    const named = { right: previous, none: 0, wrong: Math.floor(height / 2), above: height + (forger % 3) };
    const header = headerWith({
      height,
      generatorPublicKey,
      maxHeightPreviouslyForged: named[memory],
      maxHeightPrevoted: ledger.maxPrevoted,
    });
    // The delegate has been active since the start of the present round or of one of the three rounds before it.
    const round = Math.ceil(height / delegates);
    const minHeightActive = Math.max(0, round - 1 - Math.min(activeForRounds, 3)) * delegates + 1;
    lastForged.set(generatorPublicKey, height);
    headers.push(header);
    ledger = addHeader(ledger, header, minHeightActive, limits);
    model.add({ ...header, minHeightActive });
    look(ledger, model, headers);
  });
}

test('votes and heights match the simple model at each block', (t) => {
  fc.assert(
    fc.property(run, ({ delegates, steps }) => {
      play(delegates, steps, (ledger, model) => {
        t.is(ledger.maxPrevoted, model.maxPrevoted);
        t.is(ledger.finalized, model.finalized);
        ledger.generators.forEach((_, index) => {
          const height = ledger.firstHeight + index;
          if (ledger.prevotes[index] !== (model.prevotes.get(height) ?? 0)) t.fail(`prevotes of ${height}`);
          if (ledger.precommits[index] !== (model.precommits.get(height) ?? 0)) t.fail(`precommits of ${height}`);
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
      play(delegates, steps, (ledger, _, headers) => {
        t.true(ledger.maxPrevoted >= before.maxPrevoted && ledger.finalized >= before.finalized);
        t.true(ledger.finalized <= ledger.maxPrevoted && ledger.maxPrevoted <= headers.length);
        before = ledger;
      });
    }),
    { numRuns: 50 },
  );
});

test('a ledger is read back as it was written', (t) => {
  fc.assert(
    fc.property(run, ({ delegates, steps }) => {
      play(delegates, steps, (ledger, _, headers) => {
        if (headers.length !== steps.length) return;
        t.deepEqual(
          decodeLedger(encodeLedger(ledger), (height) => headers[height - 1]),
          ledger,
        );
      });
    }),
    { numRuns: 100 },
  );
});
