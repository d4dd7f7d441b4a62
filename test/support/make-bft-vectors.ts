/**
 * Regenerates `test/vectors/gen3/bft.json`: runs of the finality protocol and their results. The results come from the
 * plain model in `bft-model.ts`, not from the implementation.
 * Usage: `node dist/test/support/make-bft-vectors.js > test/vectors/gen3/bft.json`
 */

import { BftModel } from './bft-model.ts';

/**
 * A block by the delegate `forger`. `previous` is the value of `maxHeightPreviouslyForged` in the header; default: the
 * height of the delegate's newest block, or 0.
 */
interface Turn {
  readonly forger: number;
  readonly previous?: number;
}

interface Story {
  readonly title: string;
  readonly delegates: number;
  /** For each delegate, the value of `minHeightActive` in the headers of its blocks; default: 1. */
  readonly activeSince?: Readonly<Record<number, number>>;
  readonly turns: readonly Turn[];
}

const roundRobin = (delegates: number, blocks: number, from = 0): Turn[] =>
  Array.from({ length: blocks }, (_, index) => ({ forger: from + (index % delegates) }));

const STORIES: readonly Story[] = [
  { title: 'four delegates in turn', delegates: 4, turns: roundRobin(4, 16) },
  {
    title: 'one of four delegates is away and returns',
    delegates: 4,
    turns: [...roundRobin(3, 12), { forger: 3 }, ...roundRobin(4, 12)],
  },
  { title: 'too few of seven delegates forge, so nothing is prevoted', delegates: 7, turns: roundRobin(4, 20) },
  {
    title: 'seven delegates whose silence outlasts the window',
    delegates: 7,
    turns: [...roundRobin(7, 14), ...roundRobin(2, 40), ...roundRobin(7, 35)],
  },
  {
    title: 'a new set of delegates takes over',
    delegates: 5,
    activeSince: { 10: 11, 11: 11, 12: 11, 13: 11, 14: 11 },
    turns: [...roundRobin(5, 10), ...roundRobin(5, 20, 10)],
  },
  {
    title: 'two of eleven delegates name a block that is not theirs',
    delegates: 11,
    turns: [...roundRobin(11, 11), { forger: 0, previous: 9 }, { forger: 1, previous: 40 }, ...roundRobin(11, 33, 0)],
  },
];

const runs = STORIES.map(({ title, delegates, activeSince, turns }) => {
  const model = new BftModel(delegates);
  const newest = new Map<number, number>();
  const steps = turns.map(({ forger, previous }, index) => {
    const height = index + 1;
    const header = {
      height,
      generatorPublicKey: String(forger),
      maxHeightPreviouslyForged: previous ?? newest.get(forger) ?? 0,
      maxHeightPrevoted: model.maxPrevoted,
      minHeightActive: activeSince?.[forger] ?? 1,
    };
    newest.set(forger, height);
    model.add(header);
    return { header, maxPrevoted: model.maxPrevoted, finalized: model.finalized };
  });
  return {
    title,
    delegates,
    steps,
    prevotes: Object.fromEntries(model.prevotes),
    precommits: Object.fromEntries(model.precommits),
  };
});

const source =
  'Made by test/support/make-bft-vectors.ts from the plain model in test/support/bft-model.ts. Apache-2.0.';
// One step per line keeps the file readable and its diffs small.
const lines = runs.map((run) => {
  const steps = run.steps.map((step) => `    ${JSON.stringify(step)}`).join(',\n');
  const { steps: _, ...rest } = run;
  return `  ${JSON.stringify(rest).slice(0, -1)},"steps":[\n${steps}\n  ]}`;
});
console.log(`{"source":${JSON.stringify(source)},"runs":[\n${lines.join(',\n')}\n]}`);
