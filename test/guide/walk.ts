/**
 * Runs the commands of a page of docs/guides with real processes. Changes only the ports, the generation and the number
 * of devnet nodes.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeClient } from '../../src/cli/node-client.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import { stepsOf, type Step } from './page.ts';

export interface WalkOptions {
  /** Name of the page, by default `forge.md`. */
  readonly page?: string;
  readonly generation: Generation;
  /** An empty folder. */
  readonly directory: string;
  /** Number of nodes in the devnet. */
  readonly nodes: number;
  /** Last section to run. If set, the walk skips shell blocks with an `until` loop. */
  readonly lastSection?: string;
  readonly stepTimeoutMs: number;
  /** The walk calls this function with each progress line. */
  readonly print: (line: string) => void;
}

export interface Walk {
  /** Standard output of all commands, except those that run until the walk stops them. */
  readonly output: string;
  /** Headers that the delegate of the guide signed, by data folder. */
  readonly signed: ReadonlyMap<string, readonly SignedHeader[]>;
}

const PORTS_NEEDED = 20;
const ANSWER_DEADLINE_MS = 150_000;
const STOP_MS_MAX = 60_000;

export async function walkGuide(options: WalkOptions): Promise<Walk> {
  const { directory, lastSection, print, page = 'forge.md' } = options;
  const ports = await freePortRanges(PORTS_NEEDED);
  const steps = stepsOf(page);
  const running: ChildProcess[] = [];
  let output = '';
  const started = Date.now();
  writeShim(directory);
  try {
    let section = '';
    for (const step of steps) {
      if (lastSection !== undefined && section === lastSection && step.section !== lastSection) break;
      if (step.section !== section) print(`${seconds(started)} ${step.section}`);
      section = step.section;
      if (step.kind === 'stop') {
        await stop(running.pop());
        continue;
      }
      const text = adapted(step, options, ports);
      if (lastSection !== undefined && /^until /m.test(text)) continue;
      if (step.kind === 'running') running.push(await startRunning(text, directory));
      else output += await run(text, options);
    }
    print(`${seconds(started)} done`);
    return { output, signed: signedIn(directory, keyOf(output)) };
  } finally {
    for (const child of running.reverse()) await stop(child);
  }
}

function seconds(started: number): string {
  return `${((Date.now() - started) / 1000).toFixed(0).padStart(5)} s`;
}

/** Replaces the ports and the generation, and adds the number of devnet nodes. */
function adapted(
  step: Exclude<Step, { kind: 'stop' }>,
  { generation, nodes }: WalkOptions,
  ports: { readonly http: number; readonly ws: number },
): string {
  const moved = step.text
    .replace(/\b40(00|10)\b/g, (_, last: string) => String(ports.http + Number(last)))
    .replace(/\b50(00|10)\b/g, (_, last: string) => String(ports.ws + Number(last)))
    .replace('bloomery devnet --generation', `bloomery devnet --nodes ${nodes} --generation`);
  if (generation === 3) return moved;
  return moved.replaceAll('--generation 3', '--generation 2').replace('NETWORK=devnet', 'NETWORK=devnet-gen2');
}

/** Writes a program `bloomery` like the one of an installed package. */
function writeShim(directory: string): void {
  const folder = join(directory, 'bin');
  mkdirSync(folder);
  const file = join(folder, 'bloomery');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${CLI_ENTRY}' "$@"\n`);
  chmodSync(file, 0o755);
}

function environment(directory: string): NodeJS.ProcessEnv {
  const path = process.env['PATH'] ?? '';
  return {
    PATH: [join(directory, 'bin'), path].join(delimiter),
    HOME: directory,
    BLOOMERY_HOME: join(directory, 'home'),
    // With this variable, the nodes end by themselves if the walk is killed.
    BLOOMERY_SUPERVISED: '1',
    // The time limit is long, because tests of other files run on the same processors.
    BLOOMERY_NODE_TIMEOUT_S: '60',
  };
}

/** Runs a shell block of the page with the shell variables and functions of the previous shell blocks. */
async function run(text: string, { directory, stepTimeoutMs }: WalkOptions): Promise<string> {
  const state = join(directory, 'shell-state');
  const before = existsSync(state) ? `. '${state}'\n` : '';
  const after = `{ declare -p | grep -v '^declare -[a-z]*r' ; declare -f; umask | sed 's/^/umask /'; } > '${state}'`;
  const script = `set -eu -o pipefail\n${before}${text}\n${after}\n`;
  const child = spawn('bash', ['-c', script], {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const timer = setTimeout(() => endGroup(child), stepTimeoutMs);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  try {
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    if (code === 0) return stdout;
    throw new Error(`exit code ${code} of\n${text}\nstandard output:\n${stdout}\nstandard error:\n${stderr}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Starts a command that keeps running, and waits until its node answers. */
async function startRunning(text: string, directory: string): Promise<ChildProcess> {
  const state = join(directory, 'shell-state');
  const before = existsSync(state) ? `. '${state}'\n` : '';
  const child = spawn('bash', ['-c', `${before}exec ${text}`], {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (output = `${output}${part}`.slice(-20_000)));
  const deadlineMs = Date.now() + ANSWER_DEADLINE_MS;
  const port = httpPortOf(text, directory);
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ended early: ${text}\n${output}`);
    const state = await nodeClient(`http://127.0.0.1:${port}`)
      .status()
      .catch(() => undefined);
    if (state !== undefined && !state.syncing && state.height > 1) return child;
    if (Date.now() > deadlineMs) throw new Error(`no answer in time: ${text}\n${output}`);
    await sleep(250);
  }
}

function httpPortOf(text: string, directory: string): string {
  const given =
    /--http-port (\d+)/.exec(text) ??
    /http: \{ port: (\d+)/.exec(readFileSync(join(directory, 'forger.json5'), 'utf8'));
  return given?.[1] ?? '';
}

/** Stops a process. Ctrl-C would send SIGINT, which a supervised process ignores, so this function sends SIGTERM. */
async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await ended;
  clearTimeout(timer);
  if (child.signalCode === 'SIGKILL') throw new Error('a process of the guide did not stop in time');
}

function endGroup(child: ChildProcess): void {
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
}

function keyOf(output: string): string {
  return /^public key {2}([0-9a-f]{64})$/m.exec(output)?.[1] ?? '';
}

/**
 * Reads the signing journals in the data folders of the guide. Returns, for each folder, the headers that the delegate
 * has signed.
 */
function signedIn(directory: string, publicKey: string): ReadonlyMap<string, readonly SignedHeader[]> {
  const found = new Map<string, readonly SignedHeader[]>();
  for (const folder of ['forger', 'elsewhere', 'bare']) {
    const file = ['devnet', 'devnet-gen2']
      .map((network) => join(directory, folder, network, 'forging-journal'))
      .find((each) => existsSync(each));
    if (file === undefined) continue;
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'));
    const entries = lines.map(
      (line) => JSON.parse(line.slice(line.indexOf('{'))) as SignedHeader & { delegate: string },
    );
    found.set(
      folder,
      entries.filter(({ delegate, blockId }) => delegate === publicKey && blockId !== undefined),
    );
  }
  return found;
}
