/**
 * Kills a forging node at random moments and restarts it. Collects all headers that the node signed, and checks the
 * store of the node.
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openScratchChain, openSnapshot, type ChainLocation } from '../../src/node/chain-tool.ts';
import { journalFileOf } from '../../src/node/journal-file.ts';
import { verifyChain } from '../../src/node/verify-chain.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { makeNetwork } from '../support/chain-maker.ts';
import { signedHeadersIn } from '../support/signed-headers.ts';

export interface KillOptions {
  readonly kills: number;
  /** An empty folder. */
  readonly directory: string;
  /** Returns a random number, uniform in [0, 1). */
  readonly chance: () => number;
  readonly log?: (line: string) => void;
}

export interface KillReport {
  /** Height of the chain at the end. */
  readonly height: number;
  readonly signedHeaders: number;
  readonly contradictions: readonly string[];
  /** Other faults: errors that a process printed, unexpected ends of a process, and blocks that the node lost. */
  readonly complaints: readonly string[];
  /** Description of a fault in the final store; undefined if the store has no fault. */
  readonly deviation: string | undefined;
}

const PROCESS = fileURLToPath(new URL('./forger-process.js', import.meta.url));
/**
 * Height at which the test kills the first process, which forges with `riskDoubleForging`. This height is in the second
 * round, so the signing journal contains headers of nearly all delegates. The later processes forge without this
 * option.
 */
const FIRST_LIFE_HEIGHT = 120;
const LIFE_MS_MAX = 200;
const START_MS_MAX = 120_000;
/**
 * Of all processes except the first, the test kills about this share within 600 ms after their start, often before the
 * node is up.
 */
const KILLED_STARTING = 0.15;

export async function killForger({ kills, directory, chance, log }: KillOptions): Promise<KillReport> {
  const network = makeNetwork();
  const rules = createGen3Rules(network.params);
  // The first slot of the network begins in the past, so that the first block need not wait for its slot.
  const originMs = Date.now() - 1000;
  const signed = new Map<string, Map<string, SignedHeader>>();
  const complaints: string[] = [];
  let height = 1;
  for (let kill = 0; kill <= kills; kill += 1) {
    const isFirst = kill === 0;
    const startingMs = !isFirst && chance() < KILLED_STARTING ? chance() * 600 : undefined;
    const life = await live([directory, String(originMs), isFirst ? 'waive' : 'guard'], {
      untilHeight: isFirst ? FIRST_LIFE_HEIGHT : undefined,
      lifeMs: chance() * LIFE_MS_MAX,
      startingMs,
    });
    if (life.complaint !== '') complaints.push(`life ${kill}: ${life.complaint}`);
    if (life.first !== undefined && life.first < height) {
      complaints.push(`life ${kill} began at height ${life.first} after ${height}`);
    }
    height = Math.max(height, life.last ?? 0);
    learn(signed, directory);
    if (kill % 50 === 0) log?.(`${kill} kills, height ${height}, ${complaints.length} complaints`);
  }
  const lists = [...signed.values()].map((headers) => [...headers.values()]);
  const contradictions = lists.flatMap((headers) =>
    headers.flatMap((one, index) => headers.slice(index + 1).flatMap((other) => rules.contradiction(one, other) ?? [])),
  );
  const place: ChainLocation = {
    network: { name: 'made', params: network.params, genesisJson: network.genesisJson },
    dataDirectory: directory,
  };
  const examined = await openSnapshot(place);
  const scratch = await openScratchChain(place);
  try {
    const { deviation, height: verified } = await verifyChain({ examined: examined.store, scratch });
    if (verified < height) complaints.push(`the store ends at ${verified}, below ${height}`);
    const signedHeaders = lists.reduce((sum, headers) => sum + headers.length, 0);
    return { height: verified, signedHeaders, contradictions, complaints, deviation };
  } finally {
    await scratch.close();
    await examined.store.close();
  }
}

interface Life {
  /** The first and the last height that the process reported. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly complaint: string;
}

interface LifeOptions {
  readonly untilHeight: number | undefined;
  /** Time from the moment at which the node is up until the kill. */
  readonly lifeMs: number;
  /** Maximum time from the start of the process until the kill, whether the node is up or not. */
  readonly startingMs: number | undefined;
}

/** Runs the process once and ends it with SIGKILL. */
async function live(args: readonly string[], { untilHeight, lifeMs, startingMs }: LifeOptions): Promise<Life> {
  const child = spawn(process.execPath, [PROCESS, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  const timers = [setTimeout(kill, startingMs ?? START_MS_MAX)];
  let first: number | undefined;
  let last: number | undefined;
  let complaint = '';
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = `${complaint}${text}`.slice(0, 2000)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      last = Number(line);
      if (first === undefined && untilHeight === undefined) timers.push(setTimeout(kill, lifeMs));
      first ??= last;
      if (untilHeight !== undefined && last >= untilHeight) kill();
    }
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal])),
  );
  for (const timer of timers) clearTimeout(timer);
  if (signal !== 'SIGKILL') complaint += ` ended with code ${String(code)}, signal ${String(signal)}`;
  if (startingMs === undefined && first === undefined) complaint += ' was not up in time';
  return { first, last, complaint };
}

/** Adds the headers in the signing journal to `signed`, because a node that rewrites the journal drops old headers. */
function learn(signed: Map<string, Map<string, SignedHeader>>, directory: string): void {
  for (const { delegate, header } of signedHeadersIn(readFileSync(journalFileOf(directory), 'utf8'))) {
    const headers = signed.get(delegate) ?? new Map<string, SignedHeader>();
    signed.set(delegate, headers);
    headers.set(header.blockId, header);
  }
}
