/**
 * Causes faults of running nodes, and checks that each fault raises its alert in Prometheus. The test kills, suspends,
 * restarts and cuts off nodes of a devnet, and sets the clock of a node wrong. A simulated peer sends a block whose
 * delegate has already forged another block for the same height. The test also starts one more node, with a small disk,
 * with much memory in use, and with a webhook that fails.
 */

import { strict as assert } from 'node:assert';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { askDevnet } from '../../src/cli/devnet/control-client.ts';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import { loadNetwork } from '../../src/config/network.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { partsOf } from '../../src/node/generations.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { Intruder } from '../attacks/intruder.ts';
import { signBlock } from '../support/chain-maker.ts';
import { headerWith } from '../support/fixtures.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import type { Untyped } from '../support/untyped.ts';
import { RULES_FILE } from './rules.ts';

export interface InducedOptions {
  /** Name or path of the Prometheus program. */
  readonly prometheus: string;
  readonly log: (line: string) => void;
}

export interface InducedResult {
  /** Names of the alerts that fired as expected: the test caused a fault, and then the alert for this fault fired. */
  readonly fired: readonly string[];
  /**
   * The keys are the names of the alerts whose faults the test could not cause on this machine. The values are the
   * reasons.
   */
  readonly left: ReadonlyMap<string, string>;
}

const NODES = 4;
const START_MS_MAX = 150_000;
const ALERT_MS_MAX = 150_000;
/** Before the test causes the first fault, Prometheus scrapes the healthy network for this time. */
const HEALTHY_MS = 120_000;
/**
 * The test uses a copy of the file with the alert rules for Prometheus (`RULES_FILE`). The copy has shorter times. Some
 * rules have the member `for`: the time for which the condition of the alert must hold before the alert fires. In the
 * copy, this time is `FOR`.
 */
const FOR = '6s';
/**
 * Time window of the alert `BloomeryFinalityStands` in the copy of the rules. In the rules file, this window is half an
 * hour.
 */
const FINALITY_WINDOW = '1m';
const LIMIT_MB = 1280;
/**
 * The test starts one more node, with the memory limit `LIMIT_MB`. `BALLAST_BYTES` is the size of a buffer that the
 * test allocates in the process of that node. The buffer and the node's own memory together take between 85 % and 100 %
 * of `LIMIT_MB`.
 */
const BALLAST_BYTES = 1_080_000_000;
const SMALL_DISK_MB = 400;

/** @throws Error that names the alert, if an alert fires on the healthy network or does not fire after its fault */
export async function induceFaults({ prometheus, log }: InducedOptions): Promise<InducedResult> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-induced-'));
  const { http, ws } = await freePortRanges(NODES + 2);
  const net = join(directory, 'net');
  const flags = ['--nodes', `${NODES}`, '--delegates', '5', '--data-dir', net, '--restart', 'never'];
  const devnet = spawn(
    process.execPath,
    [CLI_ENTRY, 'devnet', ...flags, '--http-port', `${http}`, '--ws-port', `${ws}`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const children: ChildProcess[] = [devnet];
  const place: Place = { directory, net, http, ws, children };
  try {
    const isUp = async (): Promise<boolean> => (await list(net)).every(({ state }) => state === 'running');
    await waitFor('the devnet', isUp, START_MS_MAX, () => (devnet.exitCode === null ? undefined : 'it ended'));
    const ports = Array.from({ length: NODES }, (_, index) => http + index);
    writeTargets(directory, ports);
    const port = http + NODES + 1;
    children.push(startPrometheus(prometheus, directory, port));
    const alerts = new Alerts(port, http, log);
    await waitFor('scrapes of all nodes', async () => (await alerts.count('up == 1')) === NODES, START_MS_MAX);
    await sleep(HEALTHY_MS);
    assert.deepEqual(await alerts.firing(), [], 'alerts on a healthy net, with shortened windows');
    log(`healthy for ${HEALTHY_MS / 1000} s: no alert`);
    await faultsOfDevnet(place, alerts);
    const left = await faultsOfOneNode(place, alerts, ports);
    await faultsThatStay(place, alerts);
    return { fired: [...alerts.seen].sort(), left };
  } finally {
    for (const child of children) child.kill();
    for (const child of children) if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    spawnSync('umount', [join(directory, 'small')]);
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Place {
  readonly directory: string;
  /** Folder of the devnet. */
  readonly net: string;
  /** HTTP port of node 0. `ws` is the port of node 0 for peers. Each further node has the next port of each kind. */
  readonly http: number;
  readonly ws: number;
  /** Processes that the test ends at the end of its run. */
  readonly children: ChildProcess[];
}

/**
 * Causes faults of the devnet, one after another: a wrong clock of node 3, a suspended process of node 2 (SIGSTOP), a
 * network partition, and three restarts of node 3.
 */
async function faultsOfDevnet({ net }: Place, alerts: Alerts): Promise<void> {
  await askDevnet(net, 'skew', { node: 3, skewMs: -10_000 });
  await alerts.wait('BloomeryLag', 3);
  await alerts.wait('BloomeryClock', 3);
  await askDevnet(net, 'heal');
  await alerts.end('BloomeryLag');

  const { pid = 0 } = (await list(net))[2] ?? {};
  process.kill(pid, 'SIGSTOP');
  // Node 2 is suspended for 25 seconds. In this time, there are at least eleven whole slots of two seconds. The
  // delegate of node 2 owns at least one of these slots, even if a new round changes the order of the five delegates.
  // The delegate therefore misses at least one slot.
  await sleep(25_000);
  process.kill(pid, 'SIGCONT');
  await alerts.wait('BloomerySlotMissed', 2);

  await askDevnet(net, 'partition', { parts: [[2, 3]] });
  await sleep(25_000);
  await askDevnet(net, 'heal');
  await alerts.wait('BloomeryBlockReverted');

  for (let time = 1; time <= 3; time += 1) {
    await askDevnet(net, 'restart', { node: 3 });
    await sleep(3000);
  }
  await alerts.wait('BloomeryRestarts', 3);
}

/**
 * Starts one more node in the network of the devnet. This node has three faults: a small disk, much memory in use, and
 * a webhook that fails. Waits for the three alerts, and then ends this node.
 */
async function faultsOfOneNode(
  { directory, net, http, ws, children }: Place,
  alerts: Alerts,
  ports: readonly number[],
): Promise<ReadonlyMap<string, string>> {
  const left = new Map<string, string>();
  const small = join(directory, 'small');
  mkdirSync(small);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_MB}m`, 'tmpfs', small]);
  if (mounted.status !== 0) left.set('BloomeryDiskLow', 'no small file system can be mounted here');
  const ballast = join(directory, 'ballast.mjs');
  writeFileSync(
    ballast,
    `import { isMainThread } from 'node:worker_threads';\nif (isMainThread) globalThis.ballast = Buffer.alloc(${BALLAST_BYTES}, 1);\n`,
  );
  const config = join(directory, 'troubled.json');
  const port = http + NODES;
  writeFileSync(
    config,
    JSON.stringify({
      http: { port, host: '127.0.0.1' },
      p2p: { port: ws + NODES, host: '127.0.0.1', fixedPeers: ports.map((_, index) => `127.0.0.1:${ws + index}`) },
      forging: { enabled: false },
      memory: { limitMb: LIMIT_MB },
      // Nothing listens on this port.
      notify: { webhook: `http://127.0.0.1:${ws + NODES + 1}/` },
    }),
  );
  const flags = ['--network', join(net, 'network'), '--data-dir', join(small, 'data'), '--config', config];
  const troubled = spawn(process.execPath, [CLI_ENTRY, 'start', ...flags], {
    stdio: 'ignore',
    env: { ...process.env, NODE_OPTIONS: `--import=${ballast}` },
  });
  children.push(troubled);
  writeTargets(directory, [...ports, port]);
  if (!left.has('BloomeryDiskLow')) await alerts.wait('BloomeryDiskLow', NODES);
  await alerts.wait('BloomeryMemoryNearLimit', NODES);
  await alerts.wait('BloomeryNotifyFails', NODES);
  troubled.kill();
  await once(troubled, 'exit');
  writeTargets(directory, ports);
  return left;
}

/**
 * Sends to node 1 a block of the delegate that forged the node's tip. This block has the height of the tip, but another
 * timestamp. Then kills two nodes and does not restart them. After the first kill, the devnet forges blocks, but no
 * block becomes final. After the second kill, moves the chain clock forward by ten minutes, in which no node forges a
 * block.
 */
async function faultsThatStay({ net, http, ws }: Place, alerts: Alerts): Promise<void> {
  await askDevnet(net, 'mode', { mode: 'on-demand' });
  await askDevnet(net, 'mine', { slots: 1 });
  await sendSecondBlock(net, { http: http + 1, ws: ws + 1 });
  await alerts.wait('BloomeryDoubleForging', 1);
  // Node 0 has two of the five delegates. The other three are too few to make blocks final.
  await askDevnet(net, 'kill', { node: 0 });
  await alerts.wait('BloomeryDown', 0);
  // `BloomeryFinalityStands` needs more than 100 new blocks in its window, while the finalized height stays the same.
  const mining = new AbortController();
  const mined = mineUntil(net, mining.signal);
  try {
    await alerts.wait('BloomeryFinalityStands', 1);
  } catch (error) {
    const figures = await alerts.figures([
      `delta(bloomery_chain_height[${FINALITY_WINDOW}])`,
      `changes(bloomery_chain_finalized_height[${FINALITY_WINDOW}])`,
    ]);
    throw new Error(`${messageOf(error)}\n${figures}`, { cause: error });
  } finally {
    mining.abort();
    await mined;
  }
  await askDevnet(net, 'kill', { node: 3 });
  await alerts.wait('BloomeryFewPeers', 1);
  await askDevnet(net, 'warp', { to: '10m' });
  await alerts.wait('BloomeryChainStands', 1);
}

/**
 * Lets the devnet forge in 25 slots at a time, with pauses of only 100 ms. With longer pauses, a busy machine forged
 * fewer blocks in the window than the alert requires. Because only three of the five delegates forge, 101 blocks take
 * 169 slots. Stops when `signal` is aborted, or after `ALERT_MS_MAX`.
 */
async function mineUntil(net: string, signal: AbortSignal): Promise<void> {
  const endMs = performance.now() + ALERT_MS_MAX;
  while (!signal.aborted && performance.now() < endMs) {
    await askDevnet(net, 'mine', { slots: 25 });
    await sleep(100, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Connects to a node as a peer, and sends a second block of the delegate that forged the node's tip. The second block
 * has the height and slot of the tip, and a timestamp that is one second later.
 */
async function sendSecondBlock(net: string, ports: { readonly http: number; readonly ws: number }): Promise<void> {
  const network = loadNetwork(join(net, 'network'));
  const [tip] = ((await (await fetch(`http://127.0.0.1:${ports.http}/api/blocks?limit=1`)).json()) as Untyped).data;
  const delegate = readAccounts(network.directory).find(({ publicKey }) => publicKey === tip.generatorPublicKey);
  assert(delegate !== undefined, 'the keys of the delegates are public');
  const { version, height, timestamp, previousBlockId, maxHeightPrevoted, maxHeightPreviouslyForged } = tip;
  const header = headerWith({
    ...{ version, height, previousBlockId, maxHeightPrevoted, maxHeightPreviouslyForged },
    timestamp: timestamp + 1,
    reward: BigInt(tip.reward),
  });
  const block = signBlock({ ...header, transactions: [] }, {}, keyPairOfPassphrase(delegate.passphrase));
  const { protocolVersion, appVersion, params } = network;
  const nonce = 'secondblock00000';
  const identity = { networkName: '', version: appVersion, protocolVersion, build: '', commit: '', nonce };
  const dialect = partsOf(params).createDialect(params, identity);
  const query = dialect.query({
    os: 'linux',
    version: appVersion,
    wsPort: 5000,
    httpPort: 0,
    protocolVersion,
    nonce,
    height: 1,
  });
  const packed = dialect.packMessage({ kind: 'block', block: createRules(params).codec.blockToJson(block) });
  assert(packed !== undefined, 'the generation has a word for a block');
  const target = `${dialect.path}?${new URLSearchParams(query).toString()}`;
  const peer = new Intruder({ host: '127.0.0.1', port: ports.ws, target, ip: '127.99.1.1' });
  assert(await peer.greet(), 'the node takes the stranger for a peer');
  peer.sendFrame({ event: packed.event, data: packed.data });
  await sleep(2000);
  peer.leave();
}

interface ListedNode {
  readonly state: string;
  readonly pid?: number;
}

async function list(net: string): Promise<readonly ListedNode[]> {
  return ((await askDevnet(net, 'list')) as Untyped).nodes;
}

/** The alerts of a Prometheus server. */
class Alerts {
  /** Names of the alerts that fired after the test had caused their fault. */
  readonly seen = new Set<string>();
  readonly #url: string;
  readonly #firstPort: number;
  readonly #log: (line: string) => void;

  constructor(port: number, firstPort: number, log: (line: string) => void) {
    this.#url = `http://127.0.0.1:${port}/api/v1`;
    this.#firstPort = firstPort;
    this.#log = log;
  }

  async count(expression: string): Promise<number> {
    return (await this.#ask(`query?query=${encodeURIComponent(expression)}`)).result.length;
  }

  /**
   * Returns a text with the values of Prometheus expressions, one line for each expression. The text helps to explain
   * why an alert did not fire.
   */
  async figures(expressions: readonly string[]): Promise<string> {
    const lines = expressions.map(async (expression) => {
      const { result } = await this.#ask(`query?query=${encodeURIComponent(expression)}`);
      return `${expression}: ${result.map(({ metric, value }: Untyped) => `${metric.instance} ${value[1]}`).join(', ')}`;
    });
    return (await Promise.all(lines)).join('\n');
  }

  /** Returns the alerts that fire now: the name of each alert, and the number of its node. */
  async firing(): Promise<readonly { readonly name: string; readonly node: number }[]> {
    const { alerts } = await this.#ask('alerts');
    return alerts
      .filter(({ state }: Untyped) => state === 'firing')
      .map(({ labels }: Untyped) => ({
        name: labels.alertname,
        node: Number(labels.instance.split(':')[1]) - this.#firstPort,
      }));
  }

  /** Waits until an alert fires. If `node` is given, the alert must fire for this node. */
  async wait(name: string, node?: number): Promise<void> {
    const beganMs = performance.now();
    const fires = async (): Promise<boolean> =>
      (await this.firing()).some((each) => each.name === name && (node === undefined || each.node === node));
    await waitFor(`${name}${node === undefined ? '' : ` of node ${node}`}`, fires, ALERT_MS_MAX);
    this.seen.add(name);
    this.#log(`${name} fires ${((performance.now() - beganMs) / 1000).toFixed(1)} s later`);
  }

  /** Waits until an alert has stopped firing for all nodes. */
  async end(name: string): Promise<void> {
    const isOver = async (): Promise<boolean> => (await this.firing()).every((each) => each.name !== name);
    await waitFor(`the end of ${name}`, isOver, ALERT_MS_MAX);
  }

  async #ask(path: string): Promise<Untyped> {
    const answer = (await (await fetch(`${this.#url}/${path}`)).json()) as Untyped;
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }
}

/**
 * Replaces the file that lists the scrape targets of Prometheus. Prometheus reads the file again when it changes. The
 * replacement is atomic, so Prometheus never reads an incomplete list.
 */
function writeTargets(directory: string, ports: readonly number[]): void {
  const targets = ports.map((port) => `127.0.0.1:${port}`);
  const written = join(directory, 'targets.json.new');
  writeFileSync(written, JSON.stringify([{ targets }]));
  renameSync(written, join(directory, 'targets.json'));
}

function startPrometheus(program: string, directory: string, port: number): ChildProcess {
  // Prometheus expects YAML, and JSON is valid YAML.
  const write = (name: string, content: unknown): string => {
    const file = join(directory, name);
    writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const rules = write('rules.json', shortened(parse(readFileSync(RULES_FILE, 'utf8')) as Untyped));
  const discovery = { files: [join(directory, 'targets.json')], refresh_interval: '1s' };
  const config = write('prometheus.json', {
    global: { scrape_interval: '2s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'bloomery', file_sd_configs: [discovery] }],
  });
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  return spawn(program, flags, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/**
 * Returns a copy of the rules with two shorter times. `FOR` replaces the value of each member `for`. `FINALITY_WINDOW`
 * replaces the time window of the alert `BloomeryFinalityStands`. The time windows of all other alerts, and the
 * thresholds of all rules, stay the same.
 */
function shortened({ groups }: Untyped): Untyped {
  return {
    groups: groups.map((group: Untyped) => ({
      ...group,
      rules: group.rules.map((rule: Untyped) => ({
        ...rule,
        ...(rule.for === undefined ? {} : { for: FOR }),
        ...(rule.alert === 'BloomeryFinalityStands'
          ? { expr: rule.expr.replaceAll('[30m]', `[${FINALITY_WINDOW}]`) }
          : {}),
      })),
    })),
  };
}
