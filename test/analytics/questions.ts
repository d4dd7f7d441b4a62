/**
 * Reads the questions and SQL queries of docs/guides/analytics.md. Replaces the placeholders of the queries by values
 * from a filled sink.
 */

import { readFileSync } from 'node:fs';

export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** For each placeholder in the queries of the guide: a query that returns one value, which replaces the placeholder. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  ADDRESS:
    "SELECT sender AS value FROM transactions WHERE kind = 'transfer' AND height > 1 ORDER BY height, position LIMIT 1",
  DELEGATE: 'SELECT delegate AS value FROM votes ORDER BY height, position LIMIT 1',
};

/** The value of each placeholder, by name of the placeholder (`ADDRESS`, `DELEGATE`). */
export type ExampleValues = ReadonlyMap<string, string>;

/** Reads an address and a delegate from the filled sink, as values of the placeholders. */
export async function exampleValues(rowsOf: (sql: string) => Promise<readonly object[]>): Promise<ExampleValues> {
  const values = new Map<string, string>();
  for (const [name, sql] of Object.entries(PLACEHOLDERS)) {
    const [row] = (await rowsOf(sql)) as readonly { readonly value: string }[];
    values.set(name, row?.value ?? name);
  }
  return values;
}

/** Replaces the placeholders in a query of the guide. */
export function withExamples(sql: string, values: ExampleValues): string {
  return [...values].reduce((text, [name, value]) => text.replaceAll(`'${name}'`, `'${value}'`), sql);
}

const PAGE = new URL('../../../docs/guides/analytics.md', import.meta.url);

export function questionsOfGuide(): readonly Question[] {
  const page = readFileSync(PAGE, 'utf8');
  return [...page.matchAll(/^### ([0-9]+\. .*)$\n\n```sql\n([\s\S]*?)```$/gm)].map(([, title = '', sql = '']) => ({
    title,
    sql: sql.trim(),
  }));
}
