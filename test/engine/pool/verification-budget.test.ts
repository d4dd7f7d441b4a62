import test from 'ava';
import { VerificationBudget, type BudgetGroup } from '../../../src/engine/pool/verification-budget.ts';

/** A budget whose clock and costs the test controls. */
function setUpBudget() {
  const time = { nowMs: 1_000_000, spentMs: 0 };
  const budget = new VerificationBudget({ clock: { nowMs: () => time.nowMs }, spentMs: () => time.spentMs });
  /**
   * Requests work of the given cost until the budget refuses, at most `times` times. Returns the number of accepted
   * requests.
   */
  const use = (
    address: string,
    costMs: number,
    times = 1_000,
    group: BudgetGroup = 'peers',
    isUseful = true,
  ): number => {
    const payer = budget.payer(address, group);
    let done = 0;
    while (done < times && payer.mayAsk()) {
      payer.charge(() => (time.spentMs += costMs));
      done += 1;
      if (isUseful) payer.wasUseful();
    }
    return done;
  };
  return { time, budget, use };
}

test('an address has a budget at once, and then the refill over time', (t) => {
  const { time, use } = setUpBudget();
  t.is(use('1.1.1.1', 20), 10);
  time.nowMs += 1_000;
  t.is(use('1.1.1.1', 10), 5);
  time.nowMs += 3_600_000;
  t.is(use('1.1.1.1', 20), 10, 'what is not used does not pile up');
});

test('work that overdraws the budget is paid back before the next work', (t) => {
  const { time, use } = setUpBudget();
  t.is(use('1.1.1.1', 199), 2);
  time.nowMs += 3_000;
  t.is(use('1.1.1.1', 1), 0);
  time.nowMs += 2_000;
  t.true(use('1.1.1.1', 1) > 0);
});

test('all addresses of a group together get no more than the share of strangers', (t) => {
  const { time, use } = setUpBudget();
  const durationS = 60;
  for (let tick = 0; tick < durationS * 10; tick += 1) {
    for (let source = 0; source < 40; source += 1) use(`1.1.${tick}.${source}`, 5, 3);
    time.nowMs += 100;
  }
  t.true(time.spentMs <= 300 + durationS * 100 + 5, `${time.spentMs} ms`);
  t.true(time.spentMs >= durationS * 100, 'and no less');
});

test('when strangers want more than the share, the one that used least comes first', (t) => {
  const { time, use } = setUpBudget();
  let honest = 0;
  for (let tick = 0; tick < 600; tick += 1) {
    for (let source = 0; source < 99; source += 1) use(`9.9.9.${source}`, 5);
    // The 99 greedy addresses and the honest address share the budget of the group `peers`. The honest address sends
    // one transaction every three seconds. Without fairness, the greedy addresses would use up this budget.
    if (tick % 30 === 29) honest += use('2.2.2.2', 1.3, 1);
    time.nowMs += 100;
  }
  t.true(honest >= 16, `${honest} of 20`);
});

test('strangers do not use up the budget of named peers, clients or local programs', (t) => {
  const { use } = setUpBudget();
  for (let source = 0; source < 100; source += 1) use(`1.1.1.${source}`, 5);
  t.is(use('2.2.2.2', 5, 1), 0);
  for (const group of ['namedPeers', 'clients', 'localClients'] as const) t.is(use(`of ${group}`, 5, 1, group), 1);
});

test('an address whose work was costly and useless counts as wasteful for a while', (t) => {
  const { time, budget, use } = setUpBudget();
  const waste = (address: string, times?: number): number => use(address, 20, times, 'peers', false);
  t.is(waste('2.2.2.2', 4), 4);
  t.false(budget.isWasteful('2.2.2.2'), 'a few corrupted copies come from anybody');
  t.is(waste('2.2.2.2'), 1);
  t.true(budget.isWasteful('2.2.2.2'));
  time.nowMs += 50_000;
  t.false(budget.isWasteful('2.2.2.2'), 'it is long ago');
  t.is(waste('2.2.2.2'), 5);
  budget.payer('2.2.2.2', 'peers').wasUseful();
  t.false(budget.isWasteful('2.2.2.2'));
  t.false(budget.isWasteful('4.4.4.4'), 'who never asked');
});

test('in a group of addresses, each address that sends only junk is detected separately', (t) => {
  const { time, budget, use } = setUpBudget();
  for (let tick = 0; tick < 100; tick += 1) {
    for (let source = 0; source < 5; source += 1) use(`1.1.1.${source}`, 5, 1_000, 'peers', false);
    time.nowMs += 220;
  }
  for (let source = 0; source < 5; source += 1) t.true(budget.isWasteful(`1.1.1.${source}`));
  t.true(time.spentMs <= 5 * (100 + 22 * 2 + 5), `${time.spentMs} ms`);
});

test('a clock that was set back does not stop the refill of budgets', (t) => {
  const { time, use } = setUpBudget();
  use('1.1.1.1', 20);
  time.nowMs -= 3_600_000;
  t.is(use('1.1.1.1', 10), 0);
  time.nowMs += 1_000;
  t.is(use('1.1.1.1', 10), 5);
});
