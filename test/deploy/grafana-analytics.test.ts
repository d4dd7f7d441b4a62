import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { packageDirectory } from '../../src/config/package.ts';
import { createProgram } from '../../src/cli/program.ts';
import { questionsOfGuide } from '../analytics/questions.ts';
import { CHOICES, dashboardJson, panels, sentSql, VARIABLE_QUERIES } from './grafana-analytics.ts';

const folder = join(packageDirectory(), 'docs', 'deploy');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

test('the Grafana file of analytics has a panel for each question of the guide', (t) => {
  const text = dashboardJson();
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(join(folder, 'grafana-analytics.json'), text);
  t.is(read('grafana-analytics.json'), text, 'run the test with UPDATE_DOCS=1');
  t.is(panels().length, 21);
});

test('no panel contains an example value of the guide, and the dashboard has each variable that it uses', (t) => {
  const choices = panels().flatMap(({ inputs }) => inputs.map(({ choice }) => choice));
  t.deepEqual([...new Set(choices)].toSorted(), [
    ...['$__fromTime', '$__toTime'],
    ...Object.values(CHOICES),
    "toDate($__toTime, 'UTC')",
  ]);
  for (const { title, sql } of panels()) t.notRegex(sql, /toDate(Time)?\('|'ADDRESS'|'DELEGATE'|'at 2'/, title);
  const { templating } = JSON.parse(read('grafana-analytics.json')) as {
    templating: { list: readonly { name: string }[] };
  };
  t.deepEqual(
    templating.list.map(({ name }) => name),
    ['datasource', ...Object.keys(VARIABLE_QUERIES), 'text'],
  );
});

test('with the example values of the guide a panel sends the query of the guide', (t) => {
  for (const [index, { sql }] of questionsOfGuide().entries()) {
    const panel = panels()[index];
    if (panel === undefined) return t.fail();
    const asked = panel.inputs.reduce((text, { example, choice }) => text.replaceAll(choice, () => example), panel.sql);
    t.is(asked, sql, panel.title);
    t.notRegex(
      sentSql(panel, ({ choice }) => (choice.includes('$__') ? 1 : "a'b")),
      /\$/,
      panel.title,
    );
  }
});

interface Compose {
  readonly services: Readonly<Record<string, { volumes?: string[]; command?: string[]; environment?: object }>>;
}

test('the compose file has both dashboards with their data sources, and a sink that fills the tables', (t) => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as Compose;
  const mounted = (services['grafana']?.volumes ?? []).map((volume) => volume.split(':')[0]?.replace('./', '') ?? '');
  t.deepEqual(mounted, [
    ...['grafana-datasources.yml', 'grafana-dashboards.yml', 'grafana.json', 'grafana-analytics.json'],
  ]);
  const { datasources } = parse(read('grafana-datasources.yml')) as {
    datasources: { type: string; url?: string; jsonData?: Record<string, string | number> }[];
  };
  t.deepEqual(
    datasources.map(({ type }) => type),
    ['prometheus', 'grafana-clickhouse-datasource'],
  );
  t.is(datasources[0]?.url, 'http://prometheus:9090');
  const { host = '', defaultDatabase } = datasources[1]?.jsonData ?? {};
  t.true(String(host) in services);
  const { providers } = parse(read('grafana-dashboards.yml')) as { providers: { options: { path: string } }[] };
  for (const volume of (services['grafana']?.volumes ?? []).slice(2))
    t.is(volume.split(':')[1]?.replace(/\/[^/]+$/, ''), providers[0]?.options.path);
  const command = services['sink']?.command ?? [];
  t.is(command[command.indexOf('--database') + 1], defaultDatabase as string);
  t.true(command.includes(`http://bloomery@${String(host)}:8123`));
  const sink = createProgram()
    .commands.find((each) => each.name() === 'sink')
    ?.commands.find((each) => each.name() === 'clickhouse');
  const flags = sink?.options.map(({ long }) => long) ?? [];
  for (const word of command.filter((each) => each.startsWith('--'))) t.true(flags.includes(word), word);
});
