/**
 * Runs an attack against the first node of a devnet. Reports lost connections to honest peers, missed slots, memory
 * growth and other faults of the node.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitForAnswer, waitForCommonBlock } from '../support/devnet.ts';
import type { Arena } from './arena.ts';
import { KEPT, LATE, OperatorWatch } from './operator-watch.ts';

export interface Attack {
  readonly name: string;
  /**
   * The only generation in which the attack runs. Undefined for an attack that runs in both generations. With the
   * settings `public` and `portable`, `attacksOn` ignores this member.
   */
  readonly generation?: 2 | 3;
  /** True if an `OperatorWatch` probes the node during the attack. */
  readonly isWatched?: boolean;
  /**
   * Prepares the state that the attack needs, such as a registered multisignature account. Runs before the first attack
   * on the devnet, because such a state takes several seconds to prepare.
   */
  prepare?(arena: Arena): Promise<void>;
  /** Attacks until `untilMs` on the clock `performance.now()`. @throws Error that names the fault of the node */
  run(arena: Arena, untilMs: number): Promise<void>;
  /**
   * Checks the node after the attack, while the attacker is still connected. @throws Error that names the fault of the
   * node
   */
  after?(arena: Arena): Promise<void>;
}

export interface Measured {
  readonly attack: string;
  readonly generation: 2 | 3;
  /** How the node treated the attacker, as text for the table that `main.ts` prints. */
  readonly did: string;
  readonly slotsMissed: number;
  readonly grownBytes: number;
  readonly seconds: number;
  /** Faults of the node. Empty when the node withstood the attack. */
  readonly faults: readonly string[];
}

/** Close code of the connection of a banned peer. */
export const BANNED = 4403;
export const GROWTH_BYTES_MAX = 50 * 1024 * 1024;
/** Pause after an attack, in which the close events of the attacker's connections arrive. */
const SETTLE_MS_MIN = 300;
/**
 * Time limit for each of two waits after an attack: until the attacked node answers, and until all nodes have a common
 * block. The limit is long, because the machine may be busy.
 */
const SETTLE_MS_MAX = 150_000;
/**
 * Time after an attack within which the memory growth must fall to `GROWTH_BYTES_MAX`. The allocator returns unused
 * memory to the system in the background. On a busy machine, the return takes long.
 */
const RETURN_MS_MAX = 40_000;
const RETURN_LOOK_MS = 500;
const GREW = 'memory grew';

export interface Pace {
  /** Duration of an attack. */
  readonly seconds: number;
  /** Number of blocks that must follow an attack before the next attack starts. */
  readonly blocksAfter: number;
  readonly tries: number;
}

/**
 * Runs the attack. If the run shows faults, and each of these faults may have another cause than the attack, the
 * function repeats the attack. A busy machine makes the node miss slots or answer late in some runs, but an effective
 * attack has these effects in every run. The memory of the node can also grow because code and allocators keep memory,
 * but this growth occurs only in the first run. If an attacker can fill memory, the memory grows in every run.
 *
 * @param pace `tries` is the maximum number of runs.
 */
export async function measure(arena: Arena, attack: Attack, pace: Pace): Promise<Measured> {
  let best = await once(arena, attack, pace);
  for (let again = 1; again < pace.tries && mayBeOfTheMachine(best); again += 1) {
    best = common(best, await once(arena, attack, pace));
  }
  return best;
}

/**
 * Joins the results of two runs of an attack. If the second run has a fault that can have no cause but the attack, the
 * second run is the result. If all faults of the second run may have another cause, the result has only the faults
 * whose kind also occurs in the first run. The function assumes that only an attack causes the same faults in each run.
 */
function common(first: Measured, second: Measured): Measured {
  if (!mayBeOfTheMachine(second) && second.faults.length > 0) return second;
  const kinds = new Set(first.faults.map(kindOf));
  const faults = second.faults.filter((fault) => kinds.has(kindOf(fault)));
  const isGrown = faults.some((fault) => fault.startsWith(GREW));
  return {
    ...second,
    faults,
    slotsMissed: Math.min(first.slotsMissed, second.slotsMissed),
    grownBytes: isGrown ? second.grownBytes : Math.min(first.grownBytes, second.grownBytes),
  };
}

function kindOf(fault: string): string {
  return fault.replace(/\d+/gu, '#');
}

function mayBeOfTheMachine({ faults, slotsMissed, grownBytes }: Measured): boolean {
  const late = faults.filter((fault) => fault.endsWith(LATE) || fault.startsWith(KEPT)).length;
  const excusable = Number(slotsMissed > 0) + Number(hasGrown(grownBytes)) + late;
  return excusable > 0 && faults.length === excusable;
}

function hasGrown(grownBytes: number): boolean {
  return grownBytes > GROWTH_BYTES_MAX;
}

async function once(arena: Arena, attack: Attack, { seconds, blocksAfter }: Pace): Promise<Measured> {
  const faults: string[] = [];
  arena.nextAttack();
  const startedMs = performance.now();
  const others = arena.devnet.nodes.slice(1);
  const [witness = arena.target] = others;
  const peersBefore = await arena.honest();
  const tipBefore = await arena.tip(witness);
  const bytesBefore = await arena.residentBytes();
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) => faults.push(error instanceof Error ? error.message : String(error)));
  };
  const watch = attack.isWatched ? await OperatorWatch.begin(arena) : undefined;
  await guarded(() => attack.run(arena, performance.now() + seconds * 1000));
  if (watch !== undefined) faults.push(...(await watch.end()));
  else await sleep(SETTLE_MS_MIN);
  if (attack.after !== undefined) await guarded(() => attack.after?.(arena) ?? Promise.resolve());
  const ends = arena.remark === '' ? offencesOf(arena) : arena.remark;
  const did = watch === undefined ? ends : `${ends}, ${watch.text}`;
  await arena.cleanUp();

  if (!arena.target.isRunning()) throw new Error(`${attack.name}: the node is gone`);
  await waitForAnswer(arena.target, SETTLE_MS_MAX);
  const height = (await arena.tip(witness)).height + blocksAfter;
  await waitForCommonBlock(arena.devnet.nodes, height, SETTLE_MS_MAX).catch((error: unknown) => {
    faults.push(`the nodes do not agree: ${String(error)}`);
  });
  const tipAfter = await arena.tip(witness);
  const slots = (tipAfter.timestamp - tipBefore.timestamp) / arena.devnet.network.params.blockTimeS;
  const slotsMissed = slots - (tipAfter.height - tipBefore.height);
  let grownBytes = (await arena.residentBytes()) - bytesBefore;
  for (let waitedMs = 0; hasGrown(grownBytes) && waitedMs < RETURN_MS_MAX; waitedMs += RETURN_LOOK_MS) {
    await sleep(RETURN_LOOK_MS);
    grownBytes = (await arena.residentBytes()) - bytesBefore;
  }
  const peersAfter = await arena.honest();
  for (const [wsPort, since] of peersBefore) {
    if (peersAfter.get(wsPort) !== since) faults.push(`the honest peer at port ${wsPort} lost its connection`);
  }
  if (hasGrown(grownBytes)) faults.push(`${GREW} by ${Math.round(grownBytes / 1024 / 1024)} MB`);
  if (slotsMissed > 0) faults.push(`${slotsMissed} slots passed unused`);
  return {
    attack: attack.name,
    generation: arena.generation,
    did,
    slotsMissed,
    grownBytes,
    seconds: (performance.now() - startedMs) / 1000,
    faults,
  };
}

/** Counts how the attacker's connections ended. Returns the three most frequent ways, such as `40 banned, 2 cut`. */
function offencesOf({ intruders }: Arena): string {
  const counts = new Map<string, number>();
  for (const { end } of intruders) {
    const word = end === undefined ? 'left open' : end === 'refused' ? 'shut out' : (WORDS.get(end) ?? `closed ${end}`);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
  return sorted.length === 0 ? 'none' : sorted.map(([word, count]) => `${count} ${word}`).join(', ');
}

const WORDS: ReadonlyMap<number, string> = new Map([
  [BANNED, 'banned'],
  [4418, 'evicted'],
  [1006, 'cut'],
  [4104, 'refused 4104'],
  [1008, 'cut'],
  [1009, 'cut'],
]);
