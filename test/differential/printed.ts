/** Prints the result of a target: the totals, and each class (kind) of difference. */

import type { DifferenceClass, Report } from './runner.ts';

const EXAMPLE_CHARACTERS_MAX = 10_000;
const OUTCOME_CHARACTERS_MAX = 2_000;
/**
 * For a known difference, the report prints the beginning of the table row that lists the difference. At most this many
 * characters are printed, which is enough to find the row.
 */
const ROW_CHARACTERS_MAX = 80;

/** @param isEach whether to print examples also for the known differences (`known-differences.ts`) */
export function printReport(report: Report, isEach: boolean): void {
  const { target, cases, accepted, seconds, classes } = report;
  const strange = unlistedOf(report);
  console.log(
    `${target}: ${cases} cases, ${accepted} accepted by the reference, ${seconds.toFixed(1)} s, ${sharesOf(report)}; ` +
      `${classes.length} classes of difference, ${strange.length} of them not listed`,
  );
  for (const each of classes) printClass(each, isEach);
}

export function printClass({ target, name, known, count, example, outcomes }: DifferenceClass, isEach: boolean): void {
  if (known === undefined) console.log(`  ${name} (${count})`);
  else console.log(`  known: ${name} (${count}), row ${rowOf(target, known.reference)}`);
  if (known === undefined || isEach) console.log(`    ${example.slice(0, EXAMPLE_CHARACTERS_MAX)}`);
  if (known !== undefined) return;
  console.log(`    here:  ${textOf(outcomes.ours)}`);
  console.log(`    there: ${textOf(outcomes.reference)}`);
}

function textOf(outcome: unknown): string {
  const text = JSON.stringify(outcome, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return text.slice(0, OUTCOME_CHARACTERS_MAX);
}

export function unlistedOf({ classes }: Report): readonly DifferenceClass[] {
  return classes.filter(({ known }) => known === undefined);
}

/** Returns the page that lists a known difference, and the beginning of the row on this page. */
export function rowOf(target: string, reference: string): string {
  const page = target.includes(', http ') ? 'docs/http/interface-differences.md' : 'docs/protocol/rule-differences.md';
  const isLong = reference.length > ROW_CHARACTERS_MAX;
  return `"${reference.slice(0, ROW_CHARACTERS_MAX)}${isLong ? ' ...' : ''}" of ${page}`;
}

/**
 * Returns the share of cases without a difference, the share of cases with a listed difference, and the number of all
 * other cases.
 */
export function sharesOf({ cases, equal, listed }: Pick<Report, 'cases' | 'equal' | 'listed'>): string {
  const others = cases - equal - listed;
  return `${percentOf(equal, cases)} equal, ${percentOf(listed, cases)} listed (${listed}), ${others} not listed`;
}

function percentOf(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`;
}
