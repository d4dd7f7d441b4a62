/**
 * Runs a Prometheus server that scrapes a devnet. Checks the metrics of the devnet, the queries of the Grafana file and
 * the alerts of the rules file.
 */

import { strict as assert } from 'node:assert';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { panelQueries, variables } from '../deploy/grafana.ts';
import { freePortRanges } from '../support/ports.ts';
import { RULE_CASES, RULES_FILE } from './rules.ts';
import { startTestDevnet, waitFor, type TestDevnet } from '../support/devnet.ts';
import type { Untyped } from '../support/untyped.ts';

export interface MetricsOptions {
  readonly generation: 2 | 3;
  /** Name or path of each program. */
  readonly prometheus: string;
  readonly promtool: string;
}

export interface MetricsResult {
  readonly queries: number;
  readonly choices: number;
  /** Number of lines of metrics that promtool read. */
  readonly lines: number;
  /** Number of rules that Prometheus loaded. None of them fired on the healthy network. */
  readonly alerts: number;
}

const NODES = 4;
const TRANSFERS = 10;
const SCRAPES_EVERY_S = 1;
/**
 * Prometheus scrapes the devnet for at least this time before the test sends queries. The time windows of the queries
 * are several minutes long, but two samples of each metric are enough for an answer.
 */
const SCRAPED_MS = 15_000;
const WAIT_MS = 60_000;
/**
 * After the end of a node, `BloomeryDown` must fire within this time. Its condition must first hold for one minute (the
 * member `for` of the rule).
 */
const ALERT_MS = 150_000;

const load = createRequire(import.meta.url);

/**
 * @throws Error if a check fails; the message contains the queries without data, the output of promtool, or the alerts
 *   of the failed check
 */
export async function askGrafanaQueries(options: MetricsOptions): Promise<MetricsResult> {
  const deployed = join(packageDirectory(), 'docs', 'deploy', 'prometheus.yml');
  check(options.promtool, ['check', 'config', deployed]);
  const devnet = await startTestDevnet({ nodes: NODES, network: options.generation === 2 ? 'devnet-gen2' : 'devnet' });
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-metrics-'));
  const { http: port } = await freePortRanges(1);
  let prometheus: ChildProcess | undefined;
  const readers = new AbortController();
  try {
    prometheus = startPrometheus(options.prometheus, directory, port, devnet);
    for (const { url } of devnet.nodes) {
      const { body } = await fetch(`${url}/api/events`, { signal: readers.signal });
      body?.pipeTo(new WritableStream()).catch(() => undefined);
    }
    await sendTransfers(devnet, options.generation);
    await sleep(SCRAPED_MS);
    const lines = await checkMetrics(devnet, options.promtool);
    const ask = (path: string): Promise<Untyped> => answerOf(`http://127.0.0.1:${port}/api/v1/${path}`);
    await waitFor('scrapes of all nodes', async () => (await ask(query('up == 1'))).result.length === NODES, WAIT_MS);
    const answered = await askAll(ask);
    const alerts = await checkAlerts(devnet, ask);
    return { ...answered, lines, alerts };
  } finally {
    readers.abort();
    prometheus?.kill();
    if (prometheus?.exitCode === null) await once(prometheus, 'exit');
    rmSync(directory, { recursive: true, force: true });
    await devnet.close();
  }
}

/** Runs each query of the Grafana file twice: for all nodes (the default of the dashboard), and for one node. */
async function askAll(ask: (path: string) => Promise<Untyped>): Promise<{ queries: number; choices: number }> {
  const lacking: string[] = [];
  const chosen = new Map<string, readonly string[]>();
  for (const { name, labelValues } of variables()) {
    if (labelValues === undefined) continue;
    const { series, label } = labelValues;
    const values: string[] = await ask(`label/${label}/values?match[]=${series}`);
    if (values.length !== NODES) lacking.push(`choice ${name}: ${values.length} values`);
    chosen.set(name, ['.*', values[0] ?? 'none']);
  }
  let queries = 0;
  for (const { panel, expression } of panelQueries()) {
    for (const index of [0, 1]) {
      const filled = [...chosen].reduce(
        (text, [name, values]) => text.replaceAll(`$${name}`, values[index] ?? ''),
        expression,
      );
      const { result } = await ask(query(filled));
      queries += 1;
      if (!result.some(({ value: [, value] }: Untyped) => value !== 'NaN')) lacking.push(`${panel}: ${filled}`);
    }
  }
  if (lacking.length > 0) throw new Error(`no data:\n${lacking.join('\n')}`);
  return { queries, choices: chosen.size };
}

interface Alert {
  readonly name: string;
  readonly instance: string;
  readonly state: string;
}

/**
 * Checks that no alert fires while all nodes run. Then ends a node, and checks that `BloomeryDown` fires for this node
 * only.
 *
 * @returns number of alert rules that Prometheus has loaded
 */
async function checkAlerts({ nodes }: TestDevnet, ask: (path: string) => Promise<Untyped>): Promise<number> {
  const { groups } = await ask('rules?type=alert');
  const rules: readonly Untyped[] = groups.flatMap((group: Untyped) => group.rules);
  const broken = rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`);
  assert.deepEqual(broken, [], 'rules that Prometheus cannot evaluate');
  assert.equal(rules.length, RULE_CASES.length, 'every rule of the file has a case, and is loaded');
  const alerts = async (): Promise<readonly Alert[]> =>
    (await ask('alerts')).alerts.map(({ labels, state }: Untyped) => ({
      name: labels.alertname,
      instance: labels.instance,
      state,
    }));
  const healthy = (await alerts()).filter(({ state }) => state === 'firing');
  assert.deepEqual(healthy, [], 'alerts that fire on a healthy network');
  const ended = nodes.at(-1);
  assert(ended !== undefined);
  await ended.stop();
  const { host } = new URL(ended.url);
  const isDown = ({ name, instance, state }: Alert): boolean =>
    name === 'BloomeryDown' && instance === host && state === 'firing';
  await waitFor('the alert of a node that is down', async () => (await alerts()).some(isDown), ALERT_MS);
  const others = (await alerts()).filter(({ name, state }) => name === 'BloomeryDown' && state === 'firing');
  assert.equal(others.length, 1, 'only the node that ended is down');
  return rules.length;
}

function query(expression: string): string {
  return `query?query=${encodeURIComponent(expression)}`;
}

async function answerOf(url: string): Promise<Untyped> {
  const answer = (await (await fetch(url)).json()) as Untyped;
  if (answer.status !== 'success') throw new Error(`${url}: ${answer.error}`);
  return answer.data;
}

function startPrometheus(program: string, directory: string, port: number, { nodes }: TestDevnet): ChildProcess {
  const config = join(directory, 'prometheus.json');
  const targets = nodes.map(({ url }) => new URL(url).host);
  // Prometheus expects YAML, and JSON is valid YAML.
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: `${SCRAPES_EVERY_S}s`, evaluation_interval: `${SCRAPES_EVERY_S}s` },
      rule_files: [RULES_FILE],
      scrape_configs: [{ job_name: 'bloomery', static_configs: [{ targets }] }],
    }),
  );
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  return spawn(program, flags, { stdio: ['ignore', 'ignore', 'inherit'] });
}

async function checkMetrics({ nodes }: TestDevnet, promtool: string): Promise<number> {
  let lines = 0;
  for (const { url } of nodes) {
    const text = await (await fetch(`${url}/metrics`)).text();
    check(promtool, ['check', 'metrics'], text);
    lines += text.split('\n').length - 1;
  }
  return lines;
}

function check(promtool: string, words: readonly string[], input = ''): void {
  const { error, status, stdout, stderr } = spawnSync(promtool, words, { input, encoding: 'utf8' });
  if (error !== undefined) throw error;
  // If `promtool check metrics` finds a metric that it would change, its exit status is 3 or it writes text. In both
  // cases, the check fails.
  const isQuiet = words[1] === 'config' || `${stdout}${stderr}`.trim() === '';
  if (status !== 0 || !isQuiet) throw new Error(`promtool ${words.join(' ')}: status ${status}\n${stdout}${stderr}`);
}

async function sendTransfers({ nodes, network }: TestDevnet, generation: 2 | 3): Promise<void> {
  const [, from, to] = readAccounts(network.directory);
  assert(from !== undefined && to !== undefined, 'the devnet has accounts');
  const { transfer } = load(`lisk-transactions-${generation}`);
  for (let index = 1; index <= TRANSFERS; index++) {
    const transaction = transfer({
      networkIdentifier: network.params.networkIdentifier,
      amount: String(index),
      recipientId: to.address,
      passphrase: from.passphrase,
    });
    const { url } = nodes[index % nodes.length] ?? {};
    const post = async (): Promise<boolean> => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${url}/api/transactions`, { method: 'POST', headers, body: JSON.stringify(transaction) }))
        .ok;
    };
    await waitFor('an accepted transfer', post, WAIT_MS);
    await sleep(1000);
  }
}
