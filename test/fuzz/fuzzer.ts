/**
 * Feeds mutated inputs to decoders. Each input must lead to a value or to a declared error within `INPUT_MS_MAX`. The
 * memory in use may grow by at most `GROWTH_BYTES_MAX`. Inputs with a new outcome become a basis for later inputs, so
 * the search reaches new code.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { belowOf, mutated } from './mutate.ts';
import type { Watchdog } from './watchdog.ts';

export interface Target {
  readonly name: string;
  /**
   * Relative number of inputs for this target; 1 by default. Decoders that use the disk or a socket get fewer inputs.
   */
  readonly weight?: number;
  readonly seeds: readonly Buffer[];
  /** Words of the input format. Mutations insert these words at random places of an input. */
  readonly words?: readonly string[];
  /** Whether the error is of a class that the decoder is allowed to throw. */
  isDeclared(error: unknown): boolean;
  /** Decodes an input and returns a short description of the outcome. */
  run(input: Buffer): string | Promise<string>;
  close?(): Promise<void> | void;
}

export interface Finding {
  readonly target: string;
  readonly what: string;
  readonly input: Buffer;
}

export interface TargetReport {
  readonly target: string;
  readonly inputs: number;
  readonly outcomes: number;
  readonly slowestMs: number;
  readonly grownBytes: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
}

export interface FuzzOptions {
  readonly seed: number;
  /** Number of inputs for this target. */
  readonly inputs: number;
  /** Value of `performance.now()` after which the fuzzer runs no further input. */
  readonly untilMs?: number;
  /** Inputs kept from earlier runs. */
  readonly corpus: readonly Buffer[];
  readonly watchdog?: Watchdog;
  /** Called for each input with a new outcome. */
  readonly novel?: (outcome: string, input: Buffer) => void;
}

/**
 * Time limit of an input, in milliseconds. If the decoder is slower, the fuzzer repeats the input up to two times,
 * because the machine may be busy. The fastest run counts.
 */
export const INPUT_MS_MAX = 1_000;
/**
 * Maximum growth of the memory in use while one target runs. The growth during the first inputs (`warmUp`) does not
 * count. Bounded caches and compiled code cause some growth.
 */
export const GROWTH_BYTES_MAX = 50 * 1024 * 1024;
const LOOKS_MAX = 100;
const LOOK_EVERY_MS = 100;
const POOL_MAX = 600;
const POOL_BYTES_MAX = 4_096;
const FINDINGS_MAX = 20;
const OUTCOME_CHARACTERS_MAX = 80;

export async function fuzz(target: Target, options: FuzzOptions): Promise<TargetReport> {
  const below = belowOf(options.seed ^ hashOf(target.name));
  const pool = [...target.seeds, ...options.corpus];
  const keptCount = pool.length;
  const outcomes = new Set<string>();
  const findings = new Map<string, Finding>();
  const startedMs = performance.now();
  let slowestMs = 0;
  let inputs = 0;
  let bytesAtFirst = 0;
  const warmUp = Math.min(Math.floor(options.inputs / 5), 5_000);
  while (inputs < options.inputs && performance.now() < (options.untilMs ?? Infinity)) {
    // The seeds and the corpus run first, without mutations.
    const input = inputs < keptCount ? (pool[inputs] ?? Buffer.alloc(0)) : mutated(pool, target.words ?? [], below);
    options.watchdog?.begin(target.name, input);
    const inputMs = performance.now();
    const { outcome, fault } = await outcomeOf(target, input);
    let tookMs = performance.now() - inputMs;
    for (let again = 0; tookMs > INPUT_MS_MAX && again < 2; again += 1) {
      const againMs = performance.now();
      await outcomeOf(target, input);
      tookMs = Math.min(tookMs, performance.now() - againMs);
    }
    slowestMs = Math.max(slowestMs, tookMs);
    const what = fault ?? (tookMs > INPUT_MS_MAX ? `took ${Math.round(tookMs)} ms` : undefined);
    if (what !== undefined && findings.size < FINDINGS_MAX) {
      const kind = fault ?? 'slow';
      const known = findings.get(kind);
      if (known === undefined || known.input.length > input.length)
        findings.set(kind, { target: target.name, what, input });
    }
    if (!outcomes.has(outcome)) {
      outcomes.add(outcome);
      options.novel?.(outcome, input);
      if (pool.length < POOL_MAX && input.length <= POOL_BYTES_MAX) pool.push(input);
    }
    inputs += 1;
    if (inputs === warmUp) bytesAtFirst = usedBytes();
  }
  options.watchdog?.rest();
  let grownBytes = bytesAtFirst === 0 ? 0 : usedBytes() - bytesAtFirst;
  // Memory in use by threads that still decompress or close something is not a leak. This memory is freed when the
  // threads are done.
  for (let look = 0; grownBytes > GROWTH_BYTES_MAX && look < LOOKS_MAX; look += 1) {
    await sleep(LOOK_EVERY_MS);
    grownBytes = usedBytes() - bytesAtFirst;
  }
  if (grownBytes > GROWTH_BYTES_MAX) {
    const what = `keeps ${Math.round(grownBytes / 1024 / 1024)} MB`;
    findings.set('growth', { target: target.name, what, input: Buffer.alloc(0) });
  }
  return {
    target: target.name,
    inputs,
    outcomes: outcomes.size,
    slowestMs,
    grownBytes,
    seconds: (performance.now() - startedMs) / 1000,
    findings: [...findings.values()],
  };
}

/**
 * Runs the decoder on one input. `fault` describes the fault of the decoder. `fault` is undefined if the decoder has
 * shown no fault.
 */
export async function outcomeOf(
  target: Target,
  input: Buffer,
): Promise<{ readonly outcome: string; readonly fault?: string }> {
  try {
    const result = target.run(input);
    return { outcome: typeof result === 'string' ? result : await result };
  } catch (error) {
    const text = error instanceof Error ? `${codeOf(error)}: ${error.message}` : `threw ${String(error)}`;
    // Numbers and quoted parts of a message differ with each input. Without them, equal faults have the same outcome.
    const outcome = text
      .replace(/`[^`]*`|"[^"]*"|'[^']*'/g, '…')
      .replace(/[0-9a-f]{6,}|[0-9]+/gi, '#')
      .slice(0, OUTCOME_CHARACTERS_MAX);
    return target.isDeclared(error) ? { outcome } : { outcome, fault: `undeclared ${outcome}` };
  }
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}

function hashOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return hash;
}

let collectGarbage: (() => void) | undefined;

function usedBytes(): number {
  if (collectGarbage === undefined) {
    setFlagsFromString('--expose-gc');
    collectGarbage = runInNewContext('gc') as () => void;
  }
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
