import { readFileSync } from 'node:fs';
import test from 'ava';
import { addHeader, bftLimits, emptyLedger, type BftHeader } from '../../../src/protocol/gen3/bft.ts';

interface Vectors {
  readonly runs: readonly {
    readonly title: string;
    readonly delegates: number;
    readonly steps: readonly {
      readonly header: BftHeader & { readonly minHeightActive: number };
      readonly maxPrevoted: number;
      readonly finalized: number;
    }[];
    /** Counts by height, for all heights that ever had a vote. */
    readonly prevotes: Readonly<Record<string, number>>;
    readonly precommits: Readonly<Record<string, number>>;
  }[];
}

const { runs } = JSON.parse(readFileSync('test/vectors/gen3/bft.json', 'utf8')) as Vectors;

for (const { title, delegates, steps, prevotes, precommits } of runs) {
  test(`finality vector: ${title}`, (t) => {
    const limits = bftLimits(delegates);
    let ledger = emptyLedger(0);
    for (const { header, maxPrevoted, finalized } of steps) {
      ledger = addHeader(ledger, header, header.minHeightActive, limits);
      t.deepEqual([ledger.maxPrevoted, ledger.finalized], [maxPrevoted, finalized], `height ${header.height}`);
    }
    ledger.generators.forEach((_, index) => {
      const height = ledger.firstHeight + index;
      t.is(ledger.prevotes[index], prevotes[height] ?? 0);
      t.is(ledger.precommits[index], precommits[height] ?? 0);
    });
  });
}
