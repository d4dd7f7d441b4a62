/**
 * Creates and controls the nodes of a world. Real nodes (of lisk-sdk) and our nodes have the same interface
 * `InteropNode`.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ForgerEntry } from '../../src/config/network.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { ask, statusOf } from './http.ts';
import { realFile } from './install.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProcess } from './processes.ts';
import { BLOCK_TIME_S, type World } from './world.ts';

export type Kind = 'real' | 'ours';

export interface InteropNode {
  readonly kind: Kind;
  readonly name: string;
  readonly url: string;
  /** Address and port that other nodes dial. */
  readonly address: string;
  readonly ip: string;
  readonly wsPort: number;
  /** Local address on which the node listens. */
  readonly bindIp: string;
  readonly logFile: string;
  /** Starts or restarts the node, and resolves when the node answers an HTTP request. */
  start(setup: NodeSetup): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  isRunning(): boolean;
}

export interface NodeSetup {
  /** Peers that the node always dials, as `ip:port`. */
  readonly peers?: readonly string[];
  readonly delegates?: readonly ForgerEntry[];
  /**
   * Whether the delegates forge from the start of the node on, even if few peers have the same tip as the node. True by
   * default.
   */
  readonly force?: boolean;
  /**
   * If this member is set, the clock of the node starts this number of slots in the past, and runs faster than real
   * time.
   */
  readonly pastSlots?: number;
  /** Options of our HTTP server that differ from the defaults. Real nodes ignore this member. */
  readonly http?: object;
  /** Whether the node connects to no peers. Real nodes ignore this member. */
  readonly isAlone?: boolean;
}

export interface NodePlace {
  /** Local address on which the node listens, by default 127.0.0.1. */
  readonly bindIp?: string;
  /** Address that other nodes dial, if it differs from `bindIp`. */
  readonly ip?: string;
}

/**
 * Speed of the clock in past slots, as a multiple of real time. At speed 8, a slot takes 0.25 s. This is long enough to
 * forge a block even on a busy machine.
 */
const SPEED = 8;
const ANSWER_MS_MAX = 180_000;
let count = 0;

export async function makeNode(world: World, kind: Kind, place: NodePlace = {}): Promise<InteropNode> {
  const name = `${kind}${++count}`;
  const folder = join(world.folder, name);
  mkdirSync(folder);
  const { bindIp = '127.0.0.1', ip = bindIp } = place;
  const seat: Seat = { name, folder, bindIp, httpPort: await freePort(), wsPort: await freePort() };
  if (kind === 'real') await world.postgres.create(`interop_${name}`);
  let running: RunningProcess | undefined;
  const url = `http://${bindIp}:${seat.httpPort}`;
  const logFile = join(folder, 'node.log');
  const node: InteropNode = {
    kind,
    name,
    url,
    ip,
    address: `${ip}:${seat.wsPort}`,
    wsPort: seat.wsPort,
    bindIp,
    logFile,
    async start(setup) {
      running = kind === 'real' ? startReal(world, seat, setup, logFile) : startOurs(world, seat, setup, logFile);
      await answering(running, url, logFile);
    },
    stop: async () => void (await running?.stop()),
    kill: async () => void (await running?.kill()),
    isRunning: () => running?.isRunning() === true,
  };
  world.nodes.push(node);
  return node;
}

interface Seat {
  readonly name: string;
  readonly folder: string;
  readonly bindIp: string;
  readonly httpPort: number;
  readonly wsPort: number;
}

function startOurs(world: World, seat: Seat, setup: NodeSetup, logFile: string): RunningProcess {
  const { delegates = [], peers = [], force = true } = setup;
  const config = {
    http: { port: seat.httpPort, host: seat.bindIp, accessWhitelist: ['127.0.0.0/8'], ...setup.http },
    p2p: {
      port: seat.wsPort,
      host: seat.bindIp,
      fixedPeers: peers,
      enabled: setup.pastSlots === undefined && !setup.isAlone,
    },
    forging: { force, defaultPassword: world.password, delegates },
    verifier: { threads: 0 },
    log: { level: 'debug', format: 'json' },
  };
  const file = join(seat.folder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  return world.processes.start({
    name: seat.name,
    command: process.execPath,
    args: [
      ...clockArguments(setup),
      ...[CLI_ENTRY, 'start', '--network', world.network.directory, '--data-dir', seat.folder, '--config', file],
    ],
    logFile,
    stopSignal: 'SIGTERM',
    env: { BLOOMERY_HOME: seat.folder, BLOOMERY_SUPERVISED: '1', ...clockVariables(setup) },
    channel: true,
  });
}

function startReal(world: World, seat: Seat, setup: NodeSetup, logFile: string): RunningProcess {
  const { network } = world;
  const settings = {
    sdk: world.release.sdk,
    bindIp: seat.bindIp,
    genesisBlock: JSON.parse(readFileSync(join(network.directory, 'genesis.json'), 'utf8')) as object,
    config: realConfig(world, seat, setup),
  };
  const file = join(seat.folder, 'settings.json');
  writeFileSync(file, JSON.stringify(settings));
  return world.processes.start({
    name: seat.name,
    command: world.release.node,
    args: [...clockArguments(setup), realFile('node.cjs')],
    logFile,
    stopSignal: 'SIGTERM',
    cwd: seat.folder,
    env: { INTEROP_SETTINGS: file, ...clockVariables(setup) },
    channel: true,
  });
}

/**
 * Returns the options for the constructor `Application` of lisk-sdk, in a form that both releases accept. All other
 * options keep their defaults.
 */
function realConfig(world: World, seat: Seat, setup: NodeSetup): object {
  const { network, generation, postgres, release } = world;
  const { params } = network;
  const peers = (setup.peers ?? []).map((peer) => ({ ip: ipOf(peer), wsPort: portOf(peer) }));
  const rewards = {
    MILESTONES: params.rewards.milestones.map(String),
    OFFSET: params.rewards.offset,
    DISTANCE: params.rewards.distance,
  };
  return {
    app: {
      // The path must be short, because lisk-sdk allows at most 50 characters for `tempPath`.
      tempPath: join(world.folder, 't'),
      label: `interop-${seat.name}`,
      version: release.sdkVersion,
      minVersion: '1.0.0',
      protocolVersion: generation === 2 ? '1.1' : '2.0',
      genesisConfig: {
        EPOCH_TIME: '2016-05-24T17:00:00.000Z',
        BLOCK_TIME: BLOCK_TIME_S,
        MAX_TRANSACTIONS_PER_BLOCK: params.transactionsPerBlockMax,
        REWARDS: rewards,
        ...(generation === 3 ? { DELEGATE_LIST_ROUND_OFFSET: 2 } : {}),
      },
    },
    // The names of the log files are relative to the working directory of the node's process.
    components: {
      logger: { fileLogLevel: 'debug', consoleLogLevel: 'none', logFileName: 'node.log' },
      storage: {
        logFileName: 'storage.log',
        host: '127.0.0.1',
        port: postgres.port,
        database: `interop_${seat.name}`,
        user: postgres.user,
        password: 'none',
        max: 20,
      },
      cache: { enabled: false },
    },
    modules: {
      http_api: {
        httpPort: seat.httpPort,
        address: seat.bindIp,
        access: { public: true, whiteList: [] },
        forging: { access: { whiteList: ['127.0.0.1'] } },
        options: {
          limits: {
            max: 0,
            delayMs: 0,
            delayAfter: 0,
            windowMs: 60_000,
            headersTimeout: 5000,
            serverSetTimeout: 20_000,
          },
          cors: { origin: '*', methods: ['GET', 'POST', 'PUT'] },
        },
      },
      chain: {
        forging: {
          force: setup.force ?? true,
          defaultPassword: world.password,
          delegates: setup.delegates ?? [],
          ...(generation === 3 ? { waitThreshold: 1 } : {}),
        },
      },
      network: { wsPort: seat.wsPort, seedPeers: [], fixedPeers: peers },
    },
  };
}

function clockArguments({ pastSlots }: NodeSetup): readonly string[] {
  return pastSlots === undefined ? [] : ['-r', realFile('clock.cjs')];
}

function clockVariables({ pastSlots }: NodeSetup): Readonly<Record<string, string>> {
  if (pastSlots === undefined) return {};
  return {
    INTEROP_CLOCK: JSON.stringify({ fromMs: Date.now() - pastSlots * BLOCK_TIME_S * 1000, speed: SPEED }),
  };
}

async function answering(running: RunningProcess, url: string, logFile: string): Promise<void> {
  const startedMs = Date.now();
  for (;;) {
    try {
      await statusOf(url);
      return;
    } catch (error) {
      const log = existsSync(logFile) ? readFileSync(logFile, 'utf8').slice(-2000) : '';
      if (!running.isRunning()) throw new Error(`the node ended (${await running.ended}):\n${log}`, { cause: error });
      if (Date.now() - startedMs > ANSWER_MS_MAX)
        throw new Error(`the node does not answer:\n${log}`, { cause: error });
      await sleep(200);
    }
  }
}

/** Sends HTTP requests that enable or disable forging for delegates of a node. */
export async function setForging(
  node: InteropNode,
  delegates: readonly ForgerEntry[],
  password: string,
  forging: boolean,
): Promise<void> {
  for (const { publicKey } of delegates) {
    await ask(node.url, 'node/status/forging', { method: 'PUT', body: { publicKey, password, forging } });
  }
}

function ipOf(address: string): string {
  return address.slice(0, address.indexOf(':'));
}

function portOf(address: string): number {
  return Number(address.slice(address.indexOf(':') + 1));
}
