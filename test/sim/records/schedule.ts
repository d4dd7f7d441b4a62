/** Draws schedules of the acts of an operator, and of the faults that befall the operator's nodes. */

import { SeededRandom } from '../seeded-random.ts';

export const FOLDERS_MAX = 3;

/** One act. Members that name a thing are numbers, which the world takes modulo the number of things that exist. */
export type Act =
  /** Time passes. The other members decide what happens meanwhile; `killAt` kills a node at a write to the disk. */
  | { readonly do: 'wait'; readonly halfSlots: number; readonly seed: number; readonly killAt?: number }
  | { readonly do: 'start'; readonly folder: number; readonly killAt?: number }
  | { readonly do: 'stop'; readonly folder: number }
  /** Suspends the process of a node, as if its machine slept. */
  | { readonly do: 'pause'; readonly folder: number; readonly halfSlots: number }
  | { readonly do: 'connect'; readonly folder: number; readonly isConnected: boolean }
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
  /** For each machine, whether its nodes have a folder for watermarks. */
  readonly hasWatermarks: readonly boolean[];
  readonly acts: readonly Act[];
}

/** A node pauses forging if its clock is wrong by more than one slot, so the clocks are wrong by less. */
const SKEW_MS_MAX = 9000;
const WRITES_MAX = 32;

export function drawSchedule(seed: number): Schedule {
  const random = new SeededRandom(`records ${seed}`);
  const machines = random.between(1, 2);
  const skew = (): number => (random.chance(0.5) ? 0 : random.between(-SKEW_MS_MAX, SKEW_MS_MAX));
  const acts = Array.from({ length: random.between(12, 40) }, () => drawAct(random));
  return {
    generation: random.chance(0.2) ? 2 : 3,
    machineOf: Array.from({ length: FOLDERS_MAX }, (_, folder) => (folder === 0 ? 0 : random.below(machines))),
    skewMs: [skew(), skew()],
    hasWatermarks: [random.chance(0.7), random.chance(0.7)],
    acts,
  };
}

function drawAct(random: SeededRandom): Act {
  const folder = random.below(FOLDERS_MAX);
  const killed = random.chance(0.25) ? { killAt: Math.ceil(WRITES_MAX * random.fraction() ** 1.5) } : {};
  const roll = random.below(100);
  if (roll < 36) return { do: 'wait', halfSlots: random.between(1, 24), seed: random.next(), ...killed };
  if (roll < 52) return { do: 'start', folder, ...killed };
  if (roll < 57) return { do: 'stop', folder };
  if (roll < 59) return { do: 'pause', folder, halfSlots: random.between(2, 16) };
  if (roll < 63) return { do: 'connect', folder, isConnected: random.chance(0.6) };
  if (roll < 69) return { do: 'copy', folder };
  if (roll < 76)
    return {
      do: 'restore',
      copy: random.below(4),
      folder,
      isOver: random.chance(0.5),
      hasWatermarks: random.chance(0.3),
    };
  if (roll < 78) return { do: 'bare', folder, from: random.below(FOLDERS_MAX) };
  if (roll < 87) return { do: 'export', folder, isKept: random.chance(0.25), ...killed };
  if (roll < 97) return { do: 'import', file: random.below(4), folder, ...killed };
  return { do: 'copyFile', file: random.below(4) };
}
