/**
 * The Grafana dashboard for the ClickHouse tables of `bloomery sink`. The dashboard has a panel for each question of
 * `docs/guides/analytics.md` (the guide). In the SQL of a panel, the variables and the time range of the dashboard
 * replace the example values of the guide.
 */

import { questionsOfGuide, type Question } from '../analytics/questions.ts';

export interface PanelInput {
  /** Example value in the SQL of the guide (`docs/guides/analytics.md`), such as `'ADDRESS'`. */
  readonly example: string;
  /** SQL expression that the SQL of the panel contains instead of `example`, the value in the SQL of the guide. */
  readonly choice: string;
}

export interface Panel {
  readonly title: string;
  /** SQL of the panel. The SQL contains macros of Grafana's data source and variables of the dashboard. */
  readonly sql: string;
  readonly inputs: readonly PanelInput[];
}

/**
 * Reference to a dashboard variable. Grafana replaces the reference with the value of the variable in single quotes.
 */
const quoted = (name: string): string => `\${${name}:singlequote}`;
export const CHOICES = { address: quoted('address'), delegate: quoted('delegate'), text: quoted('text') };
const [FROM, TO] = ['$__fromTime', '$__toTime'];
const TIME_MACRO = /\$__(?:from|to)Time/;

const EXAMPLES: readonly PanelInput[] = [
  { example: "'ADDRESS'", choice: CHOICES.address },
  { example: "'DELEGATE'", choice: CHOICES.delegate },
  { example: "'at 2'", choice: CHOICES.text },
];
/** Matches an SQL expression of a time or a day. */
const MOMENT = /toDateTime\('[^']+', 'UTC'\)|toDate\('[^']+'\)/g;

/** SQL queries that list the values of the dashboard's variables. */
export const VARIABLE_QUERIES: Readonly<Record<string, string>> = {
  address: 'SELECT address FROM balances ORDER BY balance DESC, address LIMIT 500',
  delegate: 'SELECT DISTINCT delegate FROM rounds ORDER BY delegate LIMIT 500',
};

/** Numbers of the questions whose rows form a time series. */
const CHARTS: ReadonlySet<number> = new Set([1, 2, 4, 7, 13, 16]);
const SOURCE = { type: 'grafana-clickhouse-datasource', uid: `\${datasource}` };
const [WIDTH, HEIGHT, COLUMNS] = [12, 9, 2];

export function panelOf({ title, sql }: Question): Panel {
  const moments = [...sql.matchAll(MOMENT)].map(([example]) => example);
  const inputs = [
    ...EXAMPLES.filter(({ example }) => sql.includes(example)),
    // In the panel, the end of the dashboard's time range replaces the last date or time in the text of the query. The
    // start of the range replaces each date or time that stands before it in the text.
    ...moments.map((example, index) => {
      const choice = index === moments.length - 1 ? TO : FROM;
      return { example, choice: example.startsWith('toDate(') ? `toDate(${choice}, 'UTC')` : choice };
    }),
  ];
  const chosen = inputs.reduce((text, { example, choice }) => text.replaceAll(example, choice), sql);
  return { title: title.replace(/^[0-9]+\. /, ''), sql: chosen, inputs };
}

export function panels(): readonly Panel[] {
  return questionsOfGuide().map(panelOf);
}

/** Returns the text of the dashboard file `docs/deploy/grafana-analytics.json`. */
export function dashboardJson(): string {
  const variable = (name: string, query: string) => ({
    ...{ name, type: 'query', label: name, datasource: SOURCE, query, definition: query, refresh: 1 },
  });
  const dashboard = {
    title: 'Bloomery analytics',
    uid: 'bloomery-analytics',
    tags: ['bloomery'],
    schemaVersion: 38,
    editable: true,
    refresh: '',
    time: { from: 'now-1y', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: SOURCE.type, label: 'Data source' },
        ...Object.entries(VARIABLE_QUERIES).map(([name, query]) => variable(name, query)),
        { name: 'text', type: 'textbox', label: 'text', query: '' },
      ],
    },
    panels: panels().map(({ title, sql }, index) => ({
      id: index + 1,
      type: CHARTS.has(index + 1) ? 'timeseries' : 'table',
      title,
      gridPos: {
        x: (index % COLUMNS) * WIDTH,
        y: Math.floor(index / COLUMNS) * HEIGHT,
        w: WIDTH,
        h: HEIGHT,
      },
      datasource: SOURCE,
      fieldConfig: { defaults: {}, overrides: [] },
      targets: [{ refId: 'A', datasource: SOURCE, editorType: 'sql', queryType: 'table', format: 1, rawSql: sql }],
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/**
 * Returns the SQL that Grafana's data source sends to the database after it has replaced the macros and variables.
 *
 * @param valueOf returns the chosen value of an input; times are Unix times in seconds
 */
export function sentSql({ sql, inputs }: Panel, valueOf: (input: PanelInput) => string | number): string {
  return inputs.reduce((text, input) => {
    const value = valueOf(input);
    const written =
      typeof value === 'number'
        ? input.choice.replace(TIME_MACRO, `toDateTime(${value})`)
        : `'${value.replaceAll("'", "\\'")}'`;
    return text.replaceAll(input.choice, written);
  }, sql);
}
