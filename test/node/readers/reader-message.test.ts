/** Tests which messages of a reading process the node accepts. */

import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import test from 'ava';
import { BODY_BYTES_MAX } from '../../../src/http/admission/limits.ts';
import { LimitClient } from '../../../src/node/readers/limit-client.ts';
import {
  failedOutcome,
  LIMIT_ANSWER_MS_MAX,
  LIMIT_ASKS_AT_ONCE,
  LIMIT_ASKS_WAITING_MAX,
  LIMIT_REPORTED_MAX,
  READS_AT_ONCE,
  REPORT_LINES_MAX,
  REPORT_VALUES_MAX,
  type FromReader,
} from '../../../src/node/readers/messages.ts';
import { NodeRpcClient } from '../../../src/node/readers/node-rpc-client.ts';
import { readMessage } from '../../../src/node/readers/reader-message.ts';
import { ReaderGauges, ReaderObserver } from '../../../src/node/readers/reader-observer.ts';
import { packageDirectory } from '../../../src/config/package.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { DECLARATIONS } from '../../../src/telemetry/declarations.ts';
import type { Untyped } from '../../support/untyped.ts';

/** Returns a clock that the test moves forward with `pass`. */
function setUpClock() {
  let nowMs = 0;
  const timers = new Map<object, { readonly atMs: number; readonly work: () => void }>();
  return {
    after: (delayMs: number, work: () => void) => {
      const timer = { cancel: () => void timers.delete(timer) };
      timers.set(timer, { atMs: nowMs + delayMs, work });
      return timer;
    },
    pass: (ms: number): void => {
      nowMs += ms;
      for (const [timer, { atMs, work }] of timers) if (atMs <= nowMs && timers.delete(timer)) work();
    },
  };
}

/**
 * Copies the message in the same way as the channel between a reading process and its node, and checks the copy.
 * Returns the path to the first wrong member of the message; undefined if the check accepts the message.
 */
function wrongIn(message: unknown): string | undefined {
  const read = readMessage(deserialize(serialize(message)));
  return 'wrong' in read ? read.wrong : undefined;
}

const LONG = 'x'.repeat(16_000);

/** Returns the messages of a `LimitClient` whose node is silent for a long time and then answers. */
function limitsAfterSilence(): readonly FromReader[] {
  const sent: FromReader[] = [];
  const clock = setUpClock();
  const client = new LimitClient((message) => void sent.push(message), clock);
  const take = (count: number, name: string): void => {
    for (let at = 0; at < count; at += 1) client.take(`${at}${name}`, 8).catch(() => undefined);
  };
  client.arrive('203.0.113.1').catch(() => undefined);
  take(LIMIT_ASKS_WAITING_MAX, '');
  for (let at = 0; at < 100_000; at += 1) client.left(`203.0.${at}`);
  for (let at = 0; at < 3_000_000; at += 1) client.refused(`${at % (2 * LIMIT_REPORTED_MAX)}`);
  for (let at = 0; at < 2 * LIMIT_REPORTED_MAX; at += 1) client.shutOut(`${at}${LONG}`);
  for (let at = 0; at < 5_000; at += 1) client.trustedLeft();
  for (let at = 0; at < 100; at += 1) client.replayEnded(LONG);
  clock.pass(LIMIT_ANSWER_MS_MAX);
  client.answered([null]);
  clock.pass(10);
  client.answered([]);
  clock.pass(10);
  // The node answers again, and far more limit checks (questions of the client about HTTP limits) wait than fit into
  // one message. The client therefore sends messages with the maximum number of limit checks (`LIMIT_ASKS_AT_ONCE`).
  client.arrive('203.0.113.2').catch(() => undefined);
  client.replay(LONG).catch(() => undefined);
  take(LIMIT_ASKS_WAITING_MAX, LONG);
  for (let batch = 0; batch < 3; batch += 1) {
    client.answered([]);
    clock.pass(10);
  }
  return sent;
}

test('all messages about limits fit, also after the node was silent, and with long addresses', (t) => {
  const sent = limitsAfterSilence();
  for (const message of sent) t.is(wrongIn(message), undefined);
  const reports = sent.flatMap((message) => (message.kind === 'limits' ? [message.report] : []));
  t.true(reports.some(({ left, trusted }) => left.length === 100_001 && trusted === -5_000));
  t.true(reports.some(({ refused }) => refused.length === LIMIT_REPORTED_MAX && (refused[0]?.[1] ?? 0) > 1_000));
  t.true(reports.some(({ shutOut, replaysEnded }) => shutOut.length === LIMIT_REPORTED_MAX && replaysEnded.length > 0));
  t.true(reports.filter(({ asks }) => asks.length === LIMIT_ASKS_AT_ONCE).length > 1);
});

test('all calls of a reader fit, with any body that the HTTP interface accepts', (t) => {
  const sent: FromReader[] = [];
  const client = new NodeRpcClient((message) => void sent.push(message), setUpClock());
  void client.read('status');
  const reads = [
    ['poolEntries', 'ready'],
    ['signersOf', '1', undefined],
    ['signersOf', '1', '203.0.113.1'],
    ['forgers', 101, 1e300],
    ['history', 'day'],
    ['diagnostics', 500],
    ['slotReport', 1e300, 101],
  ] as const;
  for (const [method, ...args] of reads) t.is(wrongIn({ kind: 'reads', calls: [{ method, args }] }), undefined, method);
  for (const method of ['peers', 'peerVerdicts', 'forgingDelegates', 'metricsText'] as const)
    t.is(wrongIn({ kind: 'reads', calls: [{ method, args: [] }] }), undefined, method);

  const half = BODY_BYTES_MAX / 2;
  const bodies = [`[${'0,'.repeat(half - 1)}0]`, '["__proto__",{"__proto__":{"a":null}}]', `["${LONG}"]`, '7', 'null'];
  for (const body of bodies) void client.write('submitTransaction', JSON.parse(body), '::1');
  void client.write('submitSignature', undefined, undefined);
  const keyPair = { publicKey: new Uint8Array(32), privateKey: new Uint8Array(64) };
  void client.write('registerSecondSignature', keyPair, 'ab'.repeat(32), '::1');
  void client.write('setForging', 'ab'.repeat(32), 'p'.repeat(BODY_BYTES_MAX), true);
  t.is(sent.length, bodies.length + 4);
  for (const message of sent) t.is(wrongIn(message), undefined);
  // The HTTP interface refuses a body with very many levels of nested lists. A message with such a body can therefore
  // come only from an attacker who controls the reading process. `readMessage` must not throw for such a message.
  // `readMessage` does not limit the number of levels, so it accepts the message.
  const deep: unknown = JSON.parse(`${'['.repeat(half)}${']'.repeat(half)}`);
  const call = { method: 'submitTransaction', args: [deep, '::1'] };
  t.false('wrong' in readMessage({ kind: 'write', id: 1, call }));
});

test('a report of a reader fits, with the maximum of lines and values and with very long texts', (t) => {
  const observer = new ReaderObserver();
  for (let at = 0; at <= REPORT_LINES_MAX; at += 1)
    observer.log('error', 'HTTP_REQUEST_FAILED', 'A request could not be answered', {
      ...{ method: 'GET', path: LONG, error: LONG.repeat(10), stack: LONG.repeat(10), height: 5n, none: undefined },
    });
  observer.log('warn', 'A', 'B');
  for (let at = 0; at <= REPORT_VALUES_MAX; at += 1)
    observer.observe('http_request_duration_seconds', 0.5, { route: `/${at % 500}`, method: 'GET', status: '2xx' });
  observer.count('http_cache_hits_total');
  observer.count('http_refused_total', 4, { reason: 'rate' });
  observer.gauge('http_event_subscribers', 0);
  observer.gauge('http_connections', 2, { client: 'trusted' });
  t.is(wrongIn({ kind: 'report', report: observer.take() }), undefined);
  const other = new ReaderObserver();
  for (let at = 0; at < REPORT_VALUES_MAX; at += 1)
    other.observe('http_request_duration_seconds', 1, { route: `${at}`, method: 'GET', status: '2xx' });
  other.log('info', 'A_LINE', 'without fields');
  t.is(wrongIn({ kind: 'report', report: other.take() }), undefined);
});

test('a reader can record each metric that the HTTP module records, and no other', (t) => {
  const folder = join(packageDirectory(), 'src/http');
  const recorded = new Set<string>();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const text = file.endsWith('.ts') ? readFileSync(join(folder, file), 'utf8') : '';
    for (const [, name = ''] of text.matchAll(/observer\.(?:count|gauge|observe)\(\s*'([^']+)'/gi)) recorded.add(name);
  }
  t.true(recorded.size > 4);
  for (const [metric, { kind, labels = [] }] of Object.entries(DECLARATIONS)) {
    const observer = new ReaderObserver();
    const values = labels.length === 0 ? undefined : Object.fromEntries(labels.map((label) => [label, 'x']));
    if (kind === 'counter') observer.count(metric, 1, values);
    else if (kind === 'gauge') observer.gauge(metric, 1, values);
    else observer.observe(metric, 1, values);
    t.is(wrongIn({ kind: 'report', report: observer.take() }) === undefined, recorded.has(metric), metric);
  }
});

const FAILED = failedOutcome(new ProtocolError('STORE_BEHIND', { directory: '/data', height: 7n, why: undefined }));
/** A message of each kind that `reader-process.ts` sends itself. */
const OWN: readonly FromReader[] = [
  { kind: 'loaded' },
  { kind: 'waiting' },
  { kind: 'taken' },
  { kind: 'socket', name: 'plain' },
  { kind: 'socket', name: 'tls' },
  { kind: 'ready', port: 4000 },
  { kind: 'ready', port: 1, tlsPort: 65_535 },
  { kind: 'pong', memoryBytes: 90_000_000, requests: 0 },
  { kind: 'failed', outcome: FAILED },
  { kind: 'failed', outcome: failedOutcome(new Error('no code')) },
];

test('each message that the main module of a reader sends fits', (t) => {
  for (const message of OWN) t.is(wrongIn(message), undefined, message.kind);
});

const LINE = { level: 'info', code: 'HTTP_LINE', message: 'A line', fields: { a: 1 } };
const VALID: Readonly<Record<string, Untyped>> = {
  ...Object.fromEntries(OWN.slice(0, 8).map((message) => [message.kind, message])),
  failed: { kind: 'failed', outcome: { error: { code: 'A', data: { b: 'c' }, message: 'd' } } },
  reads: { kind: 'reads', calls: [{ method: 'slotReport', args: [0, 1] }] },
  write: { kind: 'write', id: 1, call: { method: 'setForging', args: ['ab', 'secret', true] } },
  limits: {
    kind: 'limits',
    report: {
      ...{ trusted: 1, left: [['a', 1]], replaysEnded: [['a', 1]], refused: [['a', 1]], shutOut: ['a'] },
      asks: [{ client: 'a', cost: 1 }, { key: 'a' }, { replay: 'a' }],
    },
  },
  report: {
    kind: 'report',
    report: {
      logs: [LINE],
      counts: [{ metric: 'http_refused_total', labels: { reason: 'rate' }, value: 1 }],
      gauges: [{ metric: 'http_event_subscribers', labels: undefined, value: 1 }],
      observations: [
        { metric: 'http_request_duration_seconds', labels: { route: '/', method: 'GET', status: '2xx' }, values: [1] },
      ],
    },
  },
};

const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, -Number.MAX_VALUE, '1', null, undefined, 1n, [1]];
const COUNTS = [...NUMBERS, -1, 0.5, 2 ** 53];
const TEXTS = ['x'.repeat(1_000_000), 1, null, undefined, ['a'], {}];
const LISTS = [null, undefined, 'a', {}, { length: 1 }, new Set([1]), new Array(4e9)];
const RECORDS = [null, undefined, 'a', 1, [], new Map(), new Date(), new Error('no record')];
const repeated = (value: unknown, length: number): readonly unknown[] => Array.from({ length }, () => value);

/** For each member of a message, values that a reader does not send. The names in the path are separated by dots. */
const WRONG: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  loaded: { extra: [1], kind: ['loadedd', 'toString', '__proto__', ...TEXTS] },
  waiting: { extra: [1] },
  taken: { extra: [1] },
  socket: { name: ['plai', '__proto__', ...TEXTS] },
  ready: { port: [...COUNTS, 65_536, 0], tlsPort: [65_536, '1', null] },
  pong: { memoryBytes: COUNTS, requests: COUNTS },
  failed: {
    outcome: [...RECORDS, { value: 1 }],
    'outcome.error': RECORDS,
    'outcome.error.code': TEXTS.filter((value) => value !== undefined),
    'outcome.error.data': [...RECORDS, { a: {} }, { a: [] }, { a: 'x'.repeat(200_000) }],
    'outcome.error.message': TEXTS,
  },
  reads: {
    calls: [...LISTS, repeated({ method: 'status', args: [] }, READS_AT_ONCE + 1)],
    'calls.0': RECORDS,
    'calls.0.method': TEXTS,
    'calls.0.args': [...LISTS, [0, 1, 2], [0], [-1, 1], [0, 1e9], ['0', 1], repeated(0, 100)],
  },
  write: {
    id: COUNTS,
    call: RECORDS,
    'call.method': TEXTS,
    'call.args': [...LISTS, ['ab', 'secret', 1], ['ab', 1, true], ['ab', 'x'.repeat(1_000_000), true]],
  },
  limits: {
    report: RECORDS,
    'report.extra': [1],
    'report.trusted': [...NUMBERS, 0.5, 2 ** 40],
    ...Object.fromEntries(
      ['left', 'replaysEnded', 'refused'].flatMap((name) => [
        [`report.${name}`, [...LISTS, repeated(['a', 1], 200_001)]],
        [`report.${name}.0`, [...LISTS, ['a'], ['a', 1, 2]]],
        [`report.${name}.0.0`, TEXTS],
        [`report.${name}.0.1`, [...COUNTS, 0]],
      ]),
    ),
    'report.left.0.1': [1e9],
    'report.shutOut': [...LISTS, repeated('a', LIMIT_REPORTED_MAX + 1)],
    'report.shutOut.0': TEXTS,
    'report.asks': [...LISTS, repeated({ key: 'a' }, LIMIT_ASKS_AT_ONCE + 1)],
    'report.asks.0': [...RECORDS, {}, { key: 'a', replay: 'a' }],
    'report.asks.0.client': TEXTS,
    'report.asks.0.cost': [...COUNTS, 0, 1e6],
    'report.asks.1.key': TEXTS,
    'report.asks.2.replay': TEXTS,
  },
  report: {
    report: RECORDS,
    'report.logs': [...LISTS, repeated(LINE, REPORT_LINES_MAX + 1)],
    'report.logs.0': RECORDS,
    'report.logs.0.level': ['fatal', 'silent', 'toString', ...TEXTS],
    'report.logs.0.code': ['', 'a code', 'A\nB', ...TEXTS],
    'report.logs.0.message': TEXTS,
    'report.logs.0.fields': [null, 'a', [], new Map(), { a: 1n }, { a: [new Map()] }, { a: 'x'.repeat(200_000) }],
    'report.counts': [...LISTS, repeated({ metric: 'http_cache_hits_total', labels: undefined, value: 1 }, 1_001)],
    'report.counts.0': RECORDS,
    'report.counts.0.metric': ['blocks_applied_total', 'http_connections', 'toString', ...TEXTS],
    'report.counts.0.labels': [...RECORDS, {}, { reason: 'a', other: 'b' }],
    'report.counts.0.labels.reason': ['x'.repeat(1_000), 1, null, undefined],
    'report.counts.0.value': [...NUMBERS, -1],
    'report.gauges': LISTS,
    'report.gauges.0.metric': ['chain_height', 'http_readers', 'http_cache_hits_total'],
    'report.gauges.0.labels': [null, 1, { client: 'a' }],
    'report.gauges.0.value': NUMBERS.filter((value) => value !== -Number.MAX_VALUE),
    'report.observations': LISTS,
    'report.observations.0.metric': ['block_delay_seconds'],
    'report.observations.0.labels': [undefined, {}],
    'report.observations.0.values': [...LISTS, repeated(1, REPORT_VALUES_MAX + 1)],
    'report.observations.0.values.0': NUMBERS.filter((value) => value !== -Number.MAX_VALUE),
  },
};

/** Returns a copy of the message with another value of the member at the path. */
function changed(message: Untyped, path: string, value: unknown): Untyped {
  const copy: Untyped = structuredClone(message);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const owner: Untyped = names.reduce((object: Untyped, name) => object[name], copy);
  owner[last] = value;
  return copy;
}

for (const [kind, members] of Object.entries(WRONG)) {
  test(`a message of the kind ${kind} with a wrong member is refused, and the result names the member`, (t) => {
    t.is(wrongIn(VALID[kind]), undefined);
    for (const [path, values] of Object.entries(members)) {
      const name = `${kind}.${path}`.replaceAll(/\.(\d+)/g, '[$1]');
      for (const value of values) {
        const found = wrongIn(changed(VALID[kind], path, value));
        const expected = path === 'kind' ? 'kind' : path.endsWith('extra') ? '(unknown member)' : name;
        // If the wrong member belongs to a limit check (an entry of `report.asks`), the test requires only that the
        // message is refused. In this case, the refusal can name another member, because a limit check
        // without its only member counts as another kind of limit check.
        const isNamed = found?.includes(expected) === true || path.startsWith('report.asks.');
        t.true(found !== undefined && isNamed, `${name} ${typeof value} ${String(found)}`);
      }
    }
  });
}

test('the test has each kind of message, and wrong values for each', (t) => {
  t.deepEqual(Object.keys(WRONG).sort(), Object.keys(VALID).sort());
});

test('a message that is no record is refused, and so are too many values and cyclic data', (t) => {
  for (const message of [null, undefined, 1, 'loaded', [], new Map(), new Date()]) t.is(wrongIn(message), 'message');
  const two = { metric: 'http_request_duration_seconds', labels: { route: '/', method: 'GET', status: '2xx' } };
  const values = repeated(1, REPORT_VALUES_MAX / 2 + 1);
  const observations = [1, 2].map(() => ({ ...two, values }));
  t.is(wrongIn(changed(VALID['report'], 'report.observations', observations)), 'report.report.observations');
  const cycle: Untyped[] = [];
  cycle.push(cycle);
  t.is(wrongIn(changed(VALID['report'], 'report.logs.0.fields.a', cycle)), 'report.report.logs[0].fields');
  const call = { method: 'submitTransaction', args: [cycle, 'a'] };
  t.is(wrongIn({ kind: 'write', id: 1, call }), 'write.call.args[0]');
});

test('only a message about a socket can carry a handle, and only the handle of a socket', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { _handle: handle }: Untyped = server;
  t.false('wrong' in readMessage({ kind: 'socket', name: 'plain' }, handle));
  t.deepEqual(readMessage({ kind: 'socket', name: 'plain' }, server), { wrong: 'socket with a handle' });
  t.deepEqual(readMessage({ kind: 'taken' }, handle), { wrong: 'taken with a handle' });
});

test('the check of a message with the maximum of limit checks takes much less than a millisecond', (t) => {
  const asks = Array.from({ length: LIMIT_ASKS_AT_ONCE }, (_, at) => ({ client: `203.0.113.${at}`, cost: 1 }));
  const message = changed(VALID['limits'], 'report.asks', asks);
  const timesMs = Array.from({ length: 300 }, () => {
    const startMs = performance.now();
    readMessage(message);
    return performance.now() - startMs;
  });
  const medianMs = timesMs.sort((a, b) => a - b)[150] ?? 1;
  t.log(`${(medianMs * 1000).toFixed(0)} microseconds`);
  t.true(medianMs < 1);
});

test('the node keeps a limited number of gauges for each reader', (t) => {
  const names = new Set<string>();
  const gauge = (metric: string, _value: number, labels?: Readonly<Record<string, string>>): void =>
    void names.add(`${metric} ${JSON.stringify(labels)}`);
  const gauges = new ReaderGauges({ ...SILENT, gauge });
  for (let at = 0; at < 20; at += 1) {
    const values = Array.from({ length: 1_000 }, (_, each) => ({ client: `${at} ${each}` }));
    const made = values.map((labels) => ({ metric: 'http_connections', labels, value: 1 }));
    gauges.add(1, { logs: [], counts: [], gauges: made, observations: [] });
  }
  names.clear();
  gauges.forget(1);
  t.is(names.size, 250);
});
