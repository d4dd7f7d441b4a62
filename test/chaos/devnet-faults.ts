/** Selects random faults for the nodes of a devnet, and counts the empty slots that no outage explains. */

/**
 * For `pause` and `kill`, the test sends a command to the supervisor of the devnet (the process that starts and
 * controls the nodes). For `stop` and `crash`, the test itself sends a signal to the process of the node, and sends no
 * command to the supervisor.
 */
export type FaultKind = 'pause' | 'stop' | 'kill' | 'crash';

/** The faults that each node suffers: two that suspend the process and two that kill it. */
export const FAULT_KINDS: readonly FaultKind[] = ['pause', 'stop', 'kill', 'crash'];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Time since the start of the run. */
  readonly atMs: number;
}

/**
 * A period in which a node was down, behind the other nodes, or without processor time. Both members are Unix times in
 * milliseconds.
 */
export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Selects a random order and random times for the faults of one node. Returns the faults in ascending order of time.
 *
 * @param span period in which the faults happen, as times since the start of the run
 * @param spacingMs minimum time between the starts of two faults
 * @param chance returns a random number, uniform in [0, 1)
 * @throws RangeError if the span is too short for all faults
 */
export function drawFaults(
  span: { readonly fromMs: number; readonly toMs: number },
  spacingMs: number,
  chance: () => number,
): readonly PlannedFault[] {
  const spareMs = span.toMs - span.fromMs - FAULT_KINDS.length * spacingMs;
  if (spareMs < 0) throw new RangeError(`${FAULT_KINDS.length} faults need ${FAULT_KINDS.length * spacingMs} ms`);
  const offsetsMs = FAULT_KINDS.map(() => chance() * spareMs).toSorted((a, b) => a - b);
  const left = [...FAULT_KINDS];
  return offsetsMs.map((offsetMs, index) => {
    const [kind = 'pause'] = left.splice(Math.floor(chance() * left.length), 1);
    return { kind, atMs: span.fromMs + offsetMs + index * spacingMs };
  });
}

export interface ChainGaps {
  readonly slots: number;
  readonly emptySlots: number;
  /** Longest time from the slot of a block to the slot of the next block. */
  readonly longestMs: number;
  /** Number of empty slots that no outage overlaps. */
  readonly unexplainedSlots: number;
  /** Length of the longest run of unexplained empty slots. */
  readonly unexplainedInARow: number;
}

/**
 * Compares the empty slots of a chain with the outages of nodes. An outage explains each empty slot that it overlaps,
 * even in part.
 *
 * @param blockTimesMs Unix times of the slots of the blocks, ascending
 * @param slotMs length of a slot
 */
export function gapsOf(blockTimesMs: readonly number[], slotMs: number, outages: readonly Outage[]): ChainGaps {
  let [emptySlots, longestMs, unexplainedSlots, unexplainedInARow] = [0, 0, 0, 0];
  const isExplained = (slotStartMs: number): boolean =>
    outages.some(({ fromMs, toMs }) => slotStartMs + slotMs > fromMs && slotStartMs < toMs);
  for (const [index, timeMs] of blockTimesMs.entries()) {
    const previousMs = blockTimesMs[index - 1];
    if (previousMs === undefined) continue;
    longestMs = Math.max(longestMs, timeMs - previousMs);
    let inARow = 0;
    for (let slotStartMs = previousMs + slotMs; slotStartMs < timeMs; slotStartMs += slotMs) {
      emptySlots += 1;
      inARow = isExplained(slotStartMs) ? 0 : inARow + 1;
      if (inARow > 0) unexplainedSlots += 1;
      unexplainedInARow = Math.max(unexplainedInARow, inARow);
    }
  }
  const [first = 0, last = 0] = [blockTimesMs[0], blockTimesMs.at(-1)];
  return {
    slots: Math.round((last - first) / slotMs) + 1,
    emptySlots,
    longestMs,
    unexplainedSlots,
    unexplainedInARow,
  };
}
