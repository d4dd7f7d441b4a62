import test from 'ava';
import { MetricsRegistry } from '../../src/telemetry/metrics.ts';

test('counters add up, gauges hold the last value, both by their labels', (t) => {
  const metrics = new MetricsRegistry();
  metrics.count('blocks_total');
  metrics.count('blocks_total', 4);
  metrics.count('blocks_total', 2, { source: 'sync' });
  metrics.gauge('height_blocks', 12);
  metrics.gauge('height_blocks', 7);
  t.is(metrics.value('blocks_total'), 5);
  t.is(metrics.value('blocks_total', { source: 'sync' }), 2);
  t.is(metrics.value('height_blocks'), 7);
  t.is(metrics.value('unheard_of'), undefined);
});

test('the order in which labels are given does not matter', (t) => {
  const metrics = new MetricsRegistry();
  metrics.count('messages_total', 1, { kind: 'block', from: 'peer' });
  metrics.count('messages_total', 1, { from: 'peer', kind: 'block' });
  t.is(metrics.value('messages_total', { kind: 'block', from: 'peer' }), 2);
});

test('the text follows the Prometheus exposition format', (t) => {
  const metrics = new MetricsRegistry();
  metrics.describe('height_blocks', 'Height of the tip.\nOf this node.');
  metrics.gauge('height_blocks', 12);
  metrics.gauge('age_seconds', Infinity);
  metrics.count('faults_total', 1, { code: 'B' });
  metrics.count('faults_total', 2, { code: 'A "quoted" \\ line\nbreak' });
  t.is(
    metrics.text(),
    [
      '# TYPE bloomery_age_seconds gauge',
      'bloomery_age_seconds +Inf',
      '# TYPE bloomery_faults_total counter',
      String.raw`bloomery_faults_total{code="A \"quoted\" \\ line\nbreak"} 2`,
      'bloomery_faults_total{code="B"} 1',
      String.raw`# HELP bloomery_height_blocks Height of the tip.\nOf this node.`,
      '# TYPE bloomery_height_blocks gauge',
      'bloomery_height_blocks 12',
      '# HELP bloomery_metrics_refused_total Recordings that were malformed or one series too many.',
      '# TYPE bloomery_metrics_refused_total counter',
      'bloomery_metrics_refused_total 0',
      '',
    ].join('\n'),
  );
});

test('what is malformed is refused, counted, and changes nothing', (t) => {
  const metrics = new MetricsRegistry();
  metrics.count('blocks_total', 3);
  const before = metrics.text();
  metrics.count('blocks_total', -1);
  metrics.count('blocks_total', NaN);
  metrics.gauge('blocks_total', 5);
  metrics.gauge('not a name', 5);
  metrics.count('blocks_total', 1, { 'not-a-label': 'x' });
  metrics.count('blocks_total', 1, { __reserved: 'x' });
  metrics.count('metrics_refused_total', 100);
  t.is(metrics.value('metrics_refused_total'), 7);
  t.is(metrics.text(), before.replace('refused_total 0', 'refused_total 7'));
});

test('the number of series of one name has a maximum, and known series go on counting at it', (t) => {
  const metrics = new MetricsRegistry({ seriesMax: 3 });
  for (let peer = 0; peer < 10; peer += 1) metrics.count('messages_total', 1, { peer: String(peer) });
  metrics.count('messages_total', 1, { peer: '0' });
  t.is(metrics.value('messages_total', { peer: '0' }), 2);
  t.is(metrics.value('messages_total', { peer: '3' }), undefined);
  t.is(metrics.value('metrics_refused_total'), 7);
});
