/**
 * Runs the queries of the dashboard docs/deploy/grafana-analytics.json, with example values for the inputs that users
 * choose in Grafana.
 */

import { messageOf } from '../../src/primitives/errors.ts';
import { panelOf, sentSql, VARIABLE_QUERIES, type PanelInput } from '../deploy/grafana-analytics.ts';
import type { Engine } from './engines.ts';
import { exampleValues, questionsOfGuide, type ExampleValues } from './questions.ts';

export interface AskedPanels {
  readonly asked: number;
  /**
   * Texts about each panel whose query failed, or did not return the rows of the matching query of
   * docs/guides/analytics.md. Also texts about each dashboard variable whose query failed or returned no row.
   */
  readonly differences: readonly string[];
}

/** @param answers rows of each query of docs/guides/analytics.md as JSON, by title of the query */
export async function askPanels(engine: Engine, answers: ReadonlyMap<string, string>): Promise<AskedPanels> {
  const asked = await engine.ask();
  const differences: string[] = [];
  let count = 0;
  const rowsOf = async (title: string, sql: string): Promise<readonly object[]> => {
    count += 1;
    try {
      return await asked.rows(sql);
    } catch (error) {
      differences.push(`${title}: ${messageOf(error)}`);
      return [];
    }
  };
  const examples = await exampleValues((sql) => asked.rows(sql));
  for (const question of questionsOfGuide()) {
    const panel = panelOf(question);
    const values = new Map<PanelInput, string | number>();
    for (const input of panel.inputs) values.set(input, valueOf(examples, input));
    const sql = sentSql(panel, (input) => values.get(input) ?? '');
    const text = JSON.stringify(await rowsOf(panel.title, sql));
    if (text !== answers.get(question.title)) differences.push(`${panel.title}: ${text}`);
  }
  for (const [name, sql] of Object.entries(VARIABLE_QUERIES)) {
    if ((await rowsOf(name, sql)).length === 0) differences.push(`${name}: there is nothing to choose`);
  }
  await asked.close();
  return { asked: count, differences };
}

function valueOf(examples: ExampleValues, { example }: PanelInput): string | number {
  const [, moment] = /^toDate(?:Time)?\('([^']+)'/.exec(example) ?? [];
  if (moment !== undefined) return Date.parse(`${moment.replace(' ', 'T')}${moment.includes(' ') ? 'Z' : ''}`) / 1000;
  const text = example.slice(1, -1);
  return examples.get(text) ?? text;
}
