/** Runs HAProxy with the configuration file of docs/deploy in front of test nodes. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';
import { waitFor } from '../support/devnet.ts';

export interface Haproxy {
  /** Returns the error output of HAProxy, which shows which nodes HAProxy took out of service, and why. */
  log(): string;
  /** Returns counts from HAProxy's statistics, each as the sum over all nodes. */
  counts(): Promise<HaproxyCounts>;
  stop(): Promise<void>;
}

export interface HaproxyCounts {
  /** How often HAProxy retried a connection or a request. */
  readonly retries: number;
  /** How often a node changed from up to down. */
  readonly downs: number;
}

/**
 * Paths at which the test searches for HAProxy. The search path of the shell is not enough, because Debian installs
 * HAProxy in a folder that only root has in the search path.
 */
const PLACES = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/usr/bin/haproxy', '/usr/local/bin/haproxy'];
const START_MS_MAX = 30_000;

/** @returns path of HAProxy; undefined if HAProxy is not installed */
export function haproxyProgram(): string | undefined {
  return PLACES.find((place) => existsSync(place));
}

export function deployedConfig(): string {
  return readFileSync(join(packageDirectory(), 'docs', 'deploy', 'haproxy.cfg'), 'utf8');
}

/** @returns the errors and warnings of `haproxy -c` for a configuration file; undefined if there are none */
export function complaintAbout(program: string, file: string): string | undefined {
  const { status, stderr } = spawnSync(program, ['-c', '-q', '-f', file], { encoding: 'utf8' });
  return status === 0 && stderr === '' ? undefined : stderr;
}

/**
 * Starts HAProxy with the configuration file of docs/deploy, but with the addresses of the test. Resolves when HAProxy
 * has found all nodes ready.
 *
 * @param ports the ports of HAProxy itself and of the three nodes
 */
export async function startHaproxy(
  program: string,
  directory: string,
  ports: { readonly own: number; readonly nodes: readonly number[] },
): Promise<Haproxy> {
  const socket = join(directory, 'haproxy.sock');
  const config = deployedConfig()
    .replace(/^global$/m, `global\n    stats socket ${socket}`)
    .replace(/^( +bind) .*$/m, `$1 127.0.0.1:${ports.own}`)
    .replaceAll(/^( +server node([0-9]+)) \S+/gm, (_line, start: string, number: string) => {
      return `${start} 127.0.0.1:${ports.nodes[Number(number) - 1]}`;
    });
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(file, config);
  const child = spawn(program, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  const rows = async (): Promise<readonly Readonly<Record<string, string>>[]> => {
    const [head = '', ...lines] = (await outputOf(socket, 'show stat')).replace(/^# /, '').trim().split('\n');
    const names = head.split(',');
    return lines.map((line) => Object.fromEntries(line.split(',').map((value, index) => [names[index] ?? '', value])));
  };
  const ofNodes = async () => (await rows()).filter(({ svname = '' }) => svname.startsWith('node'));
  try {
    await waitFor(
      'nodes that HAProxy finds ready',
      async () => (await ofNodes()).every(({ status = '' }) => status.startsWith('UP') && status !== 'UP 1/2'),
      START_MS_MAX,
      () => (child.exitCode === null ? undefined : log),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    log: () => log,
    counts: async () => {
      const nodes = await ofNodes();
      const sum = (name: string): number => nodes.reduce((total, row) => total + Number(row[name] ?? 0), 0);
      return { retries: sum('wretr'), downs: sum('chkdown') };
    },
    stop,
  };
}

async function outputOf(path: string, command: string): Promise<string> {
  const socket = connect({ path });
  socket.end(`${command}\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
