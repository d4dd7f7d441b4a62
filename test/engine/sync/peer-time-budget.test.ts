import test from 'ava';
import { PeerTimeBudget } from '../../../src/engine/sync/peer-time-budget.ts';

function setUpBudget() {
  let nowMs = 0;
  const budget = new PeerTimeBudget({ nowMs: () => nowMs });
  /** Delivers an answer with `count` blocks after `tookMs` milliseconds. */
  const give = async (count: number, tookMs: number): Promise<void> => {
    const answer = Promise.resolve().then(() => {
      nowMs += tookMs;
    });
    await budget.during(answer);
    budget.reward(Array.from({ length: count }, () => ({ transactions: [] })));
  };
  return { budget, give };
}

test('a peer may take ten seconds for each full answer, any number of times', async (t) => {
  const { budget, give } = setUpBudget();
  for (let answers = 0; answers < 1000; answers += 1) await give(34, 10_000);
  t.is(budget.waitedMs, 10_000_000);
});

test('a peer that sends single blocks, each as late as allowed, is dropped', async (t) => {
  const { budget, give } = setUpBudget();
  await give(1, 9_900);
  const error = await t.throwsAsync(give(1, 9_900));
  t.like(error, { code: 'SYNC_TOO_SLOW' });
  t.is(budget.waitedMs, 19_800);
});

test('a peer that was fast for a hundred thousand blocks gets no longer wait afterwards', async (t) => {
  const { budget, give } = setUpBudget();
  for (let given = 0; given < 100_000; given += 34) await give(34, 20);
  const quickMs = budget.waitedMs;
  const crawl = async (): Promise<void> => {
    for (let late = 0; late < 1000; late += 1) await give(1, 9_900);
  };
  const error = await t.throwsAsync(crawl());
  t.like(error, { code: 'SYNC_TOO_SLOW' });
  t.true(budget.waitedMs - quickMs < 120_000);
});
