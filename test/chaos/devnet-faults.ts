/** Faults of a devnet that a seed draws, and which empty slots of its chain they explain. */

/** `pause` and `kill` are commands of the devnet; `stop` and `crash` are signals that its supervisor does not know of. */
export type FaultKind = 'pause' | 'stop' | 'kill' | 'crash';

/** The faults of each node: it stands still twice and is killed twice. */
export const FAULT_KINDS: readonly FaultKind[] = ['pause', 'stop', 'kill', 'crash'];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Time from the start of the run. */
  readonly atMs: number;
}

/** A time in which nodes were down, behind, or without processor time. Unix milliseconds. */
export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Draws when each fault of one node begins, in the order of time.
 *
 * @param span the run, or what is left of it
 * @param spacingMs least time between two faults of the node: it is back and follows before the next one
 * @param chance uniform in [0, 1)
 * @throws RangeError where the span is too short for them
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
  /** Longest time between the beginnings of two slots with blocks. */
  readonly longestMs: number;
  /** Empty slots at whose time no node was down. */
  readonly unexplainedSlots: number;
  /** Most of them in a row. */
  readonly unexplainedInARow: number;
}

/**
 * Compares the slots without a block with the times in which nodes were down.
 *
 * @param blockTimesMs Unix times of the blocks' slots, ascending
 * @param slotMs length of a slot; an outage also explains the slots that it touches
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
