/** Runs `bloomery` commands as real processes. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';

/** The file that `bin/bloomery.js` loads: the whole program, bundled into one file. */
export const CLI_ENTRY = fileURLToPath(new URL('../../src/bundle/main.js', import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text for the standard input of the process; default: empty. */
  readonly input?: string;
  /** Working folder of the process; default: the working folder of the tests. */
  readonly cwd?: string;
  /** Time after which `runCli` kills the process; default: 100 s. */
  readonly timeoutMs?: number;
}

/** No command needs nearly this much time, even on a slow machine. */
const TIMEOUT_MS = 100_000;

/** Runs a command to its end. `BLOOMERY_HOME` is an empty folder by default. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const home = mkdtempSync(join(tmpdir(), 'bloomery-home-'));
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], {
    env: { PATH: process.env['PATH'], HOME: home, BLOOMERY_HOME: home, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  // A command that does not read its standard input sometimes ends before the write, and then the write fails.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? TIMEOUT_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  try {
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stdout, stderr };
  } finally {
    clearTimeout(timer);
    rmSync(home, { recursive: true, force: true });
  }
}

/** Returns whether the output is exactly one error line, without a stack trace. */
export function isProblemLine(stderr: string): boolean {
  return /^bloomery: [^\n]+\n$/.test(stderr) && !stderr.includes('    at ');
}

/** Occupies a port of the loopback address until the test ends. */
export async function takePort(t: ExecutionContext): Promise<number> {
  const server = await listen(0);
  t.teardown(() => void server.close());
  return portOf(server);
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
