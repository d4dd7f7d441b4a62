/**
 * Runs many cases on this node and on the reference (lisk-sdk). Keeps the shortest example of each class, that is, of
 * each kind of difference.
 */

import { belowOf } from '../fuzz/mutate.ts';
import { differenceOf, otherReason, type Comparison } from './comparison.ts';
import { knownDifference, type KnownDifference } from './known-differences.ts';
import type { Target } from './target.ts';

export interface DifferenceClass {
  readonly target: string;
  readonly name: string;
  readonly known: KnownDifference | undefined;
  count: number;
  /** The shortest input of all cases that belong to this class (that have this difference). */
  example: string;
  /** Outcomes of this node and of the reference (lisk-sdk) for the example. */
  outcomes: Pick<Comparison, 'ours' | 'reference'>;
}

export interface Report {
  readonly target: string;
  readonly cases: number;
  readonly accepted: number;
  /** Number of cases without a difference. */
  readonly equal: number;
  /** Number of cases with a known difference (`known-differences.ts`). */
  readonly listed: number;
  readonly seconds: number;
  readonly classes: readonly DifferenceClass[];
  /**
   * Classes of inputs that this node and the reference (lisk-sdk) both refuse, but with different first reasons. A run
   * prints such classes only with the flag `--reasons`, and does not count them as differences.
   */
  readonly reasons: readonly DifferenceClass[];
}

/** Maximum number of entries in each of a target's two lists: `classes` and `reasons`. */
const CLASSES_MAX = 200;

/** @param onProgress function that gets the number of finished cases after each case or group of concurrent cases */
export async function runTarget(
  target: Target,
  cases: number,
  seed: number,
  onProgress?: (done: number) => void,
): Promise<Report> {
  const below = belowOf(seed);
  const classes = new Map<string, DifferenceClass>();
  const reasons = new Map<string, DifferenceClass>();
  const startedMs = performance.now();
  let accepted = 0;
  let [equal, listed] = [0, 0];
  for (let done = 0; done < cases;) {
    const atOnce = Math.min(target.concurrency ?? 1, cases - done);
    const comparisons = await Promise.all(Array.from({ length: atOnce }, () => target.compare(below)));
    done += atOnce;
    for (const comparison of comparisons) take(comparison);
    onProgress?.(done);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    target: target.name,
    cases,
    accepted,
    equal,
    listed,
    seconds,
    classes: bySize(classes),
    reasons: bySize(reasons),
  };

  function take(comparison: Comparison): void {
    if (comparison.reference.accepted) accepted += 1;
    const difference = differenceOf(comparison);
    if (difference === undefined) equal += 1;
    else if (count(classes, difference, comparison)) listed += 1;
    const reason = otherReason(comparison);
    if (reason !== undefined) count(reasons, reason, comparison);
  }

  /** @returns whether the difference is known */
  function count(kept: Map<string, DifferenceClass>, name: string, comparison: Comparison): boolean {
    const { input: example, ...outcomes } = comparison;
    const known = knownDifference(target.name, name, example);
    const key = `${known?.reference ?? ''} ${name}`;
    const found = kept.get(key);
    if (found === undefined) {
      if (kept.size < CLASSES_MAX) kept.set(key, { target: target.name, name, known, count: 1, example, outcomes });
    } else {
      found.count += 1;
      if (example.length < found.example.length) Object.assign(found, { example, outcomes });
    }
    return known !== undefined;
  }
}

function bySize(classes: ReadonlyMap<string, DifferenceClass>): DifferenceClass[] {
  return [...classes.values()].sort((a, b) => b.count - a.count);
}
