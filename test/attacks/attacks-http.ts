/**
 * Floods of the HTTP interface from addresses that no whitelist names, each from a process of its own. What is held during one:
 * the operator's probe from this machine is answered, memory stays below a ceiling, and afterwards questions are answered as
 * before, those of strangers included where reading is public.
 */

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Arena } from './arena.ts';
import type { Flood, FloodFigures, FloodKind } from './http-flood.ts';
import { LATE, type Attack } from './measure.ts';

/** A node at rest uses a third of it. */
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;
const GROWTH_MAX = 1.5;
/** When a probe of the operator counts as late, and which share of them may be. */
const PROBE_MS_MAX = 1_000;
const LATE_SHARE_MAX = 0.01;
const PROBE_INTERVAL_MS = 50;
/** When one counts as not answered: on a busy machine much later. */
const PROBE_TIMEOUT_MS = 60_000;
/** After the end of a flood everything is as before. */
const RECOVERY_MS_MAX = 10_000;
const RECOVERY_LOOK_MS = 100;

/** With 2,000 connections each address has fewer than one may have, so that all of them get in. */
const FLOODS: readonly { readonly name: string; readonly flood: Shape }[] = [
  ...counted('pipelined HTTP requests', 'pipelined'),
  ...counted('HTTP answers that nobody reads', 'unread'),
  ...counted('HTTP bodies that unpack to 2 MB', 'bombs'),
  ...counted('HTTP bodies that do not end', 'bodies'),
  { name: 'silent HTTP connections, 5,200', flood: { kind: 'silent', connections: 5_200, sources: 3 } },
  { name: 'silent HTTP connections, of 60 addresses', flood: { kind: 'silent', connections: 5_200, sources: 60 } },
  { name: 'HTTP event streams that nobody reads', flood: { kind: 'events', connections: 2_000, sources: 40 } },
];

interface Shape {
  readonly kind: FloodKind;
  readonly connections: number;
  readonly sources: number;
}

function counted(name: string, kind: FloodKind): readonly { name: string; flood: Shape }[] {
  return [
    { name: `${name}, on 1 connection`, flood: { kind, connections: 1, sources: 1 } },
    { name: `${name}, on 50`, flood: { kind, connections: 50, sources: 1 } },
    { name: `${name}, on 2,000`, flood: { kind, connections: 2_000, sources: 40 } },
  ];
}

/** What is admitted does not depend on the generation: one is enough. */
export const HTTP_ATTACKS: readonly Attack[] = FLOODS.map(({ name, flood }) => ({
  name,
  generation: 3,
  run: (arena, untilMs) => runFlood(arena, untilMs, flood),
}));

async function runFlood(arena: Arena, untilMs: number, { kind, connections, sources }: Shape): Promise<void> {
  const before = await askedFrom(arena, '127.0.0.1');
  const bytesBefore = await arena.residentBytes();
  const addresses = Array.from({ length: sources }, () => arena.newIp());
  const port = arena.target.plan.httpPort;
  const durationMs = Math.max(500, untilMs - performance.now());
  const probes = new Probes(arena);
  let figures: FloodFigures;
  try {
    figures = await flooded({ kind, port, sources: addresses, connections, durationMs });
  } finally {
    await probes.stop();
  }
  arena.remark = `closed ${figures.closed}, ${probes.text}`;

  const deadlineMs = performance.now() + RECOVERY_MS_MAX;
  const isWell = async (): Promise<boolean> => {
    if ((await askedFrom(arena, '127.0.0.1')) !== before) return false;
    return !arena.isPublic || (await askedFrom(arena, arena.newIp())) === before;
  };
  // A little longer, as looking takes time too.
  while (!(await isWell())) {
    if (performance.now() > deadlineMs + PROBE_MS_MAX) throw new Error('questions are not answered as before');
    await sleep(RECOVERY_LOOK_MS);
  }
  probes.judge();
  const bytesAfter = await arena.residentBytes();
  if (bytesAfter > GROWTH_MAX * bytesBefore) {
    throw new Error(`memory went from ${megabytes(bytesBefore)} to ${megabytes(bytesAfter)} MB`);
  }
}

/** Resolves when the attacker has ended. */
function flooded(flood: Flood): Promise<FloodFigures> {
  const child = fork(fileURLToPath(new URL('./http-flood.js', import.meta.url)), [JSON.stringify(flood)], {
    execArgv: [],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as FloodFigures));
    child.once('exit', (code) => reject(new Error(`the attacker ended with ${code}`)));
  });
}

/** What a client is told on some everyday paths: statuses, and of the first block which one it is. */
async function askedFrom(arena: Arena, localAddress: string): Promise<string> {
  const answers: string[] = [];
  for (const path of ['/healthz', '/api/node/constants', FIRST_BLOCK, '/api/accounts?limit=2', '/nothing']) {
    const { status, body } = await ask(arena, path, localAddress).catch(() => ({ status: 0, body: '' }));
    answers.push(path === FIRST_BLOCK ? `${status} ${/"id":"[0-9]+"/.exec(body)?.[0]}` : String(status));
  }
  return answers.join('\n');
}

const FIRST_BLOCK = '/api/blocks?height=1';

function ask(arena: Arena, path: string, localAddress: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const { httpPort: port } = arena.target.plan;
    const options = { host: '127.0.0.1', port, path, localAddress, agent: false, timeout: PROBE_TIMEOUT_MS } as const;
    const sent = get(options, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', reject);
  });
}

/** The operator's probes, each on a connection of its own, and the memory of the node meanwhile. */
class Probes {
  readonly #arena: Arena;
  readonly #under = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #asked = 0;
  #late = 0;
  #slowestMs = 0;
  #peakBytes = 0;
  #failure: string | undefined;

  constructor(arena: Arena) {
    this.#arena = arena;
    this.#timer = setInterval(() => this.#probe(), PROBE_INTERVAL_MS);
  }

  get text(): string {
    return `probe ${Math.round(this.#slowestMs)} ms at most, ${megabytes(this.#peakBytes)} MB`;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#under);
  }

  judge(): void {
    if (this.#failure !== undefined) throw new Error(`a probe of the operator failed: ${this.#failure}`);
    if (this.#peakBytes > RESIDENT_BYTES_MAX) throw new Error(`memory rose to ${megabytes(this.#peakBytes)} MB`);
    if (this.#late > LATE_SHARE_MAX * this.#asked) {
      throw new Error(`${this.#late} of ${this.#asked} probes of the operator ${LATE}`);
    }
  }

  #probe(): void {
    this.#peakBytes = Math.max(this.#peakBytes, residentNow(this.#arena));
    const startedMs = performance.now();
    const path = ['/healthz', '/metrics', '/readyz'][this.#asked % 3] ?? '';
    this.#asked += 1;
    const probe = ask(this.#arena, path, '127.0.0.1').then(
      ({ status }) => {
        const tookMs = performance.now() - startedMs;
        this.#slowestMs = Math.max(this.#slowestMs, tookMs);
        if (tookMs > PROBE_MS_MAX) this.#late += 1;
        if (status !== 200 && path !== '/readyz') this.#failure ??= `${path} answered ${status}`;
      },
      (error: unknown) => void (this.#failure ??= String(error)),
    );
    this.#under.add(probe);
    void probe.finally(() => this.#under.delete(probe));
  }
}

function residentNow(arena: Arena): number {
  const status = readFileSync(`/proc/${String(arena.target.pid())}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
