/** The questions of docs/guides/analytics.md, as the page has them. */

import { readFileSync } from 'node:fs';

export interface Question {
  readonly title: string;
  readonly sql: string;
}

const PAGE = new URL('../../../docs/guides/analytics.md', import.meta.url);

export function questionsOfGuide(): readonly Question[] {
  const page = readFileSync(PAGE, 'utf8');
  return [...page.matchAll(/^### ([0-9]+\. .*)$\n\n```sql\n([\s\S]*?)```$/gm)].map(([, title = '', sql = '']) => ({
    title,
    sql: sql.trim(),
  }));
}
