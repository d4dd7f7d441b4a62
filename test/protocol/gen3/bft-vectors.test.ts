import { readFileSync } from 'node:fs';
import test from 'ava';
import { addHeader, bftLimits, emptyBftState, type BftHeader } from '../../../src/protocol/gen3/bft.ts';

interface Vectors {
  readonly runs: readonly {
    readonly title: string;
    readonly delegates: number;
    readonly steps: readonly {
      readonly header: BftHeader & { readonly minHeightActive: number };
      readonly maxPrevoted: number;
      readonly finalized: number;
    }[];
    /**
     * Number of prevotes by height, for each height that has at least one prevote. `precommits` contains the numbers of
     * precommits in the same form.
     */
    readonly prevotes: Readonly<Record<string, number>>;
    readonly precommits: Readonly<Record<string, number>>;
  }[];
}

const { runs } = JSON.parse(readFileSync('test/vectors/gen3/bft.json', 'utf8')) as Vectors;

for (const { title, delegates, steps, prevotes, precommits } of runs) {
  test(`finality vector: ${title}`, (t) => {
    const limits = bftLimits(delegates);
    let bftState = emptyBftState(0);
    for (const { header, maxPrevoted, finalized } of steps) {
      bftState = addHeader(bftState, header, header.minHeightActive, limits);
      t.deepEqual([bftState.maxPrevoted, bftState.finalized], [maxPrevoted, finalized], `height ${header.height}`);
    }
    bftState.generators.forEach((_, index) => {
      const height = bftState.firstHeight + index;
      t.is(bftState.prevotes[index], prevotes[height] ?? 0);
      t.is(bftState.precommits[index], precommits[height] ?? 0);
    });
  });
}
