/** Decisions of the node as the dashboard lists them: what is decided again and again takes one line. */

import type { Decision } from './answers.ts';

/** The latest of several of one kind in a row, and those before it, newest first. */
export interface Run {
  readonly latest: Decision;
  readonly earlier: readonly Decision[];
}

/** @param decisions newest first */
export function runsOf(decisions: readonly Decision[]): readonly Run[] {
  const runs: { latest: Decision; earlier: Decision[] }[] = [];
  for (const decision of decisions) {
    const run = runs.at(-1);
    if (run !== undefined && isLike(run.latest, decision)) run.earlier.push(decision);
    else runs.push({ latest: decision, earlier: [] });
  }
  return runs;
}

function isLike(a: Decision, b: Decision): boolean {
  return a.module === b.module && a.code === b.code && a.message === b.message;
}
