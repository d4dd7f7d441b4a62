/**
 * Prepares the node's diagnostics for the dashboard. Consecutive diagnostics with the same module, code and message
 * share one line.
 */

import type { Diagnostic } from './answers.ts';

/**
 * Consecutive diagnostics with the same module, code and message. `latest` is the newest of these diagnostics.
 * `earlier` contains all others, newest first.
 */
export interface Run {
  readonly latest: Diagnostic;
  readonly earlier: readonly Diagnostic[];
}

/** @param diagnostics newest first */
export function runsOf(diagnostics: readonly Diagnostic[]): readonly Run[] {
  const runs: { latest: Diagnostic; earlier: Diagnostic[] }[] = [];
  for (const diagnostic of diagnostics) {
    const run = runs.at(-1);
    if (run !== undefined && isLike(run.latest, diagnostic)) run.earlier.push(diagnostic);
    else runs.push({ latest: diagnostic, earlier: [] });
  }
  return runs;
}

function isLike(a: Diagnostic, b: Diagnostic): boolean {
  return a.module === b.module && a.code === b.code && a.message === b.message;
}
