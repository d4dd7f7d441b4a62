import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { allOptions, OPTIONS } from '../../src/config/schema.ts';
import { HEALTH_ROUTE, READINESS_ROUTE } from '../../src/http/routes/health.ts';
import { METRICS_ROUTE } from '../../src/http/routes/metrics.ts';
import { DECLARATIONS } from '../../src/telemetry/declarations.ts';
import { RULE_CASES } from '../metrics/rules.ts';
import { panelQueries, queriedSeries, variables } from './grafana.ts';

const folder = join(packageDirectory(), 'docs', 'deploy');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

test('the Grafana file uses only metrics that the node declares', (t) => {
  const series = queriedSeries();
  t.true(series.length > 25);
  for (const { name } of series.filter((each) => each.name.startsWith('bloomery_'))) {
    const declared = name.replace(/^bloomery_/, '').replace(/_(bucket|count|sum)$/, '');
    t.truthy(DECLARATIONS[declared], name);
  }
});

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

function isOverlapping(a: Place, b: Place): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

test('each panel of the Grafana file has its own place, and a query where it draws data', (t) => {
  const { panels } = JSON.parse(read('grafana.json')) as {
    panels: { id: number; type: string; gridPos: Place; targets?: unknown[] }[];
  };
  t.is(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const [index, { id, gridPos }] of panels.entries())
    t.is(panels.slice(0, index).find((other) => isOverlapping(other.gridPos, gridPos))?.id, undefined, `panel ${id}`);
  for (const { type, gridPos, targets = [] } of panels) {
    t.true(gridPos.x + gridPos.w <= 24);
    t.is(targets.length > 0, type !== 'row');
  }
});

test('each variable of the Grafana file is used by queries, and queries use no other variable', (t) => {
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

test('each option in a deployment file exists', (t) => {
  const known = new Set([
    ...allOptions().map(({ variable }) => variable),
    'BLOOMERY_HOME',
    'BLOOMERY_CLICKHOUSE_PASSWORD',
  ]);
  for (const file of ['compose.yaml', 'Dockerfile', 'bloomery.service']) {
    for (const [variable] of read(file).matchAll(/BLOOMERY_[A-Z_]+[A-Z]/g))
      t.true(known.has(variable), `${file}: ${variable}`);
  }
});

test('the image has each file that the package needs to run', (t) => {
  const { files } = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { files: string[] };
  const image = read('Dockerfile');
  for (const file of ['bin', 'dist/src', 'networks']) {
    t.true(files.includes(file));
    t.true(image.includes(`/build/${file}`), file);
  }
});

test('the image is built with the name of the commit', (t) => {
  const kept = read('Dockerfile.dockerignore').split('\n');
  for (const file of ['HEAD', 'packed-refs', 'refs']) t.true(kept.includes(`!.git/${file}`), file);
  t.true(read('Dockerfile').includes('BUILD_COMMIT=$COMMIT npm run build'));
});

/** Ports on which the node of the image listens. */
const { httpPort, wsPort } = loadNetwork(packagedNetworkDirectory('devnet'));

test('the files that the image copies from the sources exist', (t) => {
  const copies = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
    from.split(' '),
  );
  t.true(copies.length > 3);
  for (const file of copies) t.true(existsSync(join(packageDirectory(), file)), file);
});

test('the image runs a command with valid flags, and exposes the ports and the health path that it serves', (t) => {
  const image = read('Dockerfile');
  t.deepEqual(wordsOf(/^ENTRYPOINT (.+)$/m, image), ['bloomery']);
  t.deepEqual(unknownWords(wordsOf(/^CMD (.+)$/m, image)), []);
  t.regex(image, new RegExp(`^EXPOSE ${httpPort} ${wsPort}$`, 'm'));
  const [, port, path = ''] = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/.exec(image) ?? [];
  t.is(port, String(httpPort));
  t.true(SERVICE_PATHS.has(path), path);
});

test('the devnet of the compose file reaches the ports of its nodes, and Prometheus scrapes them all', (t) => {
  const compose = read('compose.yaml');
  const { context = '', dockerfile = '' } =
    /context: (?<context>\S+), dockerfile: (?<dockerfile>\S+) /.exec(compose)?.groups ?? {};
  t.is(join(folder, context), join(packageDirectory()));
  t.true(existsSync(join(folder, context, dockerfile)));
  const nodes = [...compose.matchAll(/^ {2}(node\d):/gm)].map(([, name]) => name);
  t.is(nodes.length, 4);
  const published = [...compose.matchAll(/^ {4}ports: \['127\.0\.0\.1:(\d+):(\d+)'\]$/gm)];
  const ofNodes = published.filter(([, , inner]) => inner === String(httpPort)).map(([, outer]) => Number(outer));
  t.deepEqual(
    ofNodes,
    nodes.map((_, index) => httpPort + index),
  );
  const [, first] = /ipv4_address: (\S+) /.exec(compose) ?? [];
  t.regex(compose, new RegExp(`BLOOMERY_P2P_FIXED_PEERS: ${first}:${wsPort}\n`));
  const asked = [...read('prometheus.yml').matchAll(/'(\w+):(\d+)'/g)];
  t.deepEqual(
    asked.map(([, name]) => name),
    nodes,
  );
  t.true(asked.every(([, , port]) => port === String(httpPort)));
  t.true(SERVICE_PATHS.has('/metrics'));
});

test('the forger of the compose file decrypts the keys of the devnet', (t) => {
  const [, password] = /BLOOMERY_FORGING_DEFAULT_PASSWORD: (.+)\n/.exec(read('compose.yaml')) ?? [];
  const forgers = JSON.parse(read('../../networks/devnet/forgers.json')) as { defaultPassword: string };
  t.is(password, forgers.defaultPassword);
});

test('the systemd unit starts a node with valid flags, in folders that systemd creates', (t) => {
  const unit = read('bloomery.service');
  const words = (/^ExecStart=\/usr\/bin\/env bloomery (.+)$/m.exec(unit)?.[1] ?? '').split(' ');
  t.deepEqual(unknownWords(words), []);
  const [, state] = /^StateDirectory=(\w+)$/m.exec(unit) ?? [];
  t.regex(unit, new RegExp(`BLOOMERY_HOME=/var/lib/${state}(?: |$)`, 'm'));
  const [, configuration] = /^ConfigurationDirectory=(\w+)$/m.exec(unit) ?? [];
  t.true(words.includes(`/etc/${configuration}/config.json5`));
  t.regex(unit, new RegExp(`^EnvironmentFile=-/etc/${configuration}/`, 'm'));
  const [, logs] = /^LogsDirectory=(\w+)$/m.exec(unit) ?? [];
  t.true(
    read('../guides/operate.md').includes(`file: '/var/log/${logs}/`),
    'the guide names a folder that the unit allows',
  );
});

test("systemd and Docker allow more memory than the node's limit, and a longer wait than its watchdog", (t) => {
  const limitMb = OPTIONS.memory.limitMb.default;
  const unit = read('bloomery.service');
  for (const file of ['bloomery.service', 'Dockerfile']) {
    t.is(Number(/NODE_OPTIONS=--max-old-space-size=(\d+)/.exec(read(file))?.[1]), limitMb, file);
  }
  const roomMb = (form: RegExp, text: string): number => Number(form.exec(text)?.[1]) * 1024;
  t.true(roomMb(/^MemoryMax=(\d+)G$/m, unit) > 1.25 * limitMb);
  t.true(roomMb(/^ {2}mem_limit: (\d+)g$/m, read('compose.yaml')) > 1.25 * limitMb);
  t.true(Number(/^WatchdogSec=(\d+)$/m.exec(unit)?.[1]) >= 2 * OPTIONS.watchdog.blockedMaxS.default);
  t.regex(unit, /^Type=notify$/m);
  t.regex(unit, /^NotifyAccess=all$/m);
  t.regex(unit, /^Restart=on-failure$/m);
  const verified = spawnSync('systemd-analyze', ['verify', join(folder, 'bloomery.service')], { encoding: 'utf8' });
  // Machines without systemd skip only this check.
  if (verified.error === undefined) t.is(verified.status, 0, verified.stderr);
});

const SERVICE_PATHS = new Set([HEALTH_ROUTE, READINESS_ROUTE, METRICS_ROUTE].map(({ path }) => path));

/** Matches a text against `form`. Returns the words of the JSON list in the first group of the match. */
function wordsOf(form: RegExp, text: string): readonly string[] {
  return JSON.parse(form.exec(text)?.[1] ?? '[]') as readonly string[];
}

/**
 * Returns the words of a command line that are neither commands nor flags nor values of flags. If all words are known
 * but none of them is a command, returns a list with the text `no command`.
 */
function unknownWords(words: readonly string[]): readonly string[] {
  let command: Command = createProgram();
  const unknown: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const option = command.options.find(({ long }) => long === word);
    const child = command.commands.find((each) => each.name() === word);
    if (child !== undefined) command = child;
    else if (option === undefined) unknown.push(word);
    else if (option.required) at += 1;
  }
  return unknown.length === 0 && command.parent === null ? ['no command'] : unknown;
}

test('the alerts use declared metrics and name a remedy, and each belongs to a fault', (t) => {
  const rules = read('prometheus-rules.yml');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  t.deepEqual(alerts.sort(), RULE_CASES.map(({ alert }) => alert).sort());
  t.is([...rules.matchAll(/^ +action: /gm)].length, alerts.length);
  const names = [...rules.matchAll(/bloomery_(\w+)/g)].map(([, name = '']) => name);
  for (const name of names) t.truthy(DECLARATIONS[name], name);
  for (const { faulty, sound } of RULE_CASES) t.deepEqual(Object.keys(faulty), Object.keys(sound));
  t.regex(read('prometheus.yml'), /rule_files: \['prometheus-rules\.yml'\]/);
  t.regex(read('compose.yaml'), /\.\/prometheus-rules\.yml:\/etc\/prometheus\/prometheus-rules\.yml/);
});
