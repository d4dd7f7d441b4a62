/**
 * Measures what the operator of an attacked node sees. Every 50 ms during the attack, `OperatorWatch` sends an HTTP
 * request (a probe) from 127.0.0.1, and reads the resident memory of the node. After the attack, five fixed requests
 * must get the same status codes and the same block 1 as before the attack.
 */

import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena } from './arena.ts';

/** End of the fault text for late answers to probes. A busy machine can cause this fault. */
export const LATE = 'came late';
/**
 * Start of the fault text for memory that stays in use after the attack. Allocators can cause this fault, because they
 * keep part of the freed memory.
 */
export const KEPT = 'memory went from';

/**
 * Maximum resident memory of the node during an attack. This maximum is about three times the memory of an idle node,
 * and less than the smallest valid `memory.limitMb`.
 */
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;
const GROWTH_MAX = 1.5;
/**
 * A probe (an HTTP request to the attacked node) is late if its answer takes longer than `PROBE_MS_MAX`. The time for
 * which the node or this process waits for a processor does not count. If the share of late probes is above
 * `LATE_SHARE_MAX`, the test reports a fault of the node.
 */
const PROBE_MS_MAX = 1_000;
const LATE_SHARE_MAX = 0.01;
const PROBE_INTERVAL_MS = 50;
/** Time without an answer after which a probe has failed. This time is long, because a busy machine delays answers. */
const PROBE_TIMEOUT_MS = 60_000;
/** Time after an attack within which the answers and the memory of the node must return to normal. */
const RECOVERY_MS_MAX = 10_000;
const RECOVERY_LOOK_MS = 100;

export class OperatorWatch {
  readonly #arena: Arena;
  readonly #before: string;
  readonly #bytesBefore: number;
  readonly #under = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #asked = 0;
  #late = 0;
  #slowestMs = 0;
  #slowestRunMs = 0;
  #peakBytes = 0;
  #failure: string | undefined;

  private constructor(arena: Arena, before: string, bytesBefore: number) {
    this.#arena = arena;
    this.#before = before;
    this.#bytesBefore = bytesBefore;
    this.#timer = setInterval(() => this.#probe(), PROBE_INTERVAL_MS);
  }

  /**
   * Starts the probes (one HTTP request to the node every 50 ms) before the attack. First, sends five predefined HTTP
   * requests (`askedFrom`), and records the status codes of the answers, the id of block 1, and the memory of the node.
   */
  static async begin(arena: Arena): Promise<OperatorWatch> {
    return new OperatorWatch(arena, await askedFrom(arena, '127.0.0.1'), await arena.residentBytes());
  }

  get text(): string {
    const times = `${Math.round(this.#slowestMs)} ms (${Math.round(this.#slowestRunMs)} run)`;
    return `probe ${times}, ${megabytes(this.#peakBytes)} MB`;
  }

  /** Stops the probes after the attack. @returns the faults of the node during and after the attack */
  async end(): Promise<readonly string[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#under);
    const faults: string[] = [];
    if (!(await this.#recovers())) faults.push('requests are not answered as before');
    if (this.#failure !== undefined) faults.push(`a probe of the operator failed: ${this.#failure}`);
    if (this.#peakBytes > RESIDENT_BYTES_MAX) faults.push(`memory rose to ${megabytes(this.#peakBytes)} MB`);
    if (this.#late > LATE_SHARE_MAX * this.#asked) {
      faults.push(`${this.#late} of ${this.#asked} probes of the operator ${LATE}`);
    }
    const bytesAfter = await this.#bytesAfter();
    if (bytesAfter > GROWTH_MAX * this.#bytesBefore) {
      faults.push(`${KEPT} ${megabytes(this.#bytesBefore)} to ${megabytes(bytesAfter)} MB`);
    }
    return faults;
  }

  async #recovers(): Promise<boolean> {
    // The deadline includes `PROBE_MS_MAX`, because a node that has recovered perhaps needs this time to answer the
    // requests of one check.
    const deadlineMs = performance.now() + RECOVERY_MS_MAX + PROBE_MS_MAX;
    for (;;) {
      const isWell =
        (await askedFrom(this.#arena, '127.0.0.1')) === this.#before &&
        (!this.#arena.isPublic || (await askedFrom(this.#arena, this.#arena.newIp())) === this.#before);
      if (isWell) return true;
      if (performance.now() > deadlineMs) return false;
      await sleep(RECOVERY_LOOK_MS);
    }
  }

  /**
   * Returns the resident memory of the node. Waits at most `RECOVERY_MS_MAX` for the memory to fall to `GROWTH_MAX`
   * times the memory before the attack, because the allocator returns memory to the system in the background.
   */
  async #bytesAfter(): Promise<number> {
    const deadlineMs = performance.now() + RECOVERY_MS_MAX;
    for (;;) {
      const bytes = await this.#arena.residentBytes();
      if (bytes <= GROWTH_MAX * this.#bytesBefore || performance.now() > deadlineMs) return bytes;
      await sleep(5 * RECOVERY_LOOK_MS);
    }
  }

  #probe(): void {
    this.#peakBytes = Math.max(this.#peakBytes, residentNow(this.#arena));
    const startedMs = performance.now();
    const waitedMs = this.#waitedMs();
    const path = ['/healthz', '/metrics', '/readyz'][this.#asked % 3] ?? '';
    this.#asked += 1;
    const probe = ask(this.#arena, path, '127.0.0.1').then(
      ({ status }) => {
        const tookMs = performance.now() - startedMs;
        const ranMs = Math.max(0, tookMs - (this.#waitedMs() - waitedMs));
        this.#slowestMs = Math.max(this.#slowestMs, tookMs);
        this.#slowestRunMs = Math.max(this.#slowestRunMs, ranMs);
        if (ranMs > PROBE_MS_MAX) this.#late += 1;
        if (status !== 200 && path !== '/readyz') this.#failure ??= `${path} answered ${status}`;
      },
      (error: unknown) => void (this.#failure ??= String(error)),
    );
    this.#under.add(probe);
    void probe.finally(() => this.#under.delete(probe));
  }

  /**
   * Milliseconds for which the node and this process have waited for a processor since their start. The check for late
   * probes does not count such waits, because the attacker of a real node runs on another machine and takes no
   * processor time from the node.
   */
  #waitedMs(): number {
    return waitedMsOf(this.#arena.target.pid()) + waitedMsOf(process.pid);
  }
}

/**
 * Returns the milliseconds for which the main thread of a process has waited for a processor, or 0 if the system does
 * not report this time.
 */
function waitedMsOf(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Requests four existing paths and a missing path. @returns one text with the five status codes and the id of block 1
 */
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

function residentNow(arena: Arena): number {
  const status = readFileSync(`/proc/${String(arena.target.pid())}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
