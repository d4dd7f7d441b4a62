import { readFileSync } from 'node:fs';
import test from 'ava';
import { forkStatus } from '../../../src/protocol/gen3/fork-choice.ts';
import type { TipView } from '../../../src/protocol/rules.ts';
import type { ForkStatus } from '../../../src/protocol/verdict.ts';
import { headerWith, keyNumber } from '../../support/fixtures.ts';

interface View {
  readonly id: string;
  readonly height: number;
  readonly previousBlockId: string;
  readonly generator: number;
  readonly maxHeightPrevoted: number;
  readonly timestamp: number;
  /**
   * Time in seconds at which the node received the block from a peer. The member is absent if the node has forged the
   * block, downloaded it in a sync, or loaded it from the store.
   */
  readonly receivedAtS?: number;
}

interface Vectors {
  readonly blockTimeS: number;
  readonly defaults: View;
  readonly cases: readonly {
    readonly title: string;
    readonly tip: Partial<View>;
    readonly received: Partial<View>;
    readonly status: ForkStatus;
  }[];
}

const vectors = JSON.parse(readFileSync('test/vectors/gen3/fork-choice.json', 'utf8')) as Vectors;

/** @param id id of the block, if the vector contains no id for it */
function viewOf(given: Partial<View>, id: string): TipView {
  const { generator, receivedAtS, ...header } = { ...vectors.defaults, id, ...given };
  return {
    header: headerWith({ ...header, generatorPublicKey: keyNumber(generator) }),
    ...(receivedAtS === undefined ? {} : { receivedAtS }),
  };
}

for (const { title, tip, received, status } of vectors.cases) {
  test(`fork choice vector: ${title}`, (t) => {
    t.is(forkStatus(viewOf(tip, 'tip'), viewOf(received, 'rival'), vectors), status);
  });
}

test('the vectors contain each result of the rule', (t) => {
  t.deepEqual([...new Set(vectors.cases.map(({ status }) => status))].sort(), [
    'betterChain',
    'discard',
    'doubleForging',
    'extends',
    'same',
    'tieBreak',
  ]);
});
