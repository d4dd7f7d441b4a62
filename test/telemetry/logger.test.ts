import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { LogSink } from '../../src/telemetry/log-sink.ts';
import { createObserver, type ClosableObserver, type ObserverOptions } from '../../src/telemetry/logger.ts';
import { MetricsRegistry } from '../../src/telemetry/metrics.ts';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 67);

function listening(options: Partial<ObserverOptions> = {}): {
  readonly observer: ClosableObserver;
  readonly text: () => string;
  readonly lines: () => Record<string, unknown>[];
} {
  let text = '';
  const stream = { write: (more: string) => (text += more) };
  return {
    observer: createObserver({ level: 'trace', nowMs: () => NOW_MS, target: { stream }, ...options }),
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('a JSON line has time, level, module, code, message and its fields under data', (t) => {
  const { observer, lines } = listening();
  observer.module('chain').log('info', 'BLOCK_APPLIED', 'block applied', { height: 12, code: 'X', time: 0 });
  observer.log('warn', 'CLOCK_OFF', 'the clock is off');
  t.deepEqual(lines(), [
    {
      level: 'info',
      time: '2026-01-02T03:04:05.067Z',
      module: 'chain',
      code: 'BLOCK_APPLIED',
      message: 'block applied',
      data: { height: 12, code: 'X', time: 0 },
    },
    { level: 'warn', time: '2026-01-02T03:04:05.067Z', code: 'CLOCK_OFF', message: 'the clock is off' },
  ]);
});

test("lines below the level are not written, and a module's own level covers its submodules", (t) => {
  const { observer, lines } = listening({ level: 'warn', levelsByModule: { p2p: 'debug', 'p2p/server': 'error' } });
  const modules = ['chain', 'p2p', 'p2p/client', 'p2p/server'];
  for (const name of modules) {
    const module = name
      .split('/')
      .reduce((outer, inner) => outer.module(inner), observer as ReturnType<typeof observer.module>);
    module.log('debug', 'D', `${name} debug`);
    module.log('warn', 'W', `${name} warn`);
  }
  t.deepEqual(
    lines().map((line) => line['message']),
    ['chain warn', 'p2p debug', 'p2p warn', 'p2p/client debug', 'p2p/client warn'],
  );
});

test('at the level silent no line is written', (t) => {
  const { observer, text } = listening({ level: 'silent' });
  observer.log('error', 'E', 'unheard');
  t.is(text(), '');
});

for (const format of ['json', 'human'] as const) {
  test(`${format}: secrets are hidden by the name of their field, at any depth`, (t) => {
    const { observer, text } = listening({ format });
    observer.module('forge').log('info', 'X', 'configured', {
      passphrase: 'robust-1',
      delegate: { secondPassphrase: 'robust-2', keys: [{ privateKey: Buffer.from('robust-3') }] },
      encryptedPassphrase: 'robust-4',
      PASSWORD: 'robust-5',
      error: new Error('failed: robust-6', { cause: new ProtocolError('X', { secret: 'robust-6' }) }),
      passwords: ['robust', 'robust-7', ''],
      privateKey: Buffer.alloc(0),
      note: 'tried robust-7',
      // The logger shortens this long text. The cut is inside the secret `robust-7`.
      long: `${'x'.repeat(1_993)} robust-7`,
      map: new Map([['passphrase', 'robust-8']]),
      secretParts: { first: 'robust-9', more: new Set(['robust-10', new Map([['a', 'robust-11']])]) },
      secretError: new Error('robust-12'),
      secretOdd: {
        get trap(): never {
          throw new Error('no');
        },
        after: 'robust-13',
      },
      quoted: 'robust-9 robust-10 robust-11 robust-12 robust-13',
      publicKey: 'shown',
    });
    t.notRegex(text(), /robust|726f62757374/);
    t.regex(text(), /shown/);
  });
}

test('values that JSON does not have are written in a readable form', (t) => {
  const { observer, lines } = listening();
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const reluctant = {
    get trap(): never {
      throw new Error('no');
    },
  };
  observer.log('info', 'X', 'odd values', {
    amount: 2n ** 63n,
    bytes: Buffer.from('00ff', 'hex'),
    nothing: undefined,
    none: null,
    ratio: NaN,
    when: new Date(0),
    made: () => 1,
    unique: new Set([1, 2n]),
    circle,
    reluctant,
    long: 'x'.repeat(5_000),
    many: Array.from({ length: 60 }, (_, index) => index),
  });
  const data = lines()[0]?.['data'] as Record<string, unknown>;
  t.is(data['amount'], '9223372036854775808');
  t.is(data['bytes'], '00ff');
  t.false('nothing' in data);
  t.is(data['none'], null);
  t.is(data['ratio'], 'NaN');
  t.is(data['when'], '1970-01-01T00:00:00.000Z');
  t.is(data['made'], '[function]');
  t.deepEqual(data['unique'], [1, '2']);
  t.deepEqual(data['reluctant'], { trap: '[unreadable]' });
  t.is((data['long'] as string).length, 2_001);
  t.is((data['many'] as unknown[]).length, 51);
  t.true(JSON.stringify(data['circle']).length < 200);
});

test('an error shows its code, data and cause', (t) => {
  const { observer, lines } = listening();
  const cause = new Error('no room');
  observer.log('error', 'X', 'failed', { error: new ProtocolError('FULL', { disk: '/' }, 'disk full', { cause }) });
  const error = (lines()[0]?.['data'] as { error: Record<string, unknown> }).error;
  t.like(error, { name: 'ProtocolError', code: 'FULL', message: 'disk full', data: { disk: '/' } });
  t.is((error['cause'] as Record<string, unknown>)['message'], 'no room');
});

test('the readable format is one line with time, level, module, message and fields', (t) => {
  const { observer, text } = listening({ format: 'human' });
  observer
    .module('chain')
    .log('info', 'BLOCK_APPLIED', 'block applied', { height: 12, id: '7', peers: ['a'], note: 'a b' });
  observer.log('warn', 'CLOCK_OFF', 'the clock is off');
  t.deepEqual(text().split('\n'), [
    '03:04:05.067 INFO  chain       block applied  height=12 id=7 peers=["a"] note="a b"',
    '03:04:05.067 WARN              the clock is off  code=CLOCK_OFF',
    '',
  ]);
});

test('foreign text can neither forge a line nor control a terminal', (t) => {
  const foreign = 'x\n12:00:00.000 ERROR \u001b[2J\u009b31m\u202e';
  const { observer, text } = listening({ format: 'human' });
  observer.module('p2p').log('info', 'X', 'peer says', { version: foreign, [foreign]: { os: foreign } });
  t.is(text().split('\n').length, 2);
  t.notRegex(text(), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('metrics of all modules reach the registry', async (t) => {
  const metrics = new MetricsRegistry();
  const { observer } = listening({ metrics });
  observer.module('chain').count('blocks_reverted_total');
  observer.count('blocks_reverted_total', 2);
  observer.module('peers').gauge('peers_connected', 3);
  observer.module('chain').observe('block_delay_seconds', 0.5);
  const text = await metrics.text();
  t.regex(text, /^bloomery_blocks_reverted_total 3$/m);
  t.regex(text, /^bloomery_peers_connected 3$/m);
  t.regex(text, /^bloomery_block_delay_seconds_sum 0.5$/m);
});

test('a file gets each line at once, is continued by the next start, and gets none after the end', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bloomery-log-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'logs', 'node.log');
  for (const message of ['first start', 'second start']) {
    const observer = createObserver({ level: 'info', target: { file } });
    observer.log('info', 'STARTED', message);
    t.true(readFileSync(file, 'utf8').includes(message));
    observer.close();
    observer.log('info', 'LATE', 'too late');
  }
  t.deepEqual(readFileSync(file, 'utf8').match(/first start|second start|too late/g), ['first start', 'second start']);
});

test('only the folder of a log file is created, not its parents', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bloomery-log-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'mistyped', 'logs', 'node.log');
  t.throws(() => createObserver({ level: 'info', target: { file } }), {
    message: /node\.log.*no such file or directory/,
  });
  t.deepEqual(readdirSync(folder), []);
});

test('a log file that cannot be opened is refused by name', (t) => {
  const error = t.throws(() => createObserver({ level: 'info', target: { file: '/dev/null/node.log' } }), {
    instanceOf: ProtocolError,
  });
  t.is(error.code, 'LOG_FILE_UNUSABLE');
  t.regex(error.message, /\/dev\/null\/node\.log/);
});

test('a full disk loses lines without an error, and their number is logged when there is room again', (t) => {
  let full = false;
  let linesLost = 0;
  const written: string[] = [];
  const sink: LogSink = {
    get linesLost() {
      return linesLost;
    },
    write(line) {
      if (full) linesLost += 1;
      else written.push(line);
    },
    close: () => undefined,
  };
  const { observer } = listening({ target: { sink } });
  observer.log('info', 'A', 'before');
  full = true;
  observer.log('info', 'B', 'lost');
  observer.log('info', 'B', 'lost too');
  full = false;
  observer.log('info', 'C', 'after');
  observer.log('info', 'D', 'and on');
  const codes = written.map((line) => JSON.parse(line) as { code: string; data?: { lines: number } });
  t.deepEqual(
    codes.map(({ code }) => code),
    ['A', 'C', 'LOG_LINES_LOST', 'D'],
  );
  t.is(codes[2]?.data?.lines, 2);
});

test('a broken stream does not end the process', (t) => {
  let listener: ((error: Error) => void) | undefined;
  const stream = {
    write: () => listener?.(new Error('EPIPE')),
    on: (_event: 'error', heard: (error: Error) => void) => {
      listener = heard;
    },
  };
  const { observer } = listening({ target: { stream } });
  t.notThrows(() => observer.log('info', 'X', 'into the void'));
});

test('a log to a device or a pipe is never rotated', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bloomery-log-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'pipe');
  execFileSync('mkfifo', [file]);
  // Open both ends of the pipe, so that neither end blocks.
  const reader = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  const rotation = { bytesMax: 200, filesKept: 2 };
  const observer = createObserver({ level: 'info', nowMs: () => NOW_MS, target: { file, rotation } });
  for (let line = 0; line < 12; line += 1) observer.log('info', 'LINE', 'said', { line });
  observer.close();
  closeSync(reader);
  t.deepEqual(readdirSync(folder), ['pipe']);
  t.true(statSync(file).isFIFO());
});

test('a file is rotated at its maximum size, a number of files is kept, and no line is lost', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bloomery-log-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'node.log');
  const rotation = { bytesMax: 1_000, filesKept: 2 };
  const write = (from: number, to: number): void => {
    const observer = createObserver({ level: 'info', nowMs: () => NOW_MS, target: { file, rotation } });
    for (let line = from; line < to; line += 1) observer.log('info', 'LINE', 'said', { line });
    observer.close();
  };
  write(0, 12);
  t.deepEqual(readdirSync(folder).sort(), ['node.log', 'node.log.1']);
  // After a restart the logger continues with the current size of the file.
  write(12, 40);
  t.deepEqual(readdirSync(folder).sort(), ['node.log', 'node.log.1', 'node.log.2']);
  const texts = ['.2', '.1', ''].map((age) => readFileSync(`${file}${age}`, 'utf8'));
  for (const text of texts) t.true(Buffer.byteLength(text) <= rotation.bytesMax);
  const kept = [...texts.join('').matchAll(/"line":(\d+)/g)].map(([, line]) => Number(line));
  t.deepEqual(
    kept,
    Array.from({ length: kept.length }, (_, index) => 40 - kept.length + index),
  );
  t.true(kept.length > 15);
});
