/** Draws schedules of the acts of an operator, and of the faults that befall the operator's nodes. */

import { SeededRandom } from '../seeded-random.ts';

/** Enough for a chain of machines: a record that was imported on a second machine moves on to a third one. */
const MACHINES_MAX = 3;
export const FOLDERS_MAX = 4;

/**
 * One act. `folder` and `from` are numbers of folders. `copy` is a number that the operator takes modulo the number of
 * existing copies. `file` is a number that the operator takes modulo the number of existing record files.
 */
export type Act =
  /**
   * The given number of half slots passes. `seed` decides at random what happens in this time, for example which blocks
   * are lost. With `killAt`, a node is killed as soon as it makes this number of disk writes within one half slot.
   */
  | { readonly do: 'wait'; readonly halfSlots: number; readonly seed: number; readonly killAt?: number }
  | { readonly do: 'start'; readonly folder: number; readonly killAt?: number }
  | { readonly do: 'stop'; readonly folder: number }
  /** Suspends the process of a node, as if its machine slept. */
  | { readonly do: 'pause'; readonly folder: number; readonly halfSlots: number }
  | { readonly do: 'connect'; readonly folder: number; readonly isConnected: boolean }
  /** Sets the clock of the machine of a folder. */
  | { readonly do: 'clock'; readonly folder: number; readonly skewMs: number }
  /** Copies a data folder, and the folder of watermarks of its machine. */
  | { readonly do: 'copy'; readonly folder: number }
  /** Writes a copy into a data folder, over its files (`isOver`) or instead of them. */
  | {
      readonly do: 'restore';
      readonly copy: number;
      readonly folder: number;
      readonly isOver: boolean;
      readonly hasWatermarks: boolean;
    }
  /** Makes a data folder that has a chain and no signing record, as `bloomery backup` does. */
  | { readonly do: 'bare'; readonly folder: number; readonly from: number }
  | { readonly do: 'export'; readonly folder: number; readonly isKept: boolean; readonly killAt?: number }
  | { readonly do: 'import'; readonly file: number; readonly folder: number; readonly killAt?: number }
  | { readonly do: 'copyFile'; readonly file: number };

export interface Schedule {
  readonly generation: 2 | 3;
  /** For each folder, the number of its machine. */
  readonly machineOf: readonly number[];
  /** For each machine, the milliseconds by which its clock is fast (or slow, if negative). */
  readonly skewMs: readonly number[];
  /**
   * For each machine, whether it has a folder for watermarks (the last signed headers, outside of the data folders).
   * All nodes of a machine use the same folder for watermarks.
   */
  readonly hasWatermarks: readonly boolean[];
  readonly acts: readonly Act[];
}

/** A node pauses forging if its clock is wrong by more than one slot, so the clocks are wrong by less. */
const SKEW_MS_MAX = 9000;
const WRITES_MAX = 32;

/** Milliseconds by which a clock is fast, or slow if negative. */
function drawSkewMs(random: SeededRandom): number {
  return random.chance(0.5) ? 0 : random.between(-SKEW_MS_MAX, SKEW_MS_MAX);
}

export function drawSchedule(seed: number): Schedule {
  const random = new SeededRandom(`records ${seed}`);
  const machines = random.between(1, MACHINES_MAX);
  const acts: Act[] = [{ do: 'start', folder: 0 }];
  for (let scenes = random.between(5, 14); scenes > 0; scenes -= 1) acts.push(...drawScene(random));
  return {
    generation: random.chance(0.2) ? 2 : 3,
    machineOf: Array.from({ length: FOLDERS_MAX }, (_, folder) => (folder === 0 ? 0 : random.below(machines))),
    skewMs: Array.from({ length: machines }, () => drawSkewMs(random)),
    hasWatermarks: Array.from({ length: machines }, () => random.chance(0.7)),
    acts,
  };
}

/**
 * Draws one to five acts. If there are several, their order is a usual order of the acts of an operator, for example
 * `export`, `import`, `start` and `wait`.
 */
function drawScene(random: SeededRandom): readonly Act[] {
  const [folder, other] = [random.below(FOLDERS_MAX), random.below(FOLDERS_MAX)];
  const killed = () => (random.chance(0.25) ? { killAt: Math.ceil(WRITES_MAX * random.fraction() ** 1.5) } : {});
  const wait = (): Act => ({ do: 'wait', halfSlots: random.between(1, 24), seed: random.next(), ...killed() });
  const waits = (): readonly Act[] => (random.chance(0.6) ? [wait()] : []);
  const startOf = (started: number): readonly Act[] =>
    random.chance(0.75) ? [{ do: 'start', folder: started, ...killed() }] : [];
  const importInto = (into: number, file: number): Act => ({ do: 'import', file, folder: into, ...killed() });
  const roll = random.below(100);
  if (roll < 20) return [{ do: 'start', folder, ...killed() }, ...waits()];
  if (roll < 25) return [{ do: 'stop', folder }, ...waits(), ...startOf(other)];
  if (roll < 28) return [{ do: 'pause', folder, halfSlots: random.between(2, 16) }, wait()];
  if (roll < 32) return [{ do: 'connect', folder, isConnected: random.chance(0.5) }, wait()];
  if (roll < 36) return [{ do: 'clock', folder, skewMs: drawSkewMs(random) }, wait()];
  if (roll < 44) return [{ do: 'copy', folder }, ...waits()];
  if (roll < 60) {
    const [isOver, hasWatermarks] = [random.chance(0.5), random.chance(0.3)];
    const restore: Act = { do: 'restore', copy: random.below(3), folder, isOver, hasWatermarks };
    return [restore, ...startOf(folder), wait()];
  }
  if (roll < 64) return [{ do: 'bare', folder, from: other }, ...startOf(folder), wait()];
  if (roll < 88) {
    const isKept = random.chance(0.25);
    const copied: readonly Act[] = random.chance(0.3) ? [{ do: 'copyFile', file: 0 }] : [];
    const imported = random.chance(0.8) ? [importInto(other, random.below(2))] : [];
    return [{ do: 'export', folder, isKept, ...killed() }, ...copied, ...imported, ...startOf(other), wait()];
  }
  return [importInto(folder, random.below(4)), ...startOf(folder), wait()];
}
