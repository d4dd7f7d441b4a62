/**
 * Classes of difference that are known and stay, each with its reason. `docs/protocol/differences.md` lists the same, held to
 * this table by a test.
 */

export interface KnownDifference {
  /** Meets the names that the harness gives to differences (`comparison.ts`). */
  readonly matches: RegExp;
  /** Meets the names of targets; all by default. */
  readonly target?: RegExp;
  readonly reference: string;
  readonly here: string;
  readonly reason: string;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [];

export function knownDifference(target: string, difference: string): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((known) => known.matches.test(difference) && (known.target?.test(target) ?? true));
}
