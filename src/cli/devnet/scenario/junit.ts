/** Writes the results of a scenario in the XML format of JUnit, for continuous integration. */

import type { StepResult } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';

export interface ScenarioOutcome {
  readonly scenario: Scenario;
  readonly results: readonly StepResult[];
  /** Reason why the devnet did not start, or did not run to the end. */
  readonly error?: string;
}

/**
 * Returns one test suite with a test case for each step. Steps without a result are marked as skipped. If there is an
 * `error`, a further test case with the name `devnet` contains the error.
 */
export function junitOf({ scenario, results, error }: ScenarioOutcome): string {
  const { name, steps } = scenario;
  const failures = results.filter(({ failure }) => failure !== undefined).length;
  const tookS = results.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1000;
  const cases = steps.map((step, index) => {
    const result = results[index];
    const head = `    <testcase classname="${escaped(name)}" name="${escaped(`${index + 1} ${step.text}`)}"`;
    if (result === undefined) return `${head} time="0"><skipped/></testcase>`;
    const time = ` time="${result.tookMs / 1000}"`;
    if (result.failure === undefined) return `${head}${time}/>`;
    const message = escaped(`line ${step.line}: ${result.failure}`);
    return `${head}${time}><failure message="${message}"/></testcase>`;
  });
  const whole =
    error === undefined
      ? []
      : [
          `    <testcase classname="${escaped(name)}" name="devnet" time="0"><error message="${escaped(error)}"/></testcase>`,
        ];
  const figures =
    `tests="${cases.length + whole.length}" failures="${failures}" errors="${whole.length}" ` +
    `skipped="${steps.length - results.length}" time="${tookS}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${figures}>`,
    `  <testsuite name="${escaped(name)}" ${figures}>`,
    ...whole,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/**
 * Escapes text for an XML attribute. Tabs and line breaks become spaces. XML forbids the other control characters
 * below U+0020 and a few further characters, even in escaped form, so all these characters become `?`.
 */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/[\t\n\r]/g, ' ');
}
