import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { DECLARATIONS, type MetricDeclaration } from '../../src/telemetry/declarations.ts';
import { MetricsRegistry } from '../../src/telemetry/metrics.ts';
import { faultsOfExposition, readExposition } from '../support/exposition.ts';

const OWN: Readonly<Record<string, MetricDeclaration>> = {
  blocks_total: { kind: 'counter', help: 'Blocks.', labels: ['source'] },
  starts_total: { kind: 'counter', help: 'Starts.' },
  height: { kind: 'gauge', help: 'Height of the tip.\nOf this node.' },
  peers: { kind: 'gauge', help: 'Peers.', labels: ['kind', 'from'] },
  wait_seconds: { kind: 'histogram', help: 'Waits.', buckets: [1, 5] },
};

async function valueOf(metrics: MetricsRegistry, series: string): Promise<number | undefined> {
  return readExposition(await metrics.text()).samples.get(series);
}

test('counters add up, gauges keep the last value and histograms sort observations, by label', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN });
  metrics.count('blocks_total', 4, { source: 'sync' });
  metrics.count('blocks_total', 2, { source: 'sync' });
  metrics.gauge('height', 12);
  metrics.gauge('height', 7);
  metrics.gauge('peers', 1, { kind: 'a', from: 'b' });
  metrics.gauge('peers', 3, { from: 'b', kind: 'a' });
  for (const wait of [0.5, 3, 9]) metrics.observe('wait_seconds', wait);
  t.is(await valueOf(metrics, 'bloomery_blocks_total{source="sync"}'), 6);
  t.is(await valueOf(metrics, 'bloomery_height'), 7);
  t.is(await valueOf(metrics, 'bloomery_peers{from="b",kind="a"}'), 3);
  t.is(await valueOf(metrics, 'bloomery_wait_seconds_bucket{le="1"}'), 1);
  t.is(await valueOf(metrics, 'bloomery_wait_seconds_bucket{le="+Inf"}'), 3);
  t.is(await valueOf(metrics, 'bloomery_wait_seconds_sum'), 12.5);
});

test('an unset gauge is not exported, while a counter starts at 0', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN });
  t.is(await valueOf(metrics, 'bloomery_height'), undefined);
  t.is(await valueOf(metrics, 'bloomery_starts_total'), 0);
});

test('a removed gauge is not exported until it is set again', async (t) => {
  const metrics = new MetricsRegistry({ declarations: { age: { kind: 'gauge', help: 'h' } } });
  metrics.forget('age');
  metrics.gauge('age', 7);
  t.regex(await metrics.text(), /^bloomery_age 7$/m);
  metrics.forget('age');
  t.notRegex(await metrics.text(), /bloomery_age/);
  metrics.gauge('age', 8);
  t.regex(await metrics.text(), /^bloomery_age 8$/m);
});

test('a record that does not match its declaration is refused and counted, and changes nothing', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN });
  metrics.count('blocks_total', 3, { source: 'sync' });
  const before = await metrics.text();
  metrics.count('unheard_of_total');
  metrics.count('blocks_total', -1, { source: 'sync' });
  metrics.count('blocks_total', NaN, { source: 'sync' });
  metrics.count('blocks_total', Infinity, { source: 'sync' });
  metrics.count('blocks_total', 1);
  metrics.count('blocks_total', 1, { other: 'x' });
  metrics.count('blocks_total', 1, { source: 'x', other: 'x' });
  metrics.gauge('blocks_total', 5, { source: 'sync' });
  metrics.observe('height', 5);
  metrics.count('metrics_refused_total', 100);
  t.is(await valueOf(metrics, 'bloomery_metrics_refused_total'), 10);
  t.is(await metrics.text(), before.replace('refused_total 0', 'refused_total 10'));
});

test('the number of series per name is limited, and known series continue at the limit', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN, seriesMax: 3 });
  for (let source = 0; source < 10; source += 1) metrics.count('blocks_total', 1, { source: String(source) });
  metrics.count('blocks_total', 1, { source: '0' });
  t.is(await valueOf(metrics, 'bloomery_blocks_total{source="0"}'), 2);
  t.is(await valueOf(metrics, 'bloomery_blocks_total{source="3"}'), undefined);
  t.is(await valueOf(metrics, 'bloomery_metrics_refused_total'), 7);
});

test('state metrics are measured when they are read', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN });
  let height = 1;
  const end = metrics.beforeReading(() => metrics.gauge('height', height));
  t.is(await valueOf(metrics, 'bloomery_height'), 1);
  height = 2;
  t.is(await valueOf(metrics, 'bloomery_height'), 2);
  end();
  height = 3;
  t.is(await valueOf(metrics, 'bloomery_height'), 2);
});

test('labels from peers break neither lines nor quotes, and have a maximum length', async (t) => {
  const metrics = new MetricsRegistry({ declarations: OWN });
  metrics.count('blocks_total', 1, { source: 'A "quoted" \\ line\nbreak' });
  metrics.count('blocks_total', 1, { source: 'x'.repeat(500) });
  const text = await metrics.text();
  t.deepEqual(faultsOfExposition(text), []);
  t.true(text.split('\n').every((line) => line.length < 200));
});

test('each declared metric is exported in the format and with the names of Prometheus', async (t) => {
  const metrics = new MetricsRegistry({ isOfProcess: true });
  for (const [name, { kind, labels = [] }] of Object.entries(DECLARATIONS)) {
    const values = Object.fromEntries(labels.map((label) => [label, 'x']));
    if (kind === 'counter') metrics.count(name, 1, values);
    else if (kind === 'gauge') metrics.gauge(name, 1, values);
    else metrics.observe(name, 1, values);
  }
  const text = await metrics.text();
  t.deepEqual(faultsOfExposition(text), []);
  t.is(readExposition(text).samples.get('bloomery_metrics_refused_total'), 0);
  t.true(readExposition(text).families.has('process_resident_memory_bytes'));
  t.true(readExposition(text).families.has('nodejs_eventloop_lag_p99_seconds'));
});

test('the check of the format finds errors', (t) => {
  const faults = (text: string): number => faultsOfExposition(text).length;
  t.is(faults('# HELP a_total A.\n# TYPE a_total counter\na_total 1\n'), 0);
  t.is(faults('# TYPE a_total counter\na_total 1\n'), 1);
  t.is(faults('# HELP a A.\n# TYPE a counter\na 1\n'), 1);
  t.is(faults('# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n'), 1);
  t.is(faults('# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n'), 1);
  t.is(faults('# HELP a A.\n# TYPE a gauge\na one\n'), 1);
  t.is(faults('# HELP a A.\n# TYPE a gauge\na 1\na 2\n'), 1);
  t.is(faults('a 1\n'), 1);
});

test('each metric in the source is declared, and each declared one is recorded', (t) => {
  const folder = join(packageDirectory(), 'src');
  const recorded = new Set<string>();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name] of text.matchAll(/(?:observer|metrics)\.(?:count|gauge|observe)\(\s*'([^']+)'/gi))
      recorded.add(name ?? '');
  }
  t.deepEqual([...recorded].sort(), Object.keys(DECLARATIONS).sort());
});
