import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { allOptions } from '../../src/config/schema.ts';
import { DECLARATIONS } from '../../src/telemetry/declarations.ts';
import { panelQueries, queriedSeries, variables } from './grafana.ts';

const folder = join(packageDirectory(), 'docs', 'deploy');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

test('the Grafana file asks for figures of the node that are declared', (t) => {
  const series = queriedSeries();
  t.true(series.length > 25);
  for (const { name } of series.filter((each) => each.name.startsWith('bloomery_'))) {
    const declared = name.replace(/^bloomery_/, '').replace(/_(bucket|count|sum)$/, '');
    t.truthy(DECLARATIONS[declared], name);
  }
});

test('every panel of the Grafana file has a place of its own, and a query where it draws something', (t) => {
  const { panels } = JSON.parse(read('grafana.json')) as {
    panels: { id: number; type: string; gridPos: { x: number; y: number; w: number }; targets?: unknown[] }[];
  };
  t.is(new Set(panels.map(({ id }) => id)).size, panels.length);
  t.is(new Set(panels.map(({ gridPos: { x, y } }) => `${x},${y}`)).size, panels.length);
  for (const { type, gridPos, targets = [] } of panels) {
    t.true(gridPos.x + gridPos.w <= 24);
    t.is(targets.length > 0, type !== 'row');
  }
});

test('every choice at the head of the Grafana file is one that queries use, and they use no other', (t) => {
  const named = variables().filter(({ labelValues }) => labelValues !== undefined);
  for (const { panel, expression } of panelQueries()) {
    const used = [...expression.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name);
    t.deepEqual(
      [...new Set(used)],
      named.map(({ name }) => name),
      panel,
    );
  }
  for (const { labelValues } of named) t.truthy(DECLARATIONS[labelValues?.series.replace(/^bloomery_/, '') ?? '']);
  const sources = [...read('grafana.json').matchAll(/"uid": "\$\{(\w+)\}"/g)].map(([, name]) => name ?? '');
  t.deepEqual([...new Set(sources)], ['datasource']);
});

test('every option that a deployment file sets exists', (t) => {
  const known = new Set([...allOptions().map(({ variable }) => variable), 'BLOOMERY_HOME']);
  for (const file of ['compose.yaml', 'Dockerfile', 'bloomery.service']) {
    for (const [variable] of read(file).matchAll(/BLOOMERY_[A-Z_]+[A-Z]/g))
      t.true(known.has(variable), `${file}: ${variable}`);
  }
});

test('the image holds every file that the package needs to run', (t) => {
  const { files } = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { files: string[] };
  const image = read('Dockerfile');
  for (const file of ['bin', 'dist/src', 'networks']) {
    t.true(files.includes(file));
    t.true(image.includes(`/build/${file}`), file);
  }
});
