import test from 'ava';
import { Diagnostics } from '../../src/engine/diagnostics.ts';
import type { LogFields, LogLevel, Observer } from '../../src/ports/observer.ts';

interface Line {
  readonly module: string;
  readonly level: LogLevel;
  readonly code: string;
  readonly fields: LogFields | undefined;
}

/** An observer that records its log lines and metrics. */
function listening(): { readonly observer: Observer; readonly lines: Line[]; readonly metrics: string[] } {
  const lines: Line[] = [];
  const metrics: string[] = [];
  const inModule = (module: string): Observer => ({
    module: inModule,
    log: (level, code, _message, fields) => lines.push({ module, level, code, fields }),
    count: (metric, by) => metrics.push(`${metric} +${by}`),
    gauge: (metric, value) => metrics.push(`${metric} ${value}`),
    observe: (metric, value) => metrics.push(`${metric} ${value}`),
  });
  return { observer: inModule(''), lines, metrics };
}

function setUpDiagnostics() {
  let nowMs = 1000;
  const { observer, lines, metrics } = listening();
  const diagnostics = new Diagnostics({ nowMs: () => (nowMs += 1) });
  return { diagnostics, observer: diagnostics.listenIn(observer), lines, metrics };
}

test('a refusal is kept with its module, reason and time, newest first', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  observer.module('chain').log('warn', 'BLOCK_SIGNATURE_INVALID', 'refused a block', { height: 7, blockId: '5' });
  observer
    .module('forge')
    .log('warn', 'FORGING_PAUSED', 'forging is paused in a slot of ours', { slot: 9, reason: 'why not' });
  t.deepEqual(diagnostics.latest(10), [
    {
      number: 2,
      timeMs: 1002,
      module: 'forge',
      code: 'FORGING_PAUSED',
      message: 'forging is paused in a slot of ours',
      fields: { slot: 9, reason: 'why not' },
    },
    {
      number: 1,
      timeMs: 1001,
      module: 'chain',
      code: 'BLOCK_SIGNATURE_INVALID',
      message: 'refused a block',
      fields: { height: 7, blockId: '5' },
    },
  ]);
  t.is(diagnostics.latest(1).length, 1);
});

test('each log line and metric is passed on unchanged, and each diagnostic is counted', (t) => {
  const { observer, lines, metrics } = setUpDiagnostics();
  observer.module('chain').log('warn', 'BLOCK_KNOWN', 'refused a block', { height: 7 });
  observer.log('info', 'NODE_STARTED', 'the node runs');
  observer.module('chain').count('blocks', 2);
  observer.gauge('height', 7);
  t.deepEqual(lines, [
    { module: 'chain', level: 'warn', code: 'BLOCK_KNOWN', fields: { height: 7 } },
    { module: '', level: 'info', code: 'NODE_STARTED', fields: undefined },
  ]);
  t.deepEqual(metrics, ['diagnostics_total +1', 'blocks +2', 'height 7'], 'and each diagnostic is counted');
});

test('a line that is not a diagnostic is dropped', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  for (const [module, level, code] of [
    ['chain', 'info', 'BLOCK_APPLIED'],
    ['sync', 'info', 'SYNC_PROGRESS'],
    ['sync', 'debug', 'REQUEST_FAILED'],
    ['peers', 'info', 'PEER_CONNECTED'],
    ['forge', 'info', 'BLOCK_FORGED'],
    ['http', 'warn', 'HTTP_WHITELIST_ENTRY_INVALID'],
  ] as const) {
    observer.module(module).log(level, code, 'a line');
  }
  t.deepEqual(diagnostics.latest(10), []);
});

test('reorgs, dropped peers and failed downloads are kept', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  const lines = [
    ['chain', 'info', 'CHAIN_REORG'],
    ['sync', 'info', 'SYNC_STARTED'],
    ['sync', 'warn', 'SYNC_BRANCH_NOT_BETTER'],
    ['peers', 'warn', 'PEER_BANNED'],
    ['peers', 'debug', 'PEER_PENALISED'],
    ['peers', 'info', 'PEER_DISCONNECTED'],
    ['forge', 'error', 'FORGING_FAILED'],
  ] as const;
  for (const [module, level, code] of lines) observer.module(module).log(level, code, 'a line');
  t.deepEqual(
    diagnostics.latest(10).map(({ code }) => code),
    lines.map(([, , code]) => code).reverse(),
  );
});

test('a module keeps only its latest entries, and does not displace those of another module', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  observer.module('forge').log('warn', 'FORGING_PAUSED', 'forging is paused in a slot of ours');
  for (let i = 0; i < 1000; i += 1)
    observer.module('peers').log('debug', 'PEER_PENALISED', 'a peer broke a rule', { i });
  const kept = diagnostics.latest(5000);
  t.is(kept.length, 201);
  t.is(kept[0]?.fields['i'], 999);
  t.is(kept.at(-1)?.code, 'FORGING_PAUSED');
});

test('many diagnostics with one code do not displace those with other codes', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  observer.module('chain').log('info', 'CHAIN_REORG', 'a better branch');
  for (let i = 0; i < 1000; i += 1) observer.module('chain').log('warn', 'BLOCK_FORGER_INVALID', 'refused', { i });
  observer.module('chain').log('warn', 'BLOCK_BFT_INVALID', 'refused');
  const kept = diagnostics.latest(5000);
  t.is(kept.length, 200);
  t.deepEqual([kept[0]?.code, kept[1]?.fields['i'], kept.at(-1)?.code], ['BLOCK_BFT_INVALID', 999, 'CHAIN_REORG']);
});

test('fields are plain and short, whatever a peer sent', (t) => {
  const { diagnostics, observer } = setUpDiagnostics();
  const fields = { reason: 'x'.repeat(10_000), error: new Error('no'), amount: 5n, nothing: undefined, yes: true };
  observer.module('sync').log('warn', 'BLOCK_MALFORMED', 'could not synchronise', fields);
  t.deepEqual(diagnostics.latest(1)[0]?.fields, {
    reason: 'x'.repeat(300),
    error: 'Error: no',
    amount: '5',
    yes: true,
  });
});
