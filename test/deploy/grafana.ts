/** The Prometheus queries of the dashboard file `docs/deploy/grafana.json`. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

export interface Query {
  readonly panel: string;
  /** PromQL expression, which may contain variables of the dashboard such as `$instance`. */
  readonly expression: string;
}

export interface QueriedSeries {
  readonly panel: string;
  readonly name: string;
}

/** A variable of the dashboard. */
export interface Variable {
  readonly name: string;
  /** The label whose values the user can choose; undefined for the variable that names the data source. */
  readonly labelValues: { readonly series: string; readonly label: string } | undefined;
}

interface GrafanaFile {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[];
  };
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/**
 * Matches the name of a series. The prefix of the name is `bloomery` for series of the node, `process` for series of
 * the process of the node, and `nodejs` for series of the JavaScript runtime.
 */
const SERIES = /\b((?:bloomery|process|nodejs)_[a-z0-9_]+)\b/g;
const LABEL_VALUES = /^label_values\((\w+), (\w+)\)$/;

export function panelQueries(): readonly Query[] {
  return grafanaFile().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expression: expr })),
  );
}

/** All series of each panel, without repetitions within a panel. */
export function queriedSeries(): readonly QueriedSeries[] {
  const named = panelQueries().flatMap(({ panel, expression }) =>
    [...expression.matchAll(SERIES)].map(([, name = '']) => `${panel}\n${name}`),
  );
  return [...new Set(named)].map((text) => {
    const [panel = '', name = ''] = text.split('\n');
    return { panel, name };
  });
}

/** @throws Error for a variable whose query has an unknown form */
export function variables(): readonly Variable[] {
  return grafanaFile().templating.list.map(({ name, type, query }) => {
    if (type === 'datasource') return { name, labelValues: undefined };
    const [, series, label] = LABEL_VALUES.exec(query) ?? [];
    if (series === undefined || label === undefined) throw new Error(`${name}: ${query} asks for no values of a label`);
    return { name, labelValues: { series, label } };
  });
}

function grafanaFile(): GrafanaFile {
  const file = join(packageDirectory(), 'docs', 'deploy', 'grafana.json');
  return JSON.parse(readFileSync(file, 'utf8')) as GrafanaFile;
}
