/** What the Grafana file asks Prometheus for. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

export interface QueriedSeries {
  readonly panel: string;
  readonly name: string;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Names of series all begin with who tells them. */
const SERIES = /\b((?:bloomery|process|nodejs)_[a-z0-9_]+)\b/g;

/** Every series that a panel names, once for each panel. */
export function queriedSeries(): readonly QueriedSeries[] {
  const file = join(packageDirectory(), 'docs', 'deploy', 'grafana.json');
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { readonly panels: readonly Panel[] };
  return panels.flatMap(({ title, targets = [] }) => {
    const names = targets.flatMap(({ expr }) => [...expr.matchAll(SERIES)].map(([, name]) => name ?? ''));
    return [...new Set(names)].map((name) => ({ panel: title, name }));
  });
}
