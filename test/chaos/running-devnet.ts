/**
 * Runs `bloomery devnet` as a user does: one process starts the nodes as its child processes. To control the devnet,
 * the tests run further commands such as `bloomery devnet kill`.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANSWERS, type ControlNode } from '../../src/cli/devnet/control-answers.ts';
import { nodeClient, type NodeClient } from '../../src/cli/node-client.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { lastWordsOf, waitFor } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';
import { isAlive } from '../support/alive.ts';

/**
 * `bloomery devnet` has its own time limit for the start. If the limit passes, the command reports the reason and ends.
 * `START_MS_MAX` is longer, and applies only if the command does not end by itself.
 */
const START_MS_MAX = 400_000;
const END_MS_MAX = 60_000;
/** Maximum number of characters of the devnet's output in the message of a failure. */
const OUTPUT_CHARS_MAX = 4000;
/** Maximum number of nodes that can join later. */
const ADDED_MAX = 1;

export interface RunningDevnet {
  readonly directory: string;
  /**
   * Runs `bloomery devnet ARGS` to its end and returns its JSON output.
   *
   * @throws Error with the error output of the command if its exit code is not 0
   */
  command(...args: readonly string[]): Promise<unknown>;
  nodes(): Promise<readonly ControlNode[]>;
  /** Returns a client of the node with number `index`. The node may be down. */
  client(index: number): NodeClient;
  url(index: number): string;
  /** Returns the reason to stop waiting if the devnet has ended; undefined while the devnet runs. */
  lost(): string | undefined;
  lastWords(count: number): string;
  /**
   * Runs `bloomery devnet stop`. Resolves with the exit code of the devnet when all processes have ended.
   *
   * @throws Error if a node still runs after `END_MS_MAX`
   */
  stop(): Promise<number | null>;
  /** Ends the devnet, whatever its state, and removes its folder. */
  close(): Promise<void>;
}

/** Starts a devnet with `flags`, free ports and a temporary folder, and waits until all nodes answer. */
export async function runningDevnet(count: number, flags: readonly string[]): Promise<RunningDevnet> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-devnet-run-'));
  const { http, ws } = await freePortRanges(count + ADDED_MAX);
  const places = ['--http-port', `${http}`, '--ws-port', `${ws}`, '--data-dir', directory];
  const supervisor = spawn(process.execPath, [CLI_ENTRY, 'devnet', '--nodes', `${count}`, ...places, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, BLOOMERY_HOME: directory, BLOOMERY_FORGING_WATERMARK_FOLDER: 'none' },
  });
  let output = '';
  for (const stream of [supervisor.stdout, supervisor.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = `${output}${text}`.slice(-OUTPUT_CHARS_MAX)));
  }
  const ended = new Promise<number | null>((resolve) => supervisor.once('exit', resolve));
  const url = (index: number): string => `http://127.0.0.1:${http + index}`;
  const devnet: RunningDevnet = {
    directory,
    url,
    async command(...args) {
      const { code, stdout, stderr } = await runCli(['devnet', ...args, '--data-dir', directory, '--json']);
      if (code !== 0) throw new Error(`bloomery devnet ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    nodes: async () => ANSWERS.list.read(await devnet.command('list')).nodes,
    client: (index) => nodeClient(url(index)),
    lost: () => (supervisor.exitCode === null ? undefined : `the devnet ended: ${output}`),
    lastWords: (all) => {
      const logs = Array.from({ length: all }, (_, index) => {
        return `log of node ${index}: ${lastWordsOf(join(directory, `node-${index}`, 'node.log'))}`;
      });
      return [output, ...logs].join('\n');
    },
    async stop() {
      const pids = (await devnet.nodes()).flatMap(({ pid }) => pid ?? []);
      await devnet.command('stop');
      const code = await ended;
      await waitFor('end of the nodes', () => Promise.resolve(!pids.some(isAlive)), END_MS_MAX);
      return code;
    },
    async close() {
      supervisor.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
  try {
    for (let index = 0; index < count; index += 1) {
      await waitFor(`node ${index}`, () => devnet.client(index).status(), START_MS_MAX, devnet.lost);
    }
  } catch (error) {
    await devnet.close();
    throw error;
  }
  return devnet;
}
