import test from 'ava';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rowsOf } from '../docs/tables.ts';
import { differenceOf, outcomeOf, otherReason } from './comparison.ts';
import { KNOWN_DIFFERENCES } from './known-differences.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { runTarget } from './runner.ts';
import { targetsOf } from './targets.ts';

/** Fixed seed, so that each run of this test has the same cases. `npm run differential` uses new cases in each run. */
const SEED = 3_000_002;
const CASES = 700;

for (const generation of [2, 3] as const) {
  test(`generation ${generation} accepts and refuses the same blocks as the reference's packages, and leaves the same accounts`, async (t) => {
    t.timeout(600_000);
    const reference = referencePackage(generation);
    for (const target of targetsOf({ package: reference, handlers: doubleOf(reference) })) {
      const cases = Math.ceil(CASES * (target.weight ?? 1));
      const { classes, accepted } = await runTarget(target, cases, SEED);
      const strange = classes.filter(({ known }) => known === undefined);
      t.deepEqual(
        strange.map(({ name, example }) => `${target.name}: ${name}: ${example}`),
        [],
      );
      // If this node and the reference (lisk-sdk) refused all cases, the comparison would prove nothing.
      t.true(accepted > cases / 20, `${target.name}: ${accepted} of ${cases} accepted`);
    }
  });
}

test('the harness reports a difference in the verdict, in the resulting state and in the reason', async (t) => {
  const [one, other] = [{ accounts: { a: { balance: '1' } } }, { accounts: { a: { balance: '2' } } }];
  const accepts = await outcomeOf(() => one);
  const refuses = await outcomeOf(() => {
    throw new Error('Invalid fee 10000000');
  });
  const input = '';
  t.is(differenceOf({ input, ours: accepts, reference: refuses }), 'accepted here, refused there: Invalid fee #');
  t.is(differenceOf({ input, ours: refuses, reference: accepts }), 'refused here, accepted there: Invalid fee #');
  const otherwise = { accepted: true, result: other } as const;
  t.is(
    differenceOf({ input, ours: accepts, reference: otherwise }),
    'both accept, another result at .accounts.a.balance',
  );
  t.is(differenceOf({ input, ours: accepts, reference: accepts }), undefined);
  const why = { accepted: false, why: 'Invalid id' } as const;
  t.is(otherReason({ input, ours: refuses, reference: why }), 'both refuse, here: Invalid fee #; there: Invalid id');
});

test('the page of differences lists each known difference with its reason, and no other', (t) => {
  const file = fileURLToPath(new URL('../../../docs/protocol/rule-differences.md', import.meta.url));
  const [, section = ''] = readFileSync(file, 'utf8').split('## Blocks and transactions');
  t.deepEqual(
    rowsOf(section.split('### ')[0] ?? ''),
    KNOWN_DIFFERENCES.map(({ reference, here, reason }) => `| ${reference} | ${here} | ${reason} |`),
  );
});
