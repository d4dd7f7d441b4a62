/** How soon the doctor names the faults that are made on real nodes, and whether the machine let it. */

import type { ExecutionContext } from 'ava';
import { FAULTS, type FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { examine, type ExamineRequest } from '../../src/cli/doctor/examine.ts';
import { waitFor } from './devnet.ts';
import { loadPerProcessor, MachineWatch } from './machine.ts';

export interface NamedOptions {
  /** What may be named beside them, as it follows from the same cause. */
  readonly beside?: readonly FaultCode[];
  /** Unix time in milliseconds at which the fault came about; now unless given. */
  readonly sinceMs?: number;
  /** For a fault that consists of slots: milliseconds that had to pass before anybody could have named it. */
  readonly unavoidableMs?: number;
}

/** What an operator waits. */
export const NAMED_WITHIN_MS = 10_000;
/** Of the faults, how many are named within it. */
const SHARE_NAMED_SOON = 0.95;
/** For a fault to show itself: some blocks, on a busy machine. */
const SHOWS_WITHIN_MS = 150_000;
const ROOM_BYTES = 1e12;
/** For a look to begin after the last one, and for what it asks to be answered. */
const LOOK_DELAY_MS = 1500;
/** What befalls any node where other work takes the processors. */
export const OF_BUSY_MACHINES: readonly FaultCode[] = [
  'MACHINE_TOO_SLOW',
  'SLOTS_MISSED',
  'NODE_LAGS',
  'CONSENSUS_LOW',
  'SYNC_FAILS',
];

/**
 * Downloads that fail one after the other take a branch of one's own that became final: `test/devnet/wrong-branch.test.ts` makes
 * one. Its peers are asked again after growing pauses, so it is not named within ten seconds.
 */
const OF_OWN_BRANCH: ReadonlySet<string> = new Set<FaultCode>(['SYNC_FAILS']);

/**
 * Clocks that are set under a node, or differ from its only peer's, are those of the simulator (`test/sim/scripted/time.test.ts`,
 * `test/engine/forge/clock-set.test.ts`): real processes share the clock of the machine. Alerts that do not get out are named after
 * minutes (`test/node/notify`, `test/cli/doctor.test.ts`).
 */
const OF_OTHER_TESTS: ReadonlySet<string> = new Set<FaultCode>([
  'CLOCKS_DIFFER',
  'CLOCK_BEHIND_TIP',
  'CLOCK_SET',
  'ALERTS_UNDELIVERED',
]);

export class FaultWatch {
  readonly #tookMs = new Map<FaultCode, number>();
  readonly #machine = new MachineWatch();

  /** False once other work took the machine or it stood still: times say nothing of the node then. */
  get isMachineSteady(): boolean {
    return this.#machine.wasQuickSoFar;
  }

  /**
   * Whether a fault is that of a machine which is in fact too busy, or was: it is told of rightly, for a quarter of an hour
   * after.
   */
  isOfMachine(code: FaultCode): boolean {
    return OF_BUSY_MACHINES.includes(code) && !this.isMachineSteady;
  }

  /** What the doctor names, in one examination that takes no longer than an operator waits. */
  async found(t: ExecutionContext, request: Partial<ExamineRequest> & { readonly url: string }) {
    const startedMs = Date.now();
    const findings = await examine({ environment: {}, freeBytesOf: () => ROOM_BYTES, ...request });
    const tookMs = Date.now() - startedMs;
    t.true(tookMs < NAMED_WITHIN_MS || !this.isMachineSteady, `${tookMs} ms`);
    return findings.map(({ code }) => code);
  }

  /** Resolves when all of the faults were named, each rightly: at once with nothing that is not so. */
  async named(
    t: ExecutionContext,
    request: Partial<ExamineRequest> & { readonly url: string },
    codes: readonly FaultCode[],
    options: NamedOptions = {},
  ): Promise<void> {
    const { beside = [], sinceMs = Date.now(), unavoidableMs } = options;
    const missing = new Set(codes);
    let last: readonly FaultCode[] = [];
    let lookMs = 0;
    const areNamed = async (): Promise<boolean> => {
      const lookedAtMs = Date.now();
      last = await this.found(t, request);
      lookMs = Math.max(lookMs, Date.now() - lookedAtMs);
      const isExpected = (code: FaultCode): boolean => codes.includes(code) || beside.includes(code);
      if (last.some((code) => !isExpected(code) && !this.isOfMachine(code))) return false;
      for (const code of last) if (missing.delete(code)) this.note(t, code, Date.now() - sinceMs);
      return missing.size === 0;
    };
    try {
      await waitFor(codes.join(', '), areNamed, SHOWS_WITHIN_MS);
    } catch (error) {
      throw new Error(`${[...missing].join(', ')} not named alone: ${last.join(', ')}`, { cause: error });
    }
    // An examination that began a moment too early ends before the next one may begin.
    if (unavoidableMs === undefined || !this.isMachineSteady) return;
    const tookMs = Date.now() - sinceMs;
    const limitMs = unavoidableMs + 2 * lookMs + 2 * LOOK_DELAY_MS;
    t.true(tookMs <= limitMs, `${tookMs} ms, where ${unavoidableMs} ms had to pass and a look took ${lookMs} ms`);
  }

  note(t: ExecutionContext, code: FaultCode, tookMs: number): void {
    this.#tookMs.set(code, tookMs);
    t.log(`${code} after ${tookMs} ms`);
  }

  /** Says how many faults of the catalogue were named, and how many of them soon. */
  conclude(t: ExecutionContext): void {
    const made = Object.keys(FAULTS).filter((code) => !OF_OTHER_TESTS.has(code));
    const count = made.length;
    const soon = [...this.#tookMs.values()].filter((tookMs) => tookMs <= NAMED_WITHIN_MS).length;
    t.log(
      `${this.#tookMs.size} of ${count} faults that are made with processes were named, ${soon} of ${count} within ${NAMED_WITHIN_MS / 1000} s; ` +
        `load of each processor ${loadPerProcessor().toFixed(1)}`,
    );
    t.deepEqual(
      made.filter((code) => !this.#tookMs.has(code as FaultCode) && !OF_OWN_BRANCH.has(code)),
      [],
    );
    if (this.isMachineSteady) t.true(soon >= SHARE_NAMED_SOON * count);
  }
}
