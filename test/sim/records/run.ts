/** Runs schedules, and shortens a schedule that violates a guarantee. */

import { Operator } from './operator.ts';
import type { Schedule } from './schedule.ts';
import { RecordsWorld } from './world.ts';

/**
 * Maximum number of slots for which one node runs without faults after the acts of a schedule. The network has only
 * four delegates, so each wait of this node before a signature ends within this number of slots.
 */
const ALONE_SLOTS = 80;

export interface RecordsResult {
  readonly signed: number;
  /** The violated guarantee; undefined if the schedule violates none. */
  readonly violation: string | undefined;
  /**
   * How the schedule ended. Without a violation, the text is one of three: `signs` (the delegate signed again),
   * `FORGING_MOVED` (the node does not sign, because its record was exported), or `off` (no node signs: each folder on
   * the delegate's present machine must stay off until the operator imports a record into it; only the nodes of
   * exported folders can run, and they refuse to sign). After a violation, the text is `contradiction`, `signs`, or the
   * reason why the delegate did not sign.
   */
  readonly end: string;
}

export function runSchedule(schedule: Schedule): RecordsResult {
  const world = new RecordsWorld(schedule);
  const operator = new Operator(world);
  const uninstall = world.files.install();
  try {
    world.begin();
    for (const act of schedule.acts) {
      operator.act(act);
      if (world.contradiction !== undefined)
        return { signed: world.signed.length, violation: world.contradiction, end: 'contradiction' };
    }
    const signed = world.signed.length;
    const left = world.folders.filter(({ chain, era }) => chain !== undefined && era === world.era);
    const folder = left.find(({ isExported }) => !isExported) ?? left[0];
    if (folder === undefined) return { signed, violation: undefined, end: 'off' };
    const refusal = world.runAlone(folder, ALONE_SLOTS);
    const isTold = refusal === 'FORGING_MOVED';
    const violation =
      world.contradiction ??
      (refusal === undefined || isTold ? undefined : `${folder.path} never signs again: ${refusal}`);
    return { signed, violation, end: refusal ?? 'signs' };
  } finally {
    for (const folder of world.folders) world.stop(folder);
    uninstall();
  }
}

/** Removes acts from a schedule for as long as it still violates a guarantee. */
export function shorten(schedule: Schedule): Schedule {
  let shortest = schedule;
  for (let isShorter = true; isShorter;) {
    isShorter = false;
    for (let at = shortest.acts.length - 1; at >= 0; at -= 1) {
      const shorter = { ...shortest, acts: shortest.acts.filter((_, each) => each !== at) };
      if (runSchedule(shorter).violation === undefined) continue;
      shortest = shorter;
      isShorter = true;
    }
  }
  return shortest;
}

export function textOfSchedule({ acts, ...rest }: Schedule): string {
  return [JSON.stringify(rest), ...acts.map((act) => JSON.stringify(act))].join('\n  ');
}
