/** Reads the questions of docs/guides/analytics.md with their SQL queries. */

import { readFileSync } from 'node:fs';

export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** For each placeholder of the guide, a query whose only value replaces the placeholder. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  ADDRESS:
    "SELECT sender AS value FROM transactions WHERE kind = 'transfer' AND height > 1 ORDER BY height, position LIMIT 1",
  DELEGATE: 'SELECT delegate AS value FROM votes ORDER BY height, position LIMIT 1',
};

/** Value of each placeholder of the guide. */
export type ExampleValues = ReadonlyMap<string, string>;

/** Reads an address and a delegate of the chain, for the placeholders of the guide. */
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
