/** Runs a single node in its own process, with the command `bloomery start`. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { CLI_ENTRY } from './cli.ts';
import { lastWordsOf, waitFor } from './devnet.ts';
import { temporaryFolder } from './network-folder.ts';
import { freePortRanges } from './ports.ts';
import type { Untyped } from './untyped.ts';

export interface OneNode {
  readonly url: string;
  readonly wsPort: number;
  readonly place: { readonly url: string; readonly network: string; readonly dataDir: string; readonly config: string };
  readonly process: ChildProcess;
  /** Resolves when the process is gone. */
  readonly ended: Promise<unknown>;
}

export interface OneNodeOptions {
  /** Network folder. */
  readonly network?: string;
  readonly fixedPeers?: readonly string[];
  /** Data folder of the node, with or without a chain; default: an empty folder. */
  readonly dataDir?: string;
  /**
   * Settings of the configuration file, except `p2p` and `verifier`, which `startOneNode` sets. The section
   * `forging` is replaced as a whole, and forging is off without it.
   */
  readonly config?: Untyped;
  readonly flags?: readonly string[];
  /** Additional or changed environment variables, which have priority over the configuration. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ports of the node; default: any free ports. */
  readonly ports?: { readonly http: number; readonly ws: number };
  /** Time by which the node's clock is ahead of the clock of the machine, in milliseconds. */
  readonly clockOffsetMs?: number;
  /**
   * A file that contains a clock offset in milliseconds. The node rereads the file, so a write moves the clock of the
   * running node.
   */
  readonly clockFile?: string;
}

const STARTS_WITHIN_MS = 150_000;
/** Time limit for the diagnostics of a node after a failed test. */
const ANSWERS_WITHIN_MS = 5_000;
const DIAGNOSTICS_SHOWN_MAX = 20;

/** Resolves when the node answers. The node ends with the test. */
export async function startOneNode(
  t: ExecutionContext,
  options: OneNodeOptions & Required<Pick<OneNodeOptions, 'network' | 'fixedPeers'>>,
): Promise<OneNode> {
  const { network, fixedPeers, config: settings = {}, flags = [], clockOffsetMs = 0 } = options;
  const folder = temporaryFolder(t);
  const { http, ws } = options.ports ?? (await freePortRanges(1));
  const config = join(folder, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      // Some network folders contain passphrases of delegates, with which every node would forge. Forging is therefore
      // off by default.
      forging: { enabled: false },
      ...settings,
      http: { port: http, host: '127.0.0.1', ...settings.http },
      p2p: { port: ws, host: '127.0.0.1', fixedPeers },
      verifier: { threads: 0 },
    }),
  );
  const dataDir = options.dataDir ?? join(folder, 'data');
  mkdirSync(dataDir, { recursive: true });
  const log = openSync(join(folder, 'log'), 'a');
  const isMoved = clockOffsetMs !== 0 || options.clockFile !== undefined;
  const preload = isMoved ? ['--import', movedClock(clockOffsetMs, options.clockFile)] : [];
  const args = ['start', '--network', network, '--data-dir', dataDir, '--config', config, ...flags];
  const child = spawn(process.execPath, [...preload, CLI_ENTRY, ...args], {
    stdio: ['ignore', 'ignore', log],
    env: { ...process.env, ...options.env },
  });
  closeSync(log);
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${http}`;
  t.teardown(async () => {
    if (!t.passed) t.log(`${await lastDiagnosticsOf(url)}\n${lastWordsOf(join(folder, 'log'))}`);
    child.kill('SIGKILL');
    await ended;
  });
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await waitFor(
    `a node with ${JSON.stringify(options)}`,
    () => fetch(url),
    STARTS_WITHIN_MS,
    () => (isGone() ? `it ended: ${lastWordsOf(join(folder, 'log'))}` : undefined),
  );
  return { url, wsPort: ws, place: { url, network, dataDir, config }, process: child, ended };
}

/** Returns the status and the last diagnostics of a running node, for the message of a failure. */
async function lastDiagnosticsOf(url: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    const [status, diagnostics] = await Promise.all(
      ['status', 'diagnostics?limit=100'].map(async (name) =>
        (await fetch(`${url}/api/node/${name}`, { signal })).json(),
      ),
    );
    const lines = (diagnostics as Untyped).data.map((each: unknown) => JSON.stringify(each).slice(0, 200));
    return [JSON.stringify((status as Untyped).data), ...lines.slice(0, DIAGNOSTICS_SHOWN_MAX)].join('\n');
  } catch (error) {
    return `no answer of the node: ${String(error)}`;
  }
}

/** Returns the data URL of a module that moves the clock of the process that imports the module. */
function movedClock(offsetMs: number, file: string | undefined): string {
  const following = `
    import { readFileSync } from 'node:fs';
    const look = () => {
      try { aheadMs = Number(readFileSync(${JSON.stringify(file)}, 'utf8')); } catch { /* Not written yet. */ }
    };
    setInterval(look, 100).unref();`;
  const shift = `
    let aheadMs = ${offsetMs};
    const now = Date.now;
    Date.now = () => now() + aheadMs;
    ${file === undefined ? '' : following}`;
  return `data:text/javascript,${encodeURIComponent(shift)}`;
}
