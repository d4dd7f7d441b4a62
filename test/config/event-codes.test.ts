/**
 * Checks that the option `notify.events` accepts exactly the codes of the events that the node can send to a webhook or
 * a command. The node sends its diagnostics as events, so the test looks at each log call of the modules that have
 * diagnostics.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { EVENT_CODES } from '../../src/config/event-codes.ts';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { RENAMED_EVENT_CODES } from '../../src/config/renamed-options.ts';
import { OPTIONS } from '../../src/config/schema.ts';
import { Diagnostics } from '../../src/engine/diagnostics.ts';
import { SLOT_CODES } from '../../src/engine/forge/own-slot-outcomes.ts';
import { SILENT, type LogLevel } from '../../src/ports/observer.ts';

const SOURCES = join(packageDirectory(), 'src');
const FILE = join(SOURCES, 'config', 'event-codes.ts');
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Each key is a folder. The value is the module name in the log lines of the files in this folder. */
const MODULES: Readonly<Record<string, string>> = {
  engine: 'chain',
  'engine/forge': 'forge',
  'engine/peers': 'peers',
  'engine/pool': 'pool',
  'engine/sync': 'sync',
  'node/notify': 'notify',
};
/**
 * Each key is a file that is in none of the folders of `MODULES`. The value is the module name in the log lines of the
 * file.
 */
const FILES: Readonly<Record<string, string>> = {
  'node/seeds.ts': 'peers',
  'node/transaction-journal-file.ts': 'pool',
  'node/watermark-files.ts': 'forge',
};
/** Files in the folders of `MODULES` that use another module name, or that only pass on log lines. */
const OTHER_FILES = new Set(['engine/diagnostics.ts', 'engine/gossip.ts', 'engine/slot-history.ts']);

const CODE = /'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g;
/** A log call; the groups are the level and the code. */
const LOG_CALL = /\.#?log\(\s*([^,(){}]+),\s*([^,(){}]+),/g;

/**
 * Each key is a file. The value returns the codes of the log calls in this file whose code is not a literal. The list
 * of codes is empty if the log lines are no diagnostics, or if other log calls contain the same codes as literals.
 */
const COMPUTED: Readonly<Record<string, () => readonly string[]>> = {
  'engine/block-warnings.ts': () => [...codesIn('engine/block-importer.ts'), ...blockRejectionCodes()],
  'engine/disk-watch.ts': () => ['STORE_WRITE_FAILED', 'STORE_TAKEN_OVER'],
  'engine/forge/missed-slot-log.ts': () => [
    ...['FORGING_PAUSED', 'FORGING_FAILED', 'SIGNED_ELSEWHERE', 'JOURNAL_TAKEN_OVER', 'JOURNAL_WRITE_FAILED'],
    ...['STORE_DAMAGED', 'STORE_TAKEN_OVER', 'STORE_WRITE_FAILED'],
    ...codesIn('engine/forge/waiting.ts'),
    ...codesIn('protocol/block/build.ts').filter((code) => !code.startsWith('BLOCK_')),
    ...thrownIn('protocol/gen2/forge.ts', 'protocol/gen3/forge.ts', 'protocol/gen3/bft-state.ts'),
  ],
  'engine/forge/own-slot-outcomes.ts': () => Object.values(SLOT_CODES),
  'engine/forge/scheduler.ts': () => codesIn('engine/forge/waiting.ts'),
  'engine/forge/slept-slots.ts': () => codesIn('engine/forge/slept-slots.ts'),
  'engine/index-deferral.ts': () => [
    'STORE_WRITE_FAILED',
    'STORE_TAKEN_OVER',
    'STORE_UNREADABLE',
    'STORE_BACKFILL_FAILED',
  ],
  'engine/peers/clock-offset.ts': () => [],
  'engine/pool/pool.ts': () => [],
  'engine/sync/sync-failures.ts': () => [
    ...['REQUEST_FAILED', 'SWITCH_BELOW_FINALITY', 'SWITCH_NOT_BETTER', 'TIP_MOVED', 'UNDO_RECORD_MISSING'],
    ...blockRejectionCodes(),
    ...thrownIn(...filesIn('engine/sync'), 'protocol/gen3/bft-state.ts'),
  ],
};

function read(file: string): string {
  return readFileSync(join(SOURCES, file), 'utf8');
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(SOURCES, folder)).flatMap((name) => (name.endsWith('.ts') ? [`${folder}/${name}`] : []));
}

function codesOf(text: string): readonly string[] {
  return [...text.matchAll(CODE)].map(([, code = '']) => code);
}

function codesIn(file: string): readonly string[] {
  return codesOf(read(file));
}

/** The codes of the errors that the files throw. */
function thrownIn(...files: readonly string[]): readonly string[] {
  return files.flatMap((file) =>
    [...read(file).matchAll(/ProtocolError\(\s*('[A-Z0-9_]+')/g)].flatMap(([text]) => codesOf(text)),
  );
}

function blockRejectionCodes(): readonly string[] {
  const [, union = ''] = /export type BlockRejectionCode =([^;]+);/.exec(read('protocol/verdict.ts')) ?? [];
  return codesOf(union);
}

function isDiagnostic(module: string, level: LogLevel, code: string): boolean {
  const diagnostics = new Diagnostics({ nowMs: () => 0 });
  diagnostics.listenIn(SILENT).module(module).log(level, code, '');
  return diagnostics.latest(1).length > 0;
}

/** @returns the codes that the node can send, and the files that compute codes but have no entry in `COMPUTED` */
function codesToSend(): { readonly codes: readonly string[]; readonly unknown: readonly string[] } {
  // The node sends NODE_STARTED without a diagnostic.
  const codes = new Set(['NODE_STARTED']);
  const unknown = new Set<string>();
  for (const [path, module] of Object.entries({ ...MODULES, ...FILES })) {
    for (const file of path.endsWith('.ts') ? [path] : filesIn(path)) {
      if (OTHER_FILES.has(file)) continue;
      for (const [, levelText = '', codeText = ''] of read(file).matchAll(LOG_CALL)) {
        const named = LEVELS.filter((level) => levelText.includes(`'${level}'`));
        const literal = codesOf(codeText);
        if (literal.length === 0 && COMPUTED[file] === undefined) unknown.add(file);
        for (const code of literal.length > 0 ? literal : (COMPUTED[file]?.() ?? [])) {
          const levels = named.length > 0 ? named : LEVELS.filter((level) => level !== 'debug');
          if (levels.some((level) => isDiagnostic(module, level, code))) codes.add(code);
        }
      }
    }
  }
  return { codes: [...codes].sort(), unknown: [...unknown] };
}

test('the list of codes has each code that the node can send, and no other', (t) => {
  const { codes, unknown } = codesToSend();
  t.deepEqual(unknown, [], 'say in COMPUTED which codes the log calls of these files can have');
  t.true(codes.length > 50);
  const lines = codes.map((code) => `  ${code}`).join('\n');
  const text =
    '/**\n * Lists the codes of the events that a node can send to a webhook or a command (option `notify.events`).\n' +
    ' * `test/config/event-codes.test.ts` with `UPDATE_DOCS=1` generates the list.\n */\n' +
    `\nexport const EVENT_CODES: ReadonlySet<string> = new Set(\n  \`\n${lines}\n\`\n    .trim()\n    .split(/\\s+/),\n);\n`;
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, text);
  t.is(readFileSync(FILE, 'utf8'), text, 'run the test with UPDATE_DOCS=1, then build');
});

const network = loadNetwork(packagedNetworkDirectory('devnet'));

function load(events: string) {
  return loadConfig({ network, environment: { BLOOMERY_NOTIFY_EVENTS: events }, flags: new Map() }).notify.events;
}

test('an unknown code is refused, and the defaults are all known', (t) => {
  t.deepEqual(load('OWN_SLOTS_MISSED'), ['OWN_SLOTS_MISSED']);
  t.deepEqual(load('all'), ['all']);
  t.throws(() => load('OWN_SLOT_MISSED'), { message: /notify\.events|BLOOMERY_NOTIFY_EVENTS/ });
  for (const code of OPTIONS.notify.events.default) t.true(EVENT_CODES.has(String(code)), String(code));
});

test('an old name of a code is refused with the new name', (t) => {
  for (const [before, now] of Object.entries(RENAMED_EVENT_CODES)) {
    t.throws(() => load(before), { message: new RegExp(`NOTIFY_EVENTS: ${before} is now called ${now}$`) });
    t.true(EVENT_CODES.has(now), now);
  }
});

test('a code that the node never sends is refused', (t) => {
  // The option `notify.events` must refuse a code if the node sends no event with this code. The list has, in this
  // order, the names of two environment variables, the code of a command's error, the code of a log line that is no
  // diagnostic, and the code of a log line of a module without diagnostics.
  for (const code of ['NOTIFY_SOCKET', 'XDG_STATE_HOME', 'BACKUP_EXISTS', 'BLOCK_APPLIED', 'HTTP_READER_LOST']) {
    const message = new RegExp(`must be a list of codes of events that the node sends, .*; entry 1, "${code}", is not`);
    t.throws(() => load(code), { message }, code);
  }
});
